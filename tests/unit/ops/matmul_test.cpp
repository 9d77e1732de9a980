#include "attn/ops/matmul.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "tests/unit/fixture.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

namespace {

/// The definition, summed in order in float64.
Tensor<2> product_by_definition(const Tensor<2>& a, const Tensor<2>& b) {
  Tensor<2> product({a.shape(0), b.shape(1)});
  for (std::size_t i = 0; i < a.shape(0); ++i)
    for (std::size_t j = 0; j < b.shape(1); ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < a.shape(1); ++k)
        sum += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
      product(i, j) = sum;
    }
  return product;
}

Tensor<2> matrix_of_batch(const Tensor<3>& x, std::size_t b) {
  Tensor<2> matrix({x.shape(1), x.shape(2)});
  for (std::size_t i = 0; i < x.shape(1); ++i)
    for (std::size_t j = 0; j < x.shape(2); ++j) matrix(i, j) = x(b, i, j);
  return matrix;
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("products of matrices agree with PyTorch", "[matmul]", ((std::size_t N), N), 2, 3, 4) {
  const auto cases = fixture::cases_of_rank<N>("matmul", "a");
  REQUIRE(!cases.empty());
  for (const auto& one : cases) {
    const auto product = attn::matmul(fixture::tensor<N>(one["a"]), fixture::tensor<N>(one["b"]));
    CHECK(fixture::relative_error(product, one["product"]) <= fixture::tolerance<double>);
  }
}

TEMPLATE_TEST_CASE_SIG("linear maps agree with PyTorch", "[matmul]", ((std::size_t N), N), 2, 3, 4) {
  const auto cases = fixture::cases_of_rank<N>("linear", "x");
  REQUIRE(!cases.empty());
  for (const auto& one : cases) {
    const auto product = attn::linear(fixture::tensor<N>(one["x"]), fixture::tensor<2>(one["weight"]));
    CHECK(fixture::relative_error(product, one["product"]) <= fixture::tolerance<double>);
  }
}

TEST_CASE("a product of up to 2^18 multiply-adds is summed in order, to the last bit", "[matmul]") {
  const std::size_t m = GENERATE(1, 5, 64);
  const auto a = random_tensor<2>({m, 64}, 1), b = random_tensor<2>({64, 64}, 2);
  CHECK((attn::matmul(a, b) == product_by_definition(a, b)));
}

TEST_CASE("products of every size agree with the definition", "[matmul]") {
  const std::size_t n = GENERATE(1, 63, 64, 65, 70, 200);
  const std::size_t k = GENERATE(1, 64, 300);
  CAPTURE(k, n);
  const auto a = random_tensor<2>({64, k}, 1), b = random_tensor<2>({k, n}, 2);
  CHECK(fixture::relative_error(attn::matmul(a, b), product_by_definition(a, b)) <= rounding / 10);
  CHECK(fixture::relative_error(attn::linear(a, b), product_by_definition(a, b)) <= rounding / 10);
}

TEST_CASE("one more column changes the sums by rounding only", "[matmul]") {
  const auto a = random_tensor<2>({64, 64}, 1), wider = random_tensor<2>({64, 65}, 2);
  Tensor<2> b({64, 64});
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < 64; ++j) b(i, j) = wider(i, j);
  const auto in_order = attn::matmul(a, b), by_blas = attn::matmul(a, wider);
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < 64; ++j)
      REQUIRE(static_cast<double>(by_blas(i, j)) ==
              Approx(static_cast<double>(in_order(i, j))).epsilon(0).margin(10 * rounding));
}

TEST_CASE("each matrix of a batch is multiplied by its own", "[matmul]") {
  const std::size_t n = GENERATE(3, 70);
  const auto a = random_tensor<3>({3, n, n + 1}, 1), b = random_tensor<3>({3, n + 1, n}, 2);
  const auto products = attn::matmul(a, b);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto expected = product_by_definition(matrix_of_batch(a, i), matrix_of_batch(b, i));
    CHECK(fixture::relative_error(matrix_of_batch(products, i), expected) <= rounding / 10);
  }
}

