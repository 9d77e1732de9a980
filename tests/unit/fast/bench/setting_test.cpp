#include <catch2/catch.hpp>

#include "attn/ops/mask.hpp"
#include "fast/bench/benchmark.hpp"

using namespace attn::bench;

namespace {

/// Counted one by one.
double pairs_in(const attn::Mask<3>& mask) {
  double pairs = 0.0;
  for (const bool is_visible : mask) pairs += is_visible ? 1.0 : 0.0;
  return pairs;
}

attn::Mask<3> mask_of(const Setting& setting) {
  const auto window =
      attn::repeat_mask(attn::window_mask(setting.n, setting.n, setting.window.value_or(setting.n)), 1);
  return setting.causal ? attn::both(attn::repeat_mask(attn::causal_mask(setting.n, setting.n), 1), window)
                        : window;
}

}  // namespace

TEST_CASE("visible pairs are as many as the mask of a lesson has") {
  for (const std::size_t n : {1, 2, 7, 64, 65})
    for (const bool causal : {false, true})
      for (const std::optional<std::size_t> window : {std::optional<std::size_t>(), {0}, {3}, {64}, {1000}}) {
        const Task task{.setting = {.n = n, .causal = causal, .window = window}};
        INFO(n << ' ' << causal << ' ' << window.value_or(9999));
        CHECK(task.pairs() == pairs_in(mask_of(task.setting)));
      }
}

TEST_CASE("a query reads the keys of its row of the mask, in rising order") {
  const Task task{.setting = {.n = 9, .causal = true, .window = 2}};
  CHECK(task.keys_of(0) == std::vector<std::size_t>{0});
  CHECK(task.keys_of(8) == std::vector<std::size_t>{6, 7, 8});
}

TEST_CASE("a block pattern leaves the listed blocks of what is visible") {
  const attn::fast::BlockPattern pattern{.block = 2, .key_blocks = {{0}, {0, 1}, {0, 2}}};
  Task task{.setting = {.n = 5}, .pattern = pattern};
  CHECK(task.keys_of(4) == std::vector<std::size_t>{0, 1, 4});
  CHECK(task.pairs() == 2 * 2 + 2 * 4 + 3);
  task.setting.causal = true;
  CHECK(task.keys_of(2) == std::vector<std::size_t>{0, 1, 2});
  CHECK(task.pairs() == 1 + 2 + 3 + 4 + 3);
  task.setting.window = 1;
  CHECK(task.pairs() == 1 + 2 + 2 + 2 + 1);
}

TEST_CASE("full attention is 4 n² d operations forward and 10 n² d backward for each head") {
  const Task task{.setting = {.n = 100, .d_k = 16, .d_v = 16, .heads = 3}};
  CHECK(task.operations(Pass::forward) == 3 * 4.0 * 100 * 100 * 16);
  CHECK(task.operations(Pass::backward) == 3 * 10.0 * 100 * 100 * 16);
}

TEST_CASE("keys and values of different lengths count by their own") {
  const Task task{.setting = {.n = 10, .d_k = 3, .d_v = 5, .heads = 1}};
  CHECK(task.operations(Pass::forward) == 2.0 * 100 * (3 + 5));
  CHECK(task.operations(Pass::backward) == 2.0 * 100 * (3 * 3 + 2 * 5));
}

TEST_CASE("linear attention counts in n, not in n²") {
  const auto operations = [](std::size_t n) {
    return Task{.setting = {.n = n, .d_k = 8, .d_v = 4, .heads = 2}, .formula = Task::Formula::linear}
        .operations(Pass::forward);
  };
  CHECK(operations(100) == 2 * 2.0 * 2 * 100 * 8 * 4);
  CHECK(operations(200) == 2 * operations(100));
}
