#include "fast/bench/field.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using attn::bench::Contestant;
using attn::bench::Effort;
using attn::bench::Entrant;
using attn::bench::Field;
using attn::bench::Setting;
using attn::bench::Trials;

namespace {

Contestant<float> called(const std::string& name) {
  return {.name = name, .task = {}, .obstacle = {}, .score_bytes = {}, .prepare = {}};
}

Entrant<float> entrant(const Contestant<float>& contestant, std::size_t setting, double seconds) {
  return {&contestant, setting, Trials{.forward = {.seconds = seconds}}};
}

std::vector<std::string> places_of(const Field<float>& field) {
  std::vector<std::string> places;
  for (const auto& one : field.entrants)
    places.push_back(one.contestant->name + " at " + std::to_string(one.setting));
  return places;
}

const Effort one_round = {.rounds = 1, .seconds = 10.0, .shortest = 0.001};

}  // namespace

TEST_CASE("what is expected of a kernel are its rounds, none shorter than is measured at all", "[bench]") {
  const Effort effort = {.rounds = 3, .seconds = 10.0, .shortest = 0.02};
  CHECK(expected_seconds(Trials{.forward = {.seconds = 2.0}}, effort) == 6.0);
  CHECK(expected_seconds(Trials{.forward = {.seconds = 1e-6}}, effort) == Approx(3 * 0.04));
  CHECK(expected_seconds(Trials{.forward = {.seconds = 1.0}, .backward = {{.seconds = 2.0}}}, effort) == 9.0);
}

TEST_CASE("the slowest kernels are left out, and the quickest at each length stays", "[bench]") {
  const auto slow = called("slow"), quick = called("quick");
  const std::vector<Setting> settings = {{.n = 8}, {.n = 16}};
  const auto field_of_four = [&] {
    Field<float> field;
    field.entrants = {entrant(slow, 0, 3.0), entrant(slow, 1, 5.0), entrant(quick, 0, 1.0),
                      entrant(quick, 1, 2.0)};
    return field;
  };
  const auto left_with = [&](double seconds) {
    auto field = field_of_four();
    leave_out_slowest(field, settings, one_round, seconds);
    CHECK(field.omissions.size() == 4 - field.entrants.size());
    return places_of(field);
  };
  using Places = std::vector<std::string>;
  CHECK(left_with(11.0) == Places{"slow at 0", "slow at 1", "quick at 0", "quick at 1"});
  CHECK(left_with(10.0) == Places{"slow at 0", "quick at 0", "quick at 1"});
  CHECK(left_with(5.0) == Places{"quick at 0", "quick at 1"});
  CHECK(left_with(0.5) == Places{"quick at 0", "quick at 1"});
}

TEST_CASE("what is left out is named with its length and a reason", "[bench]") {
  const auto slow = called("slow"), quick = called("quick");
  Field<float> field;
  field.entrants = {entrant(slow, 0, 3.0), entrant(quick, 0, 1.0)};
  leave_out_slowest(field, {{.n = 8}}, one_round, 2.0);
  REQUIRE(field.omissions.size() == 1);
  CHECK(field.omissions.front().kernel == "slow");
  CHECK(field.omissions.front().n == 8);
  CHECK_THAT(field.omissions.front().reason, Catch::Contains("would take 3 s"));
}
