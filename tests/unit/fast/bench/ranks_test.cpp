#include <catch2/catch.hpp>
#include <stdexcept>

#include "fast/bench/benchmark.hpp"

using attn::bench::Pass;
using attn::bench::project;
using attn::bench::RanksPass;
using attn::bench::RanksResult;
using attn::bench::Setting;
using attn::fast::local_network;
using attn::fast::Order;

TEST_CASE("a single rank is timed, sends nothing and computes what one process does", "[ranks]") {
  const Setting setting = {
      .n = 70, .d_k = 8, .d_v = 4, .heads = 4, .kv_heads = 2, .causal = true, .backward = true};
  const auto network = local_network(1);
  const auto result = attn::bench::run_on_ranks<double>(setting, Order::zigzag, *network, 3);
  REQUIRE(result.passes.size() == 2);
  for (const auto& pass : result.passes) {
    CHECK(pass.seconds.size() == 3);
    CHECK(pass.one_process.size() == 3);
    CHECK(pass.one_rank_rates.front() > 0.0);
    CHECK(pass.bytes == std::vector<std::uint64_t>{0});
    CHECK(pass.bytes == pass.formula);
    CHECK(pass.error < 1e-14);
  }
  CHECK(result.passes[0].operations == 4 * 2.0 * (8 + 4) * (70 * 71 / 2));
  CHECK(result.passes[1].operations == 4 * 2.0 * (3 * 8 + 2 * 4) * (70 * 71 / 2));
  CHECK_THROWS_AS(attn::bench::run_on_ranks<double>(setting, Order::zigzag, *local_network(2), 1),
                  std::invalid_argument);
}

TEST_CASE("a projection takes the longer of computing and transfer at each hop", "[ranks]") {
  RanksResult measured = {.setting = {.n = 1000, .d_k = 10, .d_v = 10, .heads = 1, .kv_heads = 1},
                          .ranks = 2};
  measured.passes = {RanksPass{.operations = 40e6, .seconds = {0.02}, .memory = {1e6, 2e6}}};  // 1e9 a rank
  measured.link = {.latency = 0.001, .bandwidth = 1e6};
  const auto few = project(measured, 8000, 8, 4);
  CHECK(few.computing == Approx(2.0 * 20 * 1000 * 1000 / 1e9));
  CHECK(few.transfer == Approx(0.001 + 1000 * 20 * 4 / 1e6));
  CHECK(few.seconds == Approx(8 * 0.081));
  CHECK(few.waiting == Approx(1.0 - 0.04 / 0.081));
  CHECK(few.memory == Approx(2e6 * 2 / 1000 * 1000));
  measured.setting.causal = true;
  CHECK(project(measured, 8000, 8, 4).computing == Approx(few.computing / 2));
}
