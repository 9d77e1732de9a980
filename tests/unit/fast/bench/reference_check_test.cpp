#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "fast/bench/benchmark.hpp"
#include "tests/unit/numbers.hpp"

using namespace attn::bench;

namespace {

const std::vector<Setting> settings = {
    {.n = 1, .d_k = 1, .d_v = 1, .heads = 1, .kv_heads = 1, .backward = true},
    {.n = 20, .d_k = 5, .d_v = 3, .heads = 4, .kv_heads = 2, .backward = true},
    {.n = 33, .d_k = 8, .d_v = 8, .heads = 2, .kv_heads = 2, .causal = true, .window = 4, .backward = true},
    {.n = 50, .d_k = 4, .d_v = 7, .heads = 2, .kv_heads = 1, .scores = Scores::rising, .backward = true},
};

template <class T>
const Kernel<T>& named(const std::string& name) {
  static const auto all = kernels<T>(true);
  for (const auto& kernel : all)
    if (kernel.name == name) return kernel;
  throw std::logic_error("there is no " + name);
}

/// Runs a kernel forward and backward.
template <class T>
void run(const Kernel<T>& kernel, Operands<T>& operands, const Setting& setting) {
  const auto passes = kernel.prepare(operands, setting);
  passes.forward();
  if (passes.backward) passes.backward();
}

}  // namespace

TEST_CASE("what every kernel computes is right by the reference") {
  for (const auto& kernel : kernels<double>(true))
    for (const auto& setting : settings) {
      if (!kernel.unsupported(setting).empty()) continue;
      INFO(kernel.name << " at n = " << setting.n);
      const auto task = kernel.task(setting);
      auto operands = draw_operands<double>(setting);
      run(kernel, operands, setting);
      CHECK(output_error(task, operands) < 1e-13);
      if (kernel.prepare(operands, setting).backward) CHECK(gradient_error(task, operands) < 1e-12);
    }
}

TEST_CASE("float32 errors are those of float32") {
  const auto& setting = settings[1];
  const auto& plain = named<float>("plain");
  const auto task = plain.task(setting);
  auto operands = draw_operands<float>(setting);
  run(plain, operands, setting);
  const double error = output_error(task, operands);
  CHECK(error > 1e-9);
  CHECK(error < 1e-5);
}

TEST_CASE("a wrong number is found, and the error is how far it is off") {
  const auto& setting = settings[2];
  const auto& plain = named<double>("plain");
  const auto task = plain.task(setting);
  auto operands = draw_operands<double>(setting);
  run(plain, operands, setting);
  operands.output.data()[17] += 0.5;
  CHECK(output_error(task, operands) == Approx(0.5));
  operands.output.data()[17] = std::nan("");
  CHECK(std::isnan(output_error(task, operands)));
}

TEST_CASE("a wrong gradient is found in each of the three tensors") {
  const auto& setting = settings[1];
  const auto& plain = named<double>("plain");
  const auto task = plain.task(setting);
  auto operands = draw_operands<double>(setting);
  run(plain, operands, setting);
  REQUIRE(gradient_error(task, operands) < 1e-12);
  for (auto* tensor : {&operands.d_query, &operands.d_key, &operands.d_value}) {
    tensor->data()[2] += 0.25;
    CHECK(gradient_error(task, operands) > 0.01);
    tensor->data()[2] -= 0.25;
  }
}

TEST_CASE("a kernel that ignores the mask is found out") {
  const auto& setting = settings[2];
  const auto& full = named<double>("simd-full");
  auto operands = draw_operands<double>(setting);
  run(full, operands, setting);
  CHECK(output_error(full.task(setting), operands) < 1e-13);
  CHECK(output_error(named<double>("simd").task(setting), operands) > 0.01);
}

TEST_CASE("long sequences are checked at some queries, the first and the last among them") {
  const auto queries = checked_queries({.n = 100000});
  CHECK(queries.size() >= 3);
  CHECK(queries.size() < 100);
  CHECK(queries.front() == 0);
  CHECK(queries.back() == 99999);
  CHECK(std::is_sorted(queries.begin(), queries.end()));
  CHECK(checked_queries({.n = 10}).size() == 10);
  CHECK(checked_queries({.n = 1}) == std::vector<std::size_t>{0});
}

TEST_CASE("the loss depends only on the queries that are checked") {
  const Setting setting{.n = 2000, .d_k = 64, .d_v = 2, .heads = 32, .kv_heads = 1, .backward = true};
  const auto operands = draw_operands<float>(setting);
  const auto checked = checked_queries(setting);
  REQUIRE(checked.size() < setting.n);
  for (std::size_t query = 0; query < setting.n; ++query) {
    const bool is_checked = std::binary_search(checked.begin(), checked.end(), query);
    const bool is_kept =
        operands.d_output(0, 31, query, 0) != 0.0F || operands.d_output(0, 31, query, 1) != 0.0F;
    if (is_checked != is_kept) FAIL("query " << query);
  }
}

TEST_CASE("rising scores rise from key to key by about a tenth") {
  const Setting setting{.n = 400, .d_k = 16, .d_v = 2, .heads = 1, .kv_heads = 1, .scores = Scores::rising};
  const auto operands = draw_operands<double>(setting);
  const auto score = [&](std::size_t query, std::size_t key) {
    double product = 0.0;
    for (std::size_t c = 0; c < 16; ++c)
      product += operands.query(0, 0, query, c) * operands.key(0, 0, key, c);
    return product / 4.0;
  };
  for (const std::size_t query : {0, 200, 399}) {
    double rise = 0.0;
    for (std::size_t key = 0; key < 200; ++key) rise += (score(query, key + 200) - score(query, key)) / 200.0;
    CHECK(rise == Approx(20.0).margin(1.0));
  }
}
