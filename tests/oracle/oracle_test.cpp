#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"

using nlohmann::json;

namespace {

double number(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return value.get<double>();
}

void flatten(const json& nested, std::vector<double>& numbers) {
  if (!nested.is_array()) return numbers.push_back(number(nested));
  for (const auto& item : nested) flatten(item, numbers);
}

std::vector<double> flat(const json& nested) {
  std::vector<double> numbers;
  flatten(nested, numbers);
  return numbers;
}

/// The first element that differs by more than the tolerance, relative to the largest finite one of the tensor;
/// the number of elements where none does.
std::size_t first_difference(const std::vector<double>& actual, const std::vector<double>& expected,
                             double tolerance) {
  double largest = 1e-3;
  for (const double value : expected)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  const auto agrees = [&](double x, double y) {
    if (!std::isfinite(x) || !std::isfinite(y)) return x == y || (std::isnan(x) && std::isnan(y));
    return std::abs(x - y) <= tolerance * largest;
  };
  const auto differing = std::mismatch(actual.begin(), actual.end(), expected.begin(), agrees);
  return static_cast<std::size_t>(differing.first - actual.begin());
}

json event_of(const json& trace, const std::string& id) {
  for (const auto& event : trace["events"])
    if (event["id"] == id && event.contains("data")) return event;
  return nullptr;
}

void check_case(const json& expected_case) {
  const auto arguments = expected_case["arguments"].get<std::string>();
  INFO("attnlab " << arguments);
  const auto result = run(arguments + " --format json");
  REQUIRE(result.status == 0);
  const auto trace = json::parse(result.out);
  const double tolerance = trace["config"].value("dtype", "float64") == "float32" ? 1e-5 : 1e-10;
  for (const auto& [id, expected] : expected_case["tensors"].items()) {
    INFO(id);
    const auto event = event_of(trace, id);
    REQUIRE(!event.is_null());
    REQUIRE(event["shape"] == expected["shape"]);
    const auto actual_numbers = flat(event["data"]), expected_numbers = flat(expected["data"]);
    REQUIRE(actual_numbers.size() == expected_numbers.size());
    CHECK(first_difference(actual_numbers, expected_numbers, tolerance) == expected_numbers.size());
  }
}

}  // namespace

TEST_CASE("every tensor of a lesson equals its independent reference") {
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ATTN_ORACLE)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    for (const auto& expected_case : json::parse(file)) {
      check_case(expected_case);
      ++cases;
    }
  }
  CHECK(cases >= 40);
}

TEST_CASE("a reference that differs in one number is noticed") {
  const std::vector<double> reference = {1.0, -2.0, 3.0};
  CHECK(first_difference({1.0, -2.0, 3.0}, reference, 1e-10) == 3);
  CHECK(first_difference({1.0, -2.0 + 1e-8, 3.0}, reference, 1e-10) == 1);
  CHECK(first_difference({1.0, -2.0, std::nan("")}, reference, 1e-10) == 2);
}
