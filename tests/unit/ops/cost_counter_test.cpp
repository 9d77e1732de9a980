#include "attn/ops/cost_counter.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

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
  CHECK((counter.scale(10.0, x) == Tensor<1>{10, 20, 30}));
  CHECK(counter.scale(10.0, 0.5) == 5.0);
  CHECK(counter.cost().multiply_adds == 42 + 4);
  CHECK_THROWS_AS(counter.matmul(a, a), std::invalid_argument);
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