TEST_CASE("a weight multiplies each sample of a batch", "[matmul]") {
  const std::size_t n = GENERATE(3, 70);
  const auto x = random_tensor<3>({3, n, n + 1}, 1);
  const auto weight = random_tensor<2>({n + 1, n}, 2);
  const auto products = attn::linear(x, weight);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(fixture::relative_error(matrix_of_batch(products, i),
                                  product_by_definition(matrix_of_batch(x, i), weight)) <= rounding / 10);
}

TEST_CASE("a small sample gets the same bits in a batch of any size", "[matmul]") {
  const auto x = random_tensor<3>({8, 64, 64}, 1);
  const auto weight = random_tensor<2>({64, 64}, 2);
  const auto products = attn::linear(x, weight);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK((matrix_of_batch(products, i) == attn::linear(matrix_of_batch(x, i), weight)));
}

TEST_CASE("a matrix multiplies a vector from the left and from the right", "[matmul]") {
  const Tensor<2> a = {{1, 2, 3}, {4, 5, 6}};
  CHECK((attn::matmul(a, Tensor<1>{1, 0, -1}) == Tensor<1>{-2, -2}));
  CHECK((attn::matmul(Tensor<1>{1, -1}, a) == Tensor<1>{-3, -3, -3}));
}

TEST_CASE("transposing exchanges the last two axes of each matrix", "[matmul]") {
  const Tensor<3> x = {{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}};
  CHECK((attn::transpose(x) == Tensor<3>{{{1, 4}, {2, 5}, {3, 6}}, {{7, 10}, {8, 11}, {9, 12}}}));
  const auto y = random_tensor<4>({2, 3, 4, 5}, 1);
  const auto transposed = attn::transpose(y);
  CHECK(transposed(1, 2, 4, 3) == y(1, 2, 3, 4));
  CHECK((attn::transpose(transposed) == y));
}

TEST_CASE("a product over an empty axis is zero", "[matmul]") {
  const auto product = attn::matmul(Tensor<2>::from_shape({2, 0}), Tensor<2>::from_shape({0, 3}));
  CHECK((product == Tensor<2>{{0, 0, 0}, {0, 0, 0}}));
}

TEST_CASE("zero times infinity is NaN, as in every other implementation", "[matmul]") {
  const auto product = attn::matmul(Tensor<2>{{0.0, 1.0}}, Tensor<2>{{infinity, 1.0}, {1.0, 1.0}});
  CHECK(std::isnan(product(0, 0)));
  CHECK(product(0, 1) == 1.0);
}

TEST_CASE("matrices that do not fit are refused with both shapes", "[matmul]") {
  const auto a = random_tensor<2>({2, 3}, 1), b = random_tensor<2>({4, 5}, 2);
  CHECK_THROWS_AS(attn::matmul(a, b), std::invalid_argument);
  CHECK_THROWS_WITH(attn::matmul(a, b), "[matmul] a is 2×3 but b is 4×5: the inner axes must match");
  CHECK_THROWS_WITH(attn::linear(a, b), Contains("[linear]") && Contains("2×3") && Contains("4×5"));
  CHECK_THROWS_WITH(attn::matmul(a, Tensor<1>{1.0, 2.0}), Contains("2×3") && Contains("x is 2:"));
  CHECK_THROWS_WITH(attn::matmul(Tensor<1>{1.0, 2.0, 3.0}, a), Contains("x is 3 ") && Contains("2×3"));
  CHECK_THROWS_WITH(attn::matmul(random_tensor<4>({2, 3, 4, 5}, 1), random_tensor<4>({2, 1, 5, 4}, 2)),
                    Contains("2×3×4×5") && Contains("2×1×5×4") && Contains("batch axes"));
}

TEST_CASE("a bias is added to every row", "[matmul]") {
  const Tensor<2> weight = {{1, 2, 3}, {4, 5, 6}};
  const Tensor<3> x = {{{1, 0}, {0, 1}}, {{1, 1}, {0, 0}}};
  const Tensor<1> bias = {10, 20, 30};
  CHECK((attn::linear(x, weight, bias) ==
         Tensor<3>{{{11, 22, 33}, {14, 25, 36}}, {{15, 27, 39}, {10, 20, 30}}}));
  CHECK_THROWS_WITH(attn::linear(x, weight, Tensor<1>{1, 2}),
                    Contains("[linear]") && Contains("2×3") && Contains("bias is 2"));
}
