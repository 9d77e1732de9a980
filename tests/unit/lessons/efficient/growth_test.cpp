#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/lessons/page.hpp"

namespace {

Listener efficient_of(std::size_t n, const std::string& pattern) {
  auto options = lesson_called("efficient").defaults;
  std::string sentence;
  for (std::size_t i = 0; i < n; ++i) sentence += "w" + std::to_string(i) + " ";
  options.sentence = {sentence};
  options.pattern = pattern;
  return told_by("efficient", options);
}

/// How often a cost is multiplied where the number of tokens is doubled, once n is large.
double growth_called(const std::string& name) {
  if (name == "constant") return 1.0;
  return name == "n" ? 2.0 : 4.0;
}

}  // namespace

TEST_CASE("the costs of all variants grow as the page says", "[efficient]") {
  const std::string pattern = GENERATE("strided", "fixed", "random");
  CAPTURE(pattern);
  const auto less = efficient_of(96, pattern), more = efficient_of(192, pattern);
  std::istringstream table(more.formulas.at("comparison") + "\n" + more.formulas.at("comparison/more"));
  int variants = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.front() == ' ') continue;
    ++variants;
    std::string variant, error, multiply_adds, bytes, adds_grow, bytes_grow;
    std::istringstream(line) >> variant >> error >> multiply_adds >> adds_grow >> bytes >> bytes_grow;
    CAPTURE(variant);
    const auto growth = [&](const std::string& cost) {
      const auto id = variant + "/" + cost;
      return more.elements(id).front() / less.elements(id).front();
    };
    CHECK(growth("multiply_adds") == Approx(growth_called(adds_grow)).epsilon(0.06));
    CHECK(growth("score_bytes") == Approx(growth_called(bytes_grow)).epsilon(0.06));
    CHECK(more.elements(variant + "/multiply_adds").front() == std::stod(multiply_adds));
  }
  CHECK(variants == 10);
}

TEST_CASE("the table of variants is there as steps", "[efficient]") {
  const auto told = told_by("efficient", lesson_called("efficient").defaults);
  const std::vector<std::string> variants = {"full",      "local",     "sliding", "sparse", "linear",
                                             "performer", "linformer", "chunked", "flash",  "gqa"};
  const auto errors = told.elements("comparison/errors"), costs = told.elements("comparison/costs");
  REQUIRE(errors.size() == 2 * variants.size());
  REQUIRE(costs.size() == errors.size());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto number = [&](const std::string& name) { return told.elements(variants[i] + name).front(); };
    CAPTURE(variants[i]);
    CHECK(errors[2 * i] == (i == 0 ? 0.0 : number("/error")));
    CHECK(errors[2 * i + 1] == (i == 0 ? 0.0 : number("/relative_error")));
    CHECK(costs[2 * i] == number("/multiply_adds"));
    CHECK(costs[2 * i + 1] == number("/score_bytes"));
  }
  double largest = 0.0;
  for (const double number : told.elements("full/output")) largest = std::max(largest, std::abs(number));
  CHECK(told.elements("linear/relative_error").front() ==
        Approx(told.elements("linear/error").front() / largest));
}

TEST_CASE("a variant whose features are beyond the type is said to have no number", "[efficient]") {
  const auto& options = lesson_called("efficient").defaults;
  const auto plain = told_by("efficient", options);
  CHECK(plain.formulas.at("comparison/more").find("nan") == std::string::npos);
  std::vector<double> huge(plain.elements("performer/omega").size(), 1e30);
  const auto told =
      told_by("efficient", options,
              given_tensor("performer/omega", plain.tensors.at("performer/omega").shape(), huge));
  CHECK(told.formulas.at("comparison/more").find("nan") != std::string::npos);
}
