#include "fast/bench/judge.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "fast/bench/contestant.hpp"
#include "attn/layers/attention.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"

using namespace attn::bench;

namespace {

const std::vector<Setting> settings = {
    {.n = 1, .d_k = 1, .d_v = 1, .heads = 1, .kv_heads = 1, .backward = true},
    {.n = 20, .d_k = 5, .d_v = 3, .heads = 4, .kv_heads = 2, .backward = true},
    {.n = 33, .d_k = 8, .d_v = 8, .heads = 2, .kv_heads = 2, .causal = true, .window = 4, .backward = true},
    {.n = 50, .d_k = 4, .d_v = 7, .heads = 2, .kv_heads = 1, .scores = Scores::rising, .backward = true},
};

template <class T>
const Contestant<T>& named(const std::string& name) {
  static const auto all = contestants<T>(true);
  for (const auto& contestant : all)
    if (contestant.name == name) return contestant;
  throw std::logic_error("there is no " + name);
}

/// Runs a contestant both ways.
template <class T>
void run(const Contestant<T>& contestant, Operands<T>& operands, const Setting& setting) {
  const auto passes = contestant.prepare(operands, setting);
  passes.forward();
  if (passes.backward) passes.backward();
}

}  // namespace

TEST_CASE("what every contestant computes is right by the judge") {
  for (const auto& contestant : contestants<double>(true))
    for (const auto& setting : settings) {
      if (!contestant.obstacle(setting).empty()) continue;
      INFO(contestant.name << " at n = " << setting.n);
      const auto task = contestant.task(setting);
      auto operands = draw_operands<double>(setting);
      Judge<double>::confine_loss(task, operands);
      run(contestant, operands, setting);
      CHECK(Judge<double>(task, operands).output_error() < 1e-13);
      if (contestant.prepare(operands, setting).backward)
        CHECK(Judge<double>(task, operands).gradient_error() < 1e-12);
    }
}

TEST_CASE("float32 errors are those of float32") {
  const auto& setting = settings[1];
  const auto& plain = named<float>("plain");
  const auto task = plain.task(setting);
  auto operands = draw_operands<float>(setting);
  run(plain, operands, setting);
  const double error = Judge<float>(task, operands).output_error();
  CHECK(error > 1e-9);
  CHECK(error < 1e-5);
}

TEST_CASE("a wrong number is found, and is measured against the largest") {
  const auto& setting = settings[2];
  const auto& plain = named<double>("plain");
  const auto task = plain.task(setting);
  auto operands = draw_operands<double>(setting);
  run(plain, operands, setting);
  double largest = 0.0;
  for (const double x : operands.output) largest = std::max(largest, std::abs(x));

  operands.output.data()[17] += 0.5;
  CHECK(Judge<double>(task, operands).output_error() == Approx(0.5 / largest));
  operands.output.data()[17] = std::nan("");
  CHECK(std::isnan(Judge<double>(task, operands).output_error()));
}

TEST_CASE("a wrong gradient is found in each of the three tensors") {
  const auto& setting = settings[1];
  const auto& plain = named<double>("plain");
  const auto task = plain.task(setting);
  auto operands = draw_operands<double>(setting);
  run(plain, operands, setting);
  REQUIRE(Judge<double>(task, operands).gradient_error() < 1e-12);
  for (auto* tensor : {&operands.d_query, &operands.d_key, &operands.d_value}) {
    tensor->data()[2] += 0.25;
    CHECK(Judge<double>(task, operands).gradient_error() > 0.01);
    tensor->data()[2] -= 0.25;
  }
}

TEST_CASE("a kernel that ignores the mask is found out") {
  const auto& setting = settings[2];
  const auto& full = named<double>("simd-full");
  auto operands = draw_operands<double>(setting);
  run(full, operands, setting);
  CHECK(Judge<double>(full.task(setting), operands).output_error() < 1e-13);
  CHECK(Judge<double>(named<double>("simd").task(setting), operands).output_error() > 0.01);
}

TEST_CASE("long sequences are judged at some queries, the first and the last among them") {
  const auto queries = judged_queries({.n = 100000});
  CHECK(queries.size() >= 3);
  CHECK(queries.size() < 100);
  CHECK(queries.front() == 0);
  CHECK(queries.back() == 99999);
  CHECK(std::is_sorted(queries.begin(), queries.end()));
  CHECK(judged_queries({.n = 10}).size() == 10);
  CHECK(judged_queries({.n = 1}) == std::vector<std::size_t>{0});
}

TEST_CASE("the loss is confined to the queries that are judged") {
  const Setting setting{.n = 2000, .d_k = 64, .d_v = 2, .heads = 32, .kv_heads = 1, .backward = true};
  auto operands = draw_operands<float>(setting);
  Judge<float>::confine_loss({.setting = setting}, operands);
  const auto judged = judged_queries(setting);
  REQUIRE(judged.size() < setting.n);
  for (std::size_t query = 0; query < setting.n; ++query) {
    const bool is_judged = std::binary_search(judged.begin(), judged.end(), query);
    const bool is_kept =
        operands.d_output(0, 31, query, 0) != 0.0F || operands.d_output(0, 31, query, 1) != 0.0F;
    if (is_judged != is_kept) FAIL("query " << query);
  }
}

TEST_CASE("rising scores rise from key to key by about a tenth") {
  const Setting setting{.n = 400, .d_k = 16, .d_v = 2, .heads = 1, .kv_heads = 1, .scores = Scores::rising};
  const auto operands = draw_operands<double>(setting);
  const auto scaled = attn::scaled_dot_product_attention(operands.query, operands.key, operands.value).scaled;
  for (const std::size_t query : {0, 200, 399}) {
    double rise = 0.0;
    for (std::size_t key = 0; key < 200; ++key)
      rise += (scaled(0, 0, query, key + 200) - scaled(0, 0, query, key)) / 200.0;
    CHECK(rise == Approx(20.0).margin(1.0));
  }
}
