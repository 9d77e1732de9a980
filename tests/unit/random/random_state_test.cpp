#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "tests/unit/numbers.hpp"

using attn::RandomState;
using nlohmann::json;

namespace {

/// A stream of the seed, or of the seed and a key.
RandomState stream_of(const json& seed) {
  return seed.is_array() ? RandomState(seed[0], seed[1]) : RandomState(seed.get<std::uint32_t>());
}

/// One more draw of the kind that a fixture recorded.
json draw(RandomState& random, const std::string& call, const json& arguments) {
  if (call == "random_sample") return random.random_sample();
  if (call == "normal") return random.normal(arguments[0], arguments[1]);
  if (call == "binomial") return random.bernoulli(arguments[1]) ? 1 : 0;
  if (call == "randint") return random.integer(arguments[0], arguments[1]);
  if (call == "permutation") return random.permutation(arguments[0]);
  throw std::logic_error("the fixture has draws of an unknown kind: " + call);
}

}  // namespace

TEST_CASE("every draw of a stream has the bits that NumPy gives it") {
  const auto fixture = json::parse(std::ifstream(ATTN_FIXTURES "/random.json"));
  REQUIRE(fixture["streams"].size() > 5);
  for (const auto& stream : fixture["streams"]) {
    auto random = stream_of(stream["seed"]);
    for (const auto& recorded : stream["draws"]) {
      INFO("seed " << stream["seed"] << ": " << recorded["call"] << recorded["arguments"]);
      for (int skipped = 0; skipped < recorded["skip"]; ++skipped)
        draw(random, recorded["call"], recorded["arguments"]);
      for (const auto& value : recorded["values"])
        REQUIRE(draw(random, recorded["call"], recorded["arguments"]) == value);
    }
  }
}

TEST_CASE("a normal tensor is filled in C order from the same stream as single draws") {
  RandomState one(42), other(42);
  const auto tensor = one.normal<3>(0.5, 2.0, {2, 3, 5});
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 5; ++k) CHECK(tensor(i, j, k) == other.normal(0.5, 2.0));
  CHECK(one.random_sample() == other.random_sample());
}

TEST_CASE("the first normal numbers of seed 42 are the ones that every tutorial prints") {
  RandomState random(42);
  CHECK(random.normal() == 0.4967141530112327);
  CHECK(random.normal() == -0.13826430117118466);
  CHECK(random.normal() == 0.6476885381006925);
}

TEST_CASE("a copied generator goes on by itself, cached value included") {
  RandomState random(7);
  random.normal();
  auto copy = random;
  CHECK(random.normal() == copy.normal());
  CHECK(random.normal() == copy.normal());
}

TEST_CASE("a draw uses up the stream even where its result is certain") {
  const auto after = [](double probability) {
    RandomState random(3);
    random.bernoulli(probability);
    return random.random_sample();
  };
  RandomState random(3);
  random.random_sample();
  const double second = random.random_sample();
  CHECK(after(0.0) == second);
  CHECK(after(1.0) == second);
}

TEST_CASE("an integer from a range of one costs no draw") {
  RandomState random(3), untouched(3);
  CHECK(random.integer(-4, -3) == -4);
  CHECK(random.random_sample() == untouched.random_sample());
}

TEST_CASE("integers stay within their range and reach both ends") {
  RandomState random(11);
  const auto largest = std::numeric_limits<std::int64_t>::max();
  const auto smallest = std::numeric_limits<std::int64_t>::min();
  CHECK(random.integer(largest - 1, largest) == largest - 1);
  CHECK(random.integer(smallest, smallest + 1) == smallest);
  std::array<int, 5> seen{};
  for (int i = 0; i < 200; ++i) ++seen.at(static_cast<std::size_t>(random.integer(-2, 3) + 2));
  CHECK(*std::min_element(seen.begin(), seen.end()) > 0);
}

TEST_CASE("as many draws succeed as their probability says") {
  const double probability = GENERATE(0.1, 0.3, 0.5, 0.8);
  RandomState random(1);
  constexpr int draws = 20000;
  int successes = 0;
  for (int i = 0; i < draws; ++i) successes += random.bernoulli(probability) ? 1 : 0;
  CHECK(std::abs(successes - draws * probability) <
        4.0 * std::sqrt(draws * probability * (1.0 - probability)));
}

TEST_CASE("a permutation has each number once") {
  RandomState random(5);
  auto order = random.permutation(1000);
  CHECK(!std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == static_cast<std::int64_t>(i));
}

TEST_CASE("arguments out of range are refused with the value and the range") {
  RandomState random(0);
  CHECK_THROWS_WITH(random.bernoulli(1.5), "probability 1.5 is out of range; valid: 0 to 1");
  CHECK_THROWS_AS(random.bernoulli(-0.1), attn::Error);
  CHECK_THROWS_AS(random.bernoulli(not_a_number), attn::Error);
  CHECK_THROWS_WITH(random.integer(3, 3), "there is no integer from 3 to below 3; valid: low less than high");
  CHECK_THROWS_AS(random.permutation(-1), attn::Error);
  RandomState untouched(0);
  CHECK(random.random_sample() == untouched.random_sample());
}
