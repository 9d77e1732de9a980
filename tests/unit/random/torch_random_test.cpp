#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "lessons/workbench/workbench.hpp"

using attn::TorchRandom;
using nlohmann::json;
using Values = std::vector<double>;

namespace {

Values repeated(std::size_t count, const std::function<double()>& draw) {
  Values values(count);
  std::generate(values.begin(), values.end(), draw);
  return values;
}

Values randn(attn::Random& random, std::size_t count) {
  const auto numbers = random.normal<1>(0.0, 1.0, {count});
  return {numbers.begin(), numbers.end()};
}

Values draw(attn::Random& random, const std::string& call, const json& arguments) {
  if (call == "rand") return repeated(arguments[0], [&] { return random.random_sample(); });
  if (call == "randn") {
    const auto lengths = arguments.get<std::vector<std::size_t>>();
    return randn(random,
                 std::accumulate(lengths.begin(), lengths.end(), std::size_t{1}, std::multiplies<>()));
  }
  if (call == "randint")
    return repeated(3, [&] { return static_cast<double>(random.integer(0, arguments[0])); });
  if (call == "below")
    return repeated(arguments[1], [&] { return random.bernoulli(arguments[0]) ? 1.0 : 0.0; });
  if (call == "randperm") {
    const auto order = random.permutation(arguments[0]);
    return {order.begin(), order.end()};
  }
  throw std::logic_error("the fixture has draws of an unknown kind: " + call);
}

/// How far a number may be from PyTorch's.
double tolerance_of(const std::string& call) {
  if (call == "randn") return 3e-7;
  return call == "linear" ? 3e-8 : 0.0;
}

void check_close(const Values& drawn, const json& recorded, double tolerance) {
  REQUIRE(drawn.size() == recorded.size());
  for (std::size_t i = 0; i < drawn.size(); ++i)
    REQUIRE(std::abs(drawn[i] - recorded[i].get<double>()) <= tolerance);
}

}  // namespace

TEST_CASE("every draw after manual_seed is PyTorch's") {
  const auto fixture = json::parse(std::ifstream(ATTN_FIXTURES "/torch.json"));
  REQUIRE(fixture["streams"].size() > 5);
  for (const auto& stream : fixture["streams"]) {
    const lessons::Options options = {.seed = stream["seed"], .rng = "torch", .draws = "stream"};
    lessons::Draws draws(options);
    for (const auto& recorded : stream["draws"]) {
      const std::string call = recorded["call"];
      const auto& arguments = recorded["arguments"];
      INFO("seed " << stream["seed"] << ": " << call << arguments);
      Values drawn;
      if (call == "linear") {
        const auto weight = draws.linear(arguments[1], arguments[0]);
        drawn.assign(weight.begin(), weight.end());
      } else {
        drawn = draw(draws.stream(""), call, arguments);
      }
      check_close(drawn, recorded["values"], tolerance_of(call));
    }
  }
}

TEST_CASE("PyTorch's generator refuses what is out of range as NumPy's do") {
  TorchRandom random(0);
  CHECK_THROWS_AS(random.bernoulli(1.5), attn::Error);
  CHECK_THROWS_AS(random.integer(3, 3), attn::Error);
  CHECK_THROWS_AS(random.permutation(-1), attn::Error);
}
