#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "fast/bench/benchmark.hpp"

using attn::bench::Effort;
using attn::bench::Kernel;
using attn::bench::Selection;
using attn::bench::Setting;
using attn::bench::TimedKernel;
using attn::bench::Trials;

namespace {

Kernel<float> called(const std::string& name) {
  return {.name = name};
}

TimedKernel<float> timed(const Kernel<float>& kernel, std::size_t setting, double seconds) {
  return {&kernel, setting, Trials{.forward = {.seconds = seconds}}};
}

std::vector<std::string> places_of(const Selection<float>& selection) {
  std::vector<std::string> places;
  for (const auto& one : selection.timed)
    places.push_back(one.kernel->name + " at " + std::to_string(one.setting));
  return places;
}

const Effort one_round = {.rounds = 1, .seconds = 10.0, .shortest = 0.001};

}  // namespace

TEST_CASE("the expected time of a kernel is that of its rounds, none shorter than the shortest measurement",
          "[bench]") {
  const Effort effort = {.rounds = 3, .seconds = 10.0, .shortest = 0.02};
  CHECK(expected_seconds(Trials{.forward = {.seconds = 2.0}}, effort) == 6.0);
  CHECK(expected_seconds(Trials{.forward = {.seconds = 1e-6}}, effort) == Approx(3 * 0.04));
  CHECK(expected_seconds(Trials{.forward = {.seconds = 1.0}, .backward = {{.seconds = 2.0}}}, effort) == 9.0);
}

TEST_CASE("the slowest kernels are left out, and the fastest at each length stays", "[bench]") {
  const auto slow = called("slow"), quick = called("quick");
  const std::vector<Setting> settings = {{.n = 8}, {.n = 16}};
  const auto four_kernels = [&] {
    Selection<float> selection;
    selection.timed = {timed(slow, 0, 3.0), timed(slow, 1, 5.0), timed(quick, 0, 1.0), timed(quick, 1, 2.0)};
    return selection;
  };
  const auto left_with = [&](double seconds) {
    auto selection = four_kernels();
    leave_out_slowest(selection, settings, one_round, seconds);
    CHECK(selection.omissions.size() == 4 - selection.timed.size());
    return places_of(selection);
  };
  using Places = std::vector<std::string>;
  CHECK(left_with(11.0) == Places{"slow at 0", "slow at 1", "quick at 0", "quick at 1"});
  CHECK(left_with(10.0) == Places{"slow at 0", "quick at 0", "quick at 1"});
  CHECK(left_with(5.0) == Places{"quick at 0", "quick at 1"});
  CHECK(left_with(0.5) == Places{"quick at 0", "quick at 1"});
}

TEST_CASE("what is left out is named with its length and a reason", "[bench]") {
  const auto slow = called("slow"), quick = called("quick");
  Selection<float> selection;
  selection.timed = {timed(slow, 0, 3.0), timed(quick, 0, 1.0)};
  leave_out_slowest(selection, {{.n = 8}}, one_round, 2.0);
  REQUIRE(selection.omissions.size() == 1);
  CHECK(selection.omissions.front().kernel == "slow");
  CHECK(selection.omissions.front().n == 8);
  CHECK_THAT(selection.omissions.front().reason, Catch::Contains("would take 3 s"));
}
