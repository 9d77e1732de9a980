#include "fast/fastest_attention.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attn/efficient/feature_maps.hpp"
#include "attn/efficient/fused_attention.hpp"
#include "fast/known_masks.hpp"
#include "attn/efficient/linear_attention.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/sparse_pattern.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/fast/plain_attention.hpp"

using attn::fastest_attention;
using attn::Array;
using Catch::Contains;

namespace {

using Mask = std::optional<Array<bool, 3>>;

/// Masks [2×query×key] of each kind that the kernels know.
std::vector<Mask> known_masks(std::size_t n_q, std::size_t n_k) {
  const auto causal = attn::repeat_mask(attn::causal_mask(n_q, n_k), 2);
  const auto window = attn::repeat_mask(attn::window_mask(n_q, n_k, 1), 2);
  const auto padding = attn::padding_mask({n_k, n_k / 2}, n_q, n_k);
  return {std::nullopt,
          causal,
          window,
          padding,
          attn::both(causal, window),
          attn::both(attn::both(causal, window), padding),
          Array<bool, 3>({2, n_q, n_k}, false)};
}

/// True where the sum of all positions is no multiple of 3.
Mask unknown_mask(std::size_t n_q, std::size_t n_k) {
  Array<bool, 3> mask({2, n_q, n_k});
  for (std::size_t i = 0; i < mask.size(); ++i)
    mask.data()[i] = (i / (n_q * n_k) + i / n_k % n_q + i % n_k) % 3 > 0;
  return mask;
}

template <class T, std::size_t N>
double difference_from_plain(const Array<T, N>& Q, const Array<T, N>& K, const Array<T, N>& V,
                             const Mask& mask, const std::string& kernel) {
  const auto fast = fastest_attention(Q, K, V, std::sqrt(static_cast<double>(Q.shape(N - 1))), mask);
  CHECK(fast.kernel == kernel);
  return attn::max_abs_difference(fast.output, attn::scaled_dot_product_attention(Q, K, V, mask).output);
}

bool are_equal_or_both_nan(const Array<double, 3>& x, const Array<double, 3>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

}  // namespace

TEMPLATE_TEST_CASE("the fastest kernel equals plain attention under every kind of mask", "[fastest]", float,
                   double) {
  const std::size_t n_q = GENERATE(1, 3, 40), n_k = GENERATE(1, 7, 40), d = GENERATE(1, 5);
  CAPTURE(n_q, n_k, d);
  const auto Q = random_tensor<TestType, 3>({2, n_q, d}, 1), K = random_tensor<TestType, 3>({2, n_k, d}, 2),
             V = random_tensor<TestType, 3>({2, n_k, 3}, 3);
  for_each_isa([&] {
    for (const auto& mask : known_masks(n_q, n_k))
      CHECK(difference_from_plain(Q, K, V, mask, "simd") <= rounding<TestType>);
  });
  if (n_q > 1 && n_k > 1)
    CHECK(difference_from_plain(Q, K, V, unknown_mask(n_q, n_k), "fused_attention") <= rounding<TestType>);
}

TEMPLATE_TEST_CASE("a mask of a sample holds for all heads of the fastest kernel", "[fastest]", float,
                   double) {
  const auto Q = random_tensor<TestType, 4>({2, 3, 5, 4}, 1), K = random_tensor<TestType, 4>({2, 3, 6, 4}, 2),
             V = random_tensor<TestType, 4>({2, 3, 6, 2}, 3);
  for (const auto& mask : known_masks(5, 6))
    CHECK(difference_from_plain(Q, K, V, mask, "simd") <= rounding<TestType>);
  CHECK(difference_from_plain(Q, K, V, unknown_mask(5, 6), "fused_attention") <= rounding<TestType>);
}

TEST_CASE("query heads share key and value heads in the fastest kernel, whatever the mask", "[fastest]") {
  const auto Q = random_tensor<double, 4>({2, 6, 5, 4}, 1), K = random_tensor<double, 4>({2, 2, 6, 4}, 2),
             V = random_tensor<double, 4>({2, 2, 6, 3}, 3);
  const auto causal = attn::repeat_mask(attn::causal_mask(5, 6), 2);
  for (const Mask& mask : {Mask(), Mask(causal), unknown_mask(5, 6)}) {
    const auto repeated =
        attn::scaled_dot_product_attention(Q, attn::repeat_heads(K, 6), attn::repeat_heads(V, 6), mask);
    CHECK(attn::max_abs_difference(fastest_attention(Q, K, V, 2.0, mask).output, repeated.output) <=
          rounding<double>);
  }
}

TEMPLATE_TEST_CASE("the fastest kernel goes back as plain attention does, under every mask that it knows",
                   "[fastest]", float, double) {
  const auto Q = random_tensor<TestType, 3>({2, 5, 4}, 1), K = random_tensor<TestType, 3>({2, 7, 4}, 2),
             V = random_tensor<TestType, 3>({2, 7, 3}, 3),
             d_output = random_tensor<TestType, 3>({2, 5, 3}, 4);
  for (const auto& mask : known_masks(5, 7)) {
    const auto fast = attn::fastest_attention_gradients(Q, K, V, 2.0, mask, d_output);
    REQUIRE(fast.has_value());
    CHECK(fast->kernel == "simd");
    const auto plain = attn::scaled_dot_product_attention_backward(
        d_output, attn::scaled_dot_product_attention(Q, K, V, mask), Q, K, V);
    CHECK(attn::max_abs_difference(fast->d_Q, plain.d_Q) <= rounding<TestType>);
    CHECK(attn::max_abs_difference(fast->d_K, plain.d_K) <= rounding<TestType>);
    CHECK(attn::max_abs_difference(fast->d_V, plain.d_V) <= rounding<TestType>);
  }
}

TEST_CASE("the fastest kernel does not go back where it cannot, and refuses what does not fit", "[fastest]") {
  const auto Q = random_tensor<double, 3>({2, 5, 4}, 1), K = random_tensor<double, 3>({2, 7, 4}, 2);
  auto d_output = random_tensor<double, 3>({2, 5, 4}, 3);
  CHECK_FALSE(attn::fastest_attention_gradients(Q, K, K, 2.0, unknown_mask(5, 7), d_output).has_value());
  CHECK_THROWS_WITH(attn::fastest_attention_gradients(Q, K, K, 2.0, {}, K),
                    Contains("2×7×4") && Contains("2×5×4"));
  const auto lone = random_tensor<double, 3>({1, 7, 4}, 4);
  CHECK_THROWS_WITH(attn::fastest_attention_gradients(Q, lone, lone, 2.0, {}, d_output),
                    Contains("Q is 2×5×4 but K is 1×7×4: the batch axes must match"));
  d_output(0, 0, 0) = std::numeric_limits<double>::infinity();
  CHECK_FALSE(attn::fastest_attention_gradients(Q, K, K, 2.0, {}, d_output).has_value());
}

TEST_CASE("axes may be empty", "[fastest]") {
  using Matrices = attn::Array<double, 3>;
  const auto Q = random_tensor<double, 3>({2, 5, 4}, 1), V = random_tensor<double, 3>({2, 3, 2}, 2);
  const auto zeros = Matrices({2, 5, 2}, 0.0);
  CHECK((attn::fastest_attention(Q, Matrices({2, 0, 4}), Matrices({2, 0, 2}), 2.0).output == zeros));
  const auto means = attn::fastest_attention(Matrices({2, 5, 0}), Matrices({2, 3, 0}), V, 1.0).output;
  CHECK(means(1, 4, 0) == Approx((V(1, 0, 0) + V(1, 1, 0) + V(1, 2, 0)) / 3.0));
  CHECK(attn::fastest_attention(Q, Q, Matrices({2, 5, 0}), 2.0).output.shape(2) == 0);
  CHECK(attn::fastest_attention(Matrices({2, 5, 0}), Matrices({2, 3, 0}), Matrices({2, 3, 0}), 1.0)
            .output.shape(2) == 0);
}

TEST_CASE("rows too long for registers go to the tiles, and repeated mask axes to the loops", "[fastest]") {
  const auto Q = random_tensor<double, 3>({2, 3, 257}, 1), K = random_tensor<double, 3>({2, 4, 257}, 2),
             V = random_tensor<double, 3>({2, 4, 2}, 3);
  CHECK(difference_from_plain(Q, K, V, {}, "tiled") <= rounding<double>);
  CHECK(difference_from_plain(Q, K, V, {attn::padding_mask({4, 2}, 1, 4)}, "fused_attention") <=
        rounding<double>);
}

TEMPLATE_TEST_CASE("float32 operands are summed in float64 by every instruction set", "[fastest]", float,
                   double) {
  auto Q = random_tensor<TestType, 3>({1, 9, 16}, 1);
  const auto K = random_tensor<TestType, 3>({1, 33, 16}, 2), V = random_tensor<TestType, 3>({1, 33, 4}, 3);
  for (TestType& element : Q) element *= TestType{2000};
  const auto fused = attn::fused_attention(Q, K, V, 4.0);
  const double last_digit = 4.0 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  const double of_scores = std::is_same_v<TestType, double> ? 1e-11 : last_digit;
  for_each_isa(
      [&] { CHECK(attn::max_abs_difference(fastest_attention(Q, K, V, 4.0).output, fused) <= of_scores); });
}

TEST_CASE("numbers that may overflow on the way go to the plain loops", "[fastest]") {
  const double huge = GENERATE(1e150, 1e290, std::numeric_limits<double>::infinity());
  const std::string which = GENERATE("Q and K", "K", "V");
  CAPTURE(huge, which);
  auto Q = random_tensor<double, 3>({1, 3, 2}, 1), K = random_tensor<double, 3>({1, 4, 2}, 2),
       V = random_tensor<double, 3>({1, 4, 2}, 3);
  if (which == "Q and K") Q(0, 1, 0) = huge;
  (which == "V" ? V : K)(0, 2, 1) = huge;
  const auto fast = fastest_attention(Q, K, V, 1.0);
  const auto fused = attn::fused_attention(Q, K, V, 1.0);
  if (huge == 1e150 && which == "V") {
    CHECK(fast.kernel == "simd");
    CHECK(attn::max_abs_difference(fast.output, fused) <= 1e-13 * attn::max_abs(V));
  } else {
    CHECK(fast.kernel == "fused_attention");
    CHECK(are_equal_or_both_nan(fast.output, fused));
  }
}

TEST_CASE("scores without digits behind the point go to plain loops, and are no trouble there", "[fastest]") {
  auto in = random_attention<double>(6, 2, 3);
  for (double& element : in.Q) element *= 1e20;
  const auto batch = [](const Array<double, 2>& x) { return attn::as_batch(x); };
  const auto fast = fastest_attention(batch(in.Q), batch(in.K), batch(in.V), 1.0);
  CHECK(fast.kernel == "fused_attention");
  const auto sparse = attn::fastest_block_sparse_attention(
      in.Q, in.K, in.V, attn::coarsest_pattern(Array<bool, 2>({6, 6}, true), false), false);
  CHECK(sparse.kernel == "sparse-plain");
  CHECK(attn::max_abs_difference(attn::as_batch(sparse.output), fast.output) == 0.0);
}

TEST_CASE("undefined numbers go to the plain loops, and so do scales beyond all numbers", "[fastest]") {
  const auto Q = random_tensor<double, 3>({1, 3, 2}, 1), V = random_tensor<double, 3>({1, 3, 2}, 3);
  auto K = Q;
  CHECK(fastest_attention(Q, K, V, 1e-300).kernel == "fused_attention");
  K(0, 0, 0) = std::numeric_limits<double>::quiet_NaN();
  const auto fast = fastest_attention(Q, K, V, 1.0);
  CHECK(fast.kernel == "fused_attention");
  CHECK(std::isnan(fast.output(0, 0, 0)));
}

TEST_CASE("the fastest kernel refuses what does not fit with both shapes", "[fastest]") {
  const auto x = random_tensor<double, 3>({2, 3, 4}, 1), narrow = random_tensor<double, 3>({2, 3, 5}, 1),
             longer = random_tensor<double, 3>({2, 6, 4}, 1), lone = random_tensor<double, 3>({1, 3, 4}, 1);
  CHECK_THROWS_WITH(fastest_attention(x, narrow, x, 1.0), Contains("2×3×4") && Contains("2×3×5"));
  CHECK_THROWS_WITH(fastest_attention(x, x, longer, 1.0), Contains("2×3×4") && Contains("2×6×4"));
  CHECK_THROWS_AS(fastest_attention(x, lone, lone, 1.0), std::invalid_argument);
  CHECK_THROWS_WITH(fastest_attention(x, x, x, 1.0, {attn::padding_mask({1, 2}, 3, 4)}),
                    Contains("2×3×4") && Contains("mask is 2×3×4"));
  const auto heads = random_tensor<double, 4>({1, 3, 2, 4}, 1),
             two = random_tensor<double, 4>({1, 2, 2, 4}, 1);
  CHECK_THROWS_AS(fastest_attention(heads, two, two, 1.0), std::invalid_argument);
}

TEMPLATE_TEST_CASE("the fastest block-sparse kernel equals plain attention under the mask of its pattern",
                   "[fastest]", float, double) {
  const std::size_t n = GENERATE(1, 6, 20), block = GENERATE(1, 2, 5);
  const bool causal = GENERATE(false, true);
  CAPTURE(n, block, causal);
  const auto in = random_attention<TestType>(n, 4, 3);
  for (auto mask : {attn::strided_pattern(n, block), attn::fixed_pattern(n, block)}) {
    if (causal) mask = attn::both(mask, attn::causal_mask(n, n));
    const auto fast =
        attn::fastest_block_sparse_attention(in.Q, in.K, in.V, attn::coarsest_pattern(mask, causal), causal);
    CHECK(fast.kernel == "sparse-simd");
    CHECK(attn::max_abs_difference(fast.output, plain_attention(in, mask).output) <= rounding<TestType>);
  }
}

TEMPLATE_TEST_CASE("the fastest linear kernel equals all weights of linear attention", "[fastest]", float,
                   double) {
  const std::size_t n = GENERATE(1, 6, 70);
  const bool causal = GENERATE(false, true);
  CAPTURE(n, causal);
  const auto in = random_attention<TestType>(n, 4, 3);
  const auto mask = causal ? attn::causal_mask(n, n) : Array<bool, 2>({n, n}, true);
  const auto plain =
      attn::plain_linear_attention(attn::elu_plus_one(in.Q), attn::elu_plus_one(in.K), in.V, mask);
  const auto fast = attn::fastest_linear_attention(in.Q, in.K, in.V, causal);
  CHECK(fast.kernel == "linear-simd");
  CHECK(attn::max_abs_difference(fast.output, plain.output) <= rounding<TestType>);
}
