#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/unit/memory_trace.hpp"
#include "trace/diff/diff.hpp"

using nlohmann::json;

namespace {

json compared(const attn::StoredTrace& a, const attn::StoredTrace& b, bool all = false) {
  return json::parse(diff_as_json(attn::compare_traces(a, b), all));
}

json compared(const std::string& a, const std::string& b) {
  return json::parse(diff_as_json(attn::compare_texts(a, b), false));
}

MemoryTrace trace_of(const std::vector<float>& elements, std::int64_t seed = 42) {
  MemoryTrace trace("sdpa", {{"seed", seed}});
  trace.add<float>("x", {2}, elements, {"key"}, {{{{"the", "cat"}}}});
  trace.add<bool>("mask", {}, {true});
  return trace;
}

}  // namespace

TEST_CASE("equal data as JSON") {
  const auto report = compared(trace_of({1, 2}), trace_of({1, 2}));
  CHECK(report == json::parse(R"({"schema": "attnlab.diff/1", "of": "data", "status": "equal",
                                  "lesson": {"a": "sdpa", "b": "sdpa"}, "options": [],
                                  "claims_of_b_hold": true, "first": null, "tensors": [], "words": []})"));
}

TEST_CASE("data that differ as JSON") {
  const auto report = compared(trace_of({1.0f, 0.1f}), trace_of({1.0f, 0.5f}, 43));
  CHECK(report["status"] == "different");
  CHECK(report["options"] == json::parse(R"([{"name": "seed", "a": 42, "b": 43}])"));
  CHECK(report["first"] == json::parse(R"({"id": "x", "difference": "numbers", "index": [1],
                                           "place": "[key 1 `cat`]", "a": 0.1, "b": 0.5})"));
  REQUIRE(report["tensors"].size() == 1);
  const auto& tensor = report["tensors"][0];
  CHECK(tensor["difference"] == "numbers");
  CHECK(tensor["shape"] == json::parse(R"({"a": [2], "b": [2]})"));
  CHECK(tensor["dtype"]["b"] == "float32");
  CHECK(tensor["elements"] == 2);
  CHECK(tensor["differ"] == 1);
  CHECK(tensor["max_absolute"].get<double>() == Approx(0.4));
  CHECK(tensor["max_relative"].get<double>() == Approx(0.8));
  CHECK(tensor["tolerance"]["relative"] == 1e-5);
}

TEST_CASE("all tensors are listed where that is asked for") {
  const auto report = compared(trace_of({1, 2}), trace_of({1, 2}), true);
  REQUIRE(report["tensors"].size() == 2);
  CHECK(report["tensors"][1]["id"] == "mask");
  CHECK(report["tensors"][1]["difference"] == "none");
}

TEST_CASE("what is no finite number is a text") {
  const float infinite = std::numeric_limits<float>::infinity();
  const auto report = compared(trace_of({1, -infinite}), trace_of({1, 2}));
  CHECK(report["first"]["a"] == "-Infinity");
  CHECK(report["tensors"][0]["max_absolute"] == "Infinity");
}

TEST_CASE("tensors that cannot be compared as JSON") {
  MemoryTrace a, b;
  a.add<float>("x", {1}, {1});
  a.add<float>("y", {1}, {1});
  b.add<float>("x", {1, 1}, {1});
  const auto report = compared(a, b);
  CHECK(report["first"] == json::parse(R"({"id": "x", "difference": "shapes"})"));
  CHECK(report["tensors"][0]["shape"] == json::parse(R"({"a": [1], "b": [1, 1]})"));
  CHECK(report["tensors"][1]["difference"] == "only in a");
  CHECK(report["tensors"][1]["shape"] == json::parse(R"({"a": [1], "b": null})"));
}

TEST_CASE("texts that differ as JSON") {
  const std::string a = "1  x = y   [key 2]\n  key    0    1\n       1.5  2.5\n";
  const std::string b = "1  x = y   [key 2]\n  key    0    1\n       1.5  2.0\n";
  const auto report = compared(a, b);
  CHECK(report["of"] == "text");
  CHECK(report["status"] == "different");
  CHECK(report["first"] == json::parse(R"({"id": "x", "difference": "numbers", "line": {"a": 3, "b": 3},
                                           "text": {"a": "       1.5  2.5", "b": "       1.5  2.0"},
                                           "word": {"a": "2.5", "b": "2.0"}})"));
  REQUIRE(report["sections"].size() == 1);
  CHECK(report["sections"][0]["differ"] == 1);
  CHECK(report["sections"][0]["words"] == 0);
  CHECK(report["sections"][0]["max_relative"] == 0.25);
}

TEST_CASE("a section that only one text has as JSON") {
  const auto report = compared("A\n", "A\n\nB\n");
  CHECK(report["first"] ==
        json::parse(R"({"heading": "B", "difference": "only in b", "line": {"a": null, "b": 3}})"));
}
