#include "attn/ops/cost_counter.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

#include "attn/ops/matmul.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::CostCounter;
using attn::Tensor;

TEST_CASE("a counter counts the products that it computes", "[cost_counter]") {
  CostCounter counter;
  const auto a = random_tensor<2>({2, 3}, 1), b = random_tensor<2>({3, 5}, 2);
  const Tensor<1> x = {1, 2, 3}, y = {4, 5};
  CHECK((counter.matmul(a, b) == attn::matmul(a, b)));
  CHECK(counter.cost().multiply_adds == 2 * 3 * 5);
  CHECK((counter.matmul(a, x) == attn::matmul(a, x)));
  CHECK(counter.cost().multiply_adds == 30 + 6);
  CHECK((counter.matmul(y, a) == attn::matmul(y, a)));
  CHECK(counter.cost().multiply_adds == 36 + 6);
  auto scaled = x;
  counter.scale(10.0, {scaled.data(), scaled.size()});
  CHECK((scaled == Tensor<1>{10, 20, 30}));
  CHECK(counter.scale(10.0, 0.5) == 5.0);
  CHECK(counter.cost().multiply_adds == 42 + 4);
  counter.add_product(2.0, {x.data(), x.size()}, scaled.data());
  CHECK((scaled == Tensor<1>{12, 24, 36}));
  CHECK(counter.cost().multiply_adds == 46 + 3);
  CHECK_THROWS_AS(counter.matmul(a, a), std::invalid_argument);
}

TEST_CASE("a counter multiplies the rows that are asked for", "[cost_counter]") {
  CostCounter counter;
  const auto matrix = random_tensor<2>({7, 3}, 3);
  const auto x = random_tensor<1>({3}, 4);
  const std::vector<std::size_t> rows = {6, 0, 0, 3, 5, 1};
  std::vector<double> products(rows.size());
  counter.multiply_rows(x.data(), matrix, rows, products.data());
  const auto all = attn::matmul(matrix, x);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(products[i] == all(rows[i]));
  CHECK(counter.cost().multiply_adds == 6 * 3);
}

TEST_CASE("a counter knows the most that was held at one time, in the bytes of its dtype", "[cost_counter]") {
  const auto dtype = GENERATE(attn::Dtype::float64, attn::Dtype::float32, attn::Dtype::bfloat16);
  const auto bytes = static_cast<std::int64_t>(attn::item_size(dtype));
  CostCounter counter(dtype);
  {
    const auto one = counter.hold(3);
    const auto other = counter.hold(2);
    CHECK(counter.cost().score_bytes == 5 * bytes);
  }
  { const auto later = counter.hold(4); }
  CHECK(counter.cost().score_bytes == 5 * bytes);
  const auto largest = counter.hold(6);
  CHECK(counter.cost().score_bytes == 6 * bytes);
}

TEST_CASE("a counter records operations where it has a graph", "[cost_counter]") {
  attn::DependencyGraph graph(3);
  CostCounter recording(attn::Dtype::float64, &graph), silent;
  for (CostCounter* counter : {&recording, &silent}) {
    const auto first = counter->operation({0});
    counter->output(counter->operation({first}), 2);
  }
  CHECK(graph.sequential_steps() == 2);
  CHECK(graph.path_length(0, 2) == 2);
}
