#include <bit>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attn/error.hpp"
#include "attn/random/random.hpp"

using attn::Generator;
using nlohmann::json;

namespace {

/// A stream of the seed, or of the seed and a key.
Generator seeded(const json& seed) {
  return seed.is_array() ? Generator(seed[0], seed[1]) : Generator(seed.get<std::uint32_t>());
}

json draw(Generator& random, const std::string& call, const json& arguments) {
  if (call == "random") return random.random_sample();
  if (call == "normal") return random.normal(arguments[0], arguments[1]);
  if (call == "binomial") return random.bernoulli(arguments[1]) ? 1 : 0;
  if (call == "integers") return random.integer(arguments[0], arguments[1]);
  if (call == "permutation") return random.permutation(arguments[0]);
  throw std::logic_error("the fixture has draws of an unknown kind: " + call);
}

const json& numpy_streams() {
  static const auto recorded = json::parse(std::ifstream(ATTN_FIXTURES "/generator.json"));
  return recorded;
}

}  // namespace

TEST_CASE("every draw of default_rng has the bits that NumPy gives it") {
  REQUIRE(numpy_streams()["streams"].size() > 5);
  for (const auto& stream : numpy_streams()["streams"]) {
    auto random = seeded(stream["seed"]);
    for (const auto& recorded : stream["draws"]) {
      INFO("seed " << stream["seed"] << ": " << recorded["call"] << recorded["arguments"]);
      for (int skipped = 0; skipped < recorded["skip"]; ++skipped)
        draw(random, recorded["call"], recorded["arguments"]);
      for (const auto& value : recorded["values"])
        REQUIRE(draw(random, recorded["call"], recorded["arguments"]) == value);
    }
  }
}

TEST_CASE("a million normal numbers of default_rng have NumPy's bits, those of the tail as well") {
  REQUIRE(numpy_streams()["checksums"].size() > 5);
  for (const auto& recorded : numpy_streams()["checksums"]) {
    INFO("seed " << recorded["seed"] << ": " << recorded["call"]);
    Generator random(recorded["seed"]);
    const bool is_normal = recorded["call"] == "normal";
    std::uint64_t bits = 0;
    for (int i = 0; i < recorded["count"]; ++i)
      bits ^= std::bit_cast<std::uint64_t>(is_normal ? random.standard_normal() : random.random_sample());
    CHECK(bits == recorded["xor"]);
  }
}

TEST_CASE("the first numbers of default_rng(42) are the ones that every tutorial prints") {
  Generator random(42), uniform(42);
  CHECK(random.normal() == 0.30471707975443135);
  CHECK(random.normal() == -1.0399841062404955);
  CHECK(random.normal() == 0.7504511958064572);
  CHECK(uniform.random_sample() == 0.7739560485559633);
}

TEST_CASE("a seed becomes the 256 bits of SeedSequence") {
  CHECK(attn::seed_state({0}) == std::array<std::uint64_t, 4>{15793235383387715774u, 12390638538380655177u,
                                                              2361836109651742017u, 3188717715514472916u});
}

TEST_CASE("each of four numbers tells in a SeedSequence") {
  CHECK(attn::seed_state({1, 2, 3, 4}) != attn::seed_state({1, 2, 3, 5}));
}

TEST_CASE("a draw of 32 bits leaves the other half for the next one, and 64 bits do not touch it") {
  constexpr std::int64_t bits_32 = std::int64_t{1} << 32;
  Generator halves(1), same(1);
  const auto both = static_cast<std::int64_t>(same.random_sample() * 0x1p53);  // 53 of 64 bits
  CHECK(halves.integer(0, bits_32) >> 11 == both % (bits_32 >> 11));
  CHECK(halves.random_sample() == same.random_sample());
  CHECK(halves.integer(0, bits_32) == both >> 21);
  CHECK(halves.random_sample() == same.random_sample());
}

TEST_CASE("a draw of probability 0 costs nothing in default_rng") {
  Generator random(3), untouched(3);
  CHECK(!random.bernoulli(0.0));
  CHECK(random.random_sample() == untouched.random_sample());
  CHECK(random.bernoulli(1.0));
  CHECK(random.random_sample() != untouched.random_sample());
}

TEST_CASE("default_rng refuses what is out of range as RandomState does") {
  Generator random(0);
  CHECK_THROWS_AS(random.bernoulli(1.5), attn::Error);
  CHECK_THROWS_AS(random.integer(3, 3), attn::Error);
  CHECK_THROWS_AS(random.permutation(-1), attn::Error);
}
