#include <catch2/catch.hpp>

#include "tests/unit/memory_trace.hpp"
#include "tests/unit/trace/diff/compared_traces.hpp"

using attn::Verdict;

namespace {

const attn::Config usual = {{"seed", std::int64_t{42}}, {"causal", false}, {"precision", std::int64_t{4}}};

MemoryTrace trace_of_one(const std::string& lesson, const attn::Config& config, double number = 0.25) {
  MemoryTrace trace(lesson, config);
  trace.add<double>("weights", {1}, {number});
  return trace;
}

const auto usual_trace = trace_of_one("sdpa", usual);

}  // namespace

TEST_CASE("configurations that differ are told first and are a difference") {
  auto other = usual;
  other[0].second = std::int64_t{43};
  other[1].second = true;
  other.emplace_back("weight_scale", "xavier");
  CHECK(report(trace_of_one("sdpa", usual), trace_of_one("sdpa", other)) == R"(Configurations differ
  seed: 42 in A, 43 in B
  causal: false in A, true in B
  weight_scale: unset in A, "xavier" in B

All 1 inputs and steps agree.
)");
}

TEST_CASE("options that only say how tensors come and go are told and are no difference") {
  auto other = usual;
  other[2].second = std::int64_t{8};
  other.emplace_back("input", "inputs.npz");
  const auto a = trace_of_one("sdpa", usual), b = trace_of_one("sdpa", other);
  CHECK((verdict(a, b) == Verdict::equal));
  CHECK(report(a, b) ==
        "Configurations differ\n  precision: 4 in A, 8 in B\n  input: unset in A, \"inputs.npz\" in B\n");
}

TEST_CASE("options are the same however their numbers are written and whether unset or not there") {
  CHECK((verdict(trace_of_one("sdpa", {{"dropout", 0.0}, {"window", std::monostate{}}}),
                 trace_of_one("sdpa", {{"dropout", std::int64_t{0}}})) == Verdict::equal));
}

TEST_CASE("a file without a configuration is compared without it") {
  CHECK((verdict(usual_trace, trace_of_one("", {})) == Verdict::equal));
}

TEST_CASE("of a run and what is expected only the decisive options that were known are compared") {
  auto newer = usual;
  newer[2].second = std::int64_t{8};
  newer.emplace_back("rng", "legacy");
  const attn::DiffSettings settings{.a_is_expected = true};
  const auto expected = trace_of_one("sdpa", usual);
  CHECK(report(expected, trace_of_one("sdpa", newer), settings) == "");
  newer[0].second = std::int64_t{43};
  CHECK((verdict(expected, trace_of_one("sdpa", newer), settings) == Verdict::different));
}

TEST_CASE("lessons that differ are told first") {
  const auto a = trace_of_one("sdpa", usual), b = trace_of_one("multihead", usual);
  CHECK(report(a, b) == "Lessons differ: sdpa in A, multihead in B\n\nAll 1 inputs and steps agree.\n");
  CHECK((verdict(a, b) == Verdict::different));
}

TEST_CASE("claims of the run that do not hold are a difference") {
  auto diff = attn::compare_traces(usual_trace, usual_trace);
  diff.claims_of_b_hold = false;
  CHECK((diff.verdict() == Verdict::different));
  CHECK_THAT(format_diff(diff, {.a = "expected.npz", .b = "this run"}, false),
             Catch::EndsWith("Not all claims hold on this run.\n"));
}

TEST_CASE("words are compared where both traces have some") {
  const auto told = [](const std::string& note, const std::string& value) {
    auto trace = usual_trace;
    trace.tell("weights", {{"kind", "step"}, {"note", note}});
    trace.tell("rows", {{"kind", "claim"}, {"value", value}});
    return trace;
  };
  const auto a = told("Each row is 1.", "1e-16");
  CHECK((verdict(a, a) == Verdict::equal));
  CHECK((verdict(a, usual_trace) == Verdict::equal));
  CHECK(report(a, told("Each row is 2.", "1e-16")) ==
        "Words differ\n  weights, note: `Each row is 1.` in A, `Each row is 2.` in B\n\n"
        "All 1 inputs and steps agree.\n");
  CHECK((verdict(a, told("Each row is 1.", "2e-16")) == Verdict::within_tolerance));
  CHECK(report(a, told("Each row is 1.", "2e-16")) ==
        "equal within tolerance; rows, value: `1e-16` in A, `2e-16` in B\n");
  CHECK((verdict(a, told("Each row is 1.", "2e-16"), {.absolute = 0.0, .relative = 0.0}) ==
         Verdict::different));
  CHECK((verdict(a, told("Each row is 1.", "1e-3")) == Verdict::different));
}

TEST_CASE("a note or a claim that only one has is a difference of words") {
  auto a = usual_trace, b = usual_trace;
  a.tell("idea", {{"kind", "note"}});
  a.tell("rows", {{"kind", "claim"}});
  b.tell("rows", {{"kind", "claim"}});
  CHECK_THAT(report(a, b), Catch::StartsWith("Words differ\n  idea: a note only in A\n"));
  CHECK_THAT(report(b, a), Catch::StartsWith("Words differ\n  idea: a note only in B\n"));
}

TEST_CASE("a difference within the tolerance is not called equal where something else differs") {
  CHECK(report(trace_of_one("sdpa", usual), trace_of_one("multihead", usual, 0.25 + 1e-13)) ==
        "Lessons differ: sdpa in A, multihead in B\n\n"
        "All 1 inputs and steps agree, 1 only within tolerance.\n");
}
