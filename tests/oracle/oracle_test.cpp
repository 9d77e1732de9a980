#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "trace/stored_trace.hpp"

using nlohmann::json;

namespace {

using std::filesystem::path;

const path root = ATTNLAB_ROOT, all_cases = root / "tests/oracle/cases";

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

std::vector<double> numbers_of(const json& nested) {
  std::vector<double> numbers;
  flatten(nested, numbers);
  return numbers;
}

std::vector<double> numbers_of(const attn::TensorView& tensor) {
  std::vector<double> numbers(attn::element_count(tensor.shape));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = tensor.at(i);
  return numbers;
}

/// How far a number may be from its reference, relative to it. Numbers that are small beside the largest of
/// their tensor, or at all, are what is left of larger ones, and count as `share` of that one, or as 1e-4.
struct Tolerance {
  double relative, share;
};

/// Rounding grows over the steps of a training: what comes out of one may differ more.
Tolerance tolerance_of(const json& trace, const std::string& id) {
  const bool is_single = trace["config"].value("dtype", "float64") == "float32";
  const bool comes_out_of_training =
      trace["lesson"] == "training" &&
      (id.find('/') == id.npos || id.starts_with("midway/") || id.starts_with("after/"));
  if (comes_out_of_training && !is_single) return {1e-8, 0.1};
  return is_single ? Tolerance{1e-5, 0.1} : Tolerance{1e-10, 1e-5};
}

/// The index of the first number that differs; the number of numbers where none does.
std::size_t first_difference(const std::vector<double>& actual, const std::vector<double>& expected,
                             Tolerance tolerance) {
  double largest = 0.0;
  for (const double value : expected)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  const double smallest = std::max(tolerance.share * largest, 1e-4);
  const auto agrees = [&](double x, double y) {
    if (!std::isfinite(x) || !std::isfinite(y)) return x == y || (std::isnan(x) && std::isnan(y));
    return std::abs(x - y) <= tolerance.relative * std::max(std::abs(y), smallest);
  };
  const auto differing = std::mismatch(actual.begin(), actual.end(), expected.begin(), agrees);
  return static_cast<std::size_t>(differing.first - actual.begin());
}

json event_of(const json& trace, const std::string& id) {
  for (const auto& event : trace["events"])
    if (event["id"] == id && event.contains("data")) return event;
  return nullptr;
}

std::vector<std::string> steps_of(const json& trace) {
  std::vector<std::string> ids;
  for (const auto& event : trace["events"])
    if (event["kind"] == "step") ids.push_back(event["id"]);
  return ids;
}

/// Where the references draw, they draw from one stream.
std::string command_line(const path& folder, const std::string& name, const std::string& arguments) {
  auto command = folder.filename().string() + " --draws stream " + arguments;
  const auto inputs = folder / (name + ".inputs.npz");
  if (exists(inputs)) command += " --input " + as_argument(inputs.string());
  return command;
}

/// Steps without a reference of their own: they show parts of steps that have one, which unit tests hold
/// together, or the NumPy script of the page asserts them (tests/numbers/every_script.py).
bool is_checked_elsewhere(const std::string& lesson, const std::string& id) {
  static const std::map<std::string, std::set<std::string>> ids = {
      {"scaling", {"example/scores", "example/weights_raw", "example/scaled", "example/weights_scaled"}},
      {"generate", {"cost", "logits", "full/logits"}},
      {"training", {"initialisation/factors", "after/losses", "after/loss"}}};
  if (lesson == "positional") return id.starts_with("far/");
  if (lesson == "seq2seq") return id.starts_with("one-step/");
  if (lesson == "efficient") return id.ends_with("/relative_error") || id.starts_with("comparison/");
  return ids.count(lesson) > 0 && ids.at(lesson).count(id) > 0;
}

void check_case(const path& folder, const std::string& name, const std::string& arguments) {
  const auto command = command_line(folder, name, arguments);
  INFO("attnlab " << command);
  const auto result = run(command + " --format json");
  CHECK(result.err == "");
  CHECK(result.status == 0);
  if (result.out.empty()) return;
  const auto trace = json::parse(result.out);
  const auto expected = attn::open_trace(folder / (name + ".expected.npz"));
  for (std::size_t i = 0; i < expected->tensors().size(); ++i) {
    const auto& reference = expected->tensors()[i];
    INFO(reference.id);
    const auto event = event_of(trace, reference.id);
    REQUIRE_FALSE(event.is_null());
    CHECK(event["shape"].get<attn::Shape>() == reference.shape);
    CHECK(event["dtype"] == attn::name_of(reference.dtype));
    const auto actual_numbers = numbers_of(event["data"]);
    const auto expected_numbers = numbers_of(expected->read(i).view());
    REQUIRE(actual_numbers.size() == expected_numbers.size());
    const auto difference =
        first_difference(actual_numbers, expected_numbers, tolerance_of(trace, reference.id));
    CHECK(difference == expected_numbers.size());
  }
  for (const auto& id : steps_of(trace)) {
    INFO(id << " has no reference");
    CHECK((expected->find(id) != nullptr || is_checked_elsewhere(folder.filename().string(), id)));
  }
}

/// The command line of each case of a lesson.
std::map<std::string, std::string> arguments_of_cases(const std::string& lesson) {
  std::ifstream file(all_cases / lesson / "arguments.json");
  INFO(lesson);
  REQUIRE(file);
  return json::parse(file).get<std::map<std::string, std::string>>();
}

}  // namespace

TEST_CASE("every step of every lesson equals its independent reference") {
  for (const auto& lesson : lessons()) DYNAMIC_SECTION(lesson) {
      for (const auto& [name, arguments] : arguments_of_cases(lesson))
        check_case(all_cases / lesson, name, arguments);
    }
}

TEST_CASE("there are at least 200 references, some for each lesson") {
  std::size_t cases = 0;
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    CHECK(arguments_of_cases(lesson).size() >= 5);
    cases += arguments_of_cases(lesson).size();
  }
  CHECK(cases >= 200);
}

TEST_CASE("a reference that differs in one number is noticed") {
  const std::vector<double> reference = {1.0, -2.0, 3.0};
  const Tolerance tolerance = {1e-10, 1e-5};
  CHECK(first_difference({1.0, -2.0, 3.0}, reference, tolerance) == 3);
  CHECK(first_difference({1.0, -2.0 + 1e-8, 3.0}, reference, tolerance) == 1);
  CHECK(first_difference({1.0, -2.0, std::nan("")}, reference, tolerance) == 2);
}
