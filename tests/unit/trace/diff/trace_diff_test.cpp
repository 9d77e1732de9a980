#include <catch2/catch.hpp>

#include "attn/text/width.hpp"
#include "tests/unit/memory_trace.hpp"
#include "tests/unit/trace/diff/compared_traces.hpp"
#include "trace/diff/diff.hpp"

using attn::Verdict;

namespace {

void add_weights(MemoryTrace& trace, const std::vector<double>& weights = {0.25, 0.75, 0.5, 0.5},
                 const std::vector<std::string>& tokens = {"the", "cat"}) {
  trace.add<double>("weights", {2, 2}, weights, {"query", "key"}, {{{tokens}}, {{tokens}}});
}

MemoryTrace trace_with(const std::vector<double>& weights, const std::vector<double>& output = {1.0, 2.0}) {
  MemoryTrace trace("sdpa");
  add_weights(trace, weights);
  trace.add<double>("output", {2}, output, {"query"});
  trace.add<double>("loss", {}, {0.5});
  return trace;
}

/// A trace of one tensor without names.
template <class T>
MemoryTrace trace_of_one(const attn::Shape& shape, const std::vector<T>& elements) {
  MemoryTrace trace;
  trace.add<T>("x", shape, elements);
  return trace;
}

const auto plain = trace_with({0.25, 0.75, 0.5, 0.5});

}  // namespace

TEST_CASE("a trace is equal to itself and there is nothing to say about that") {
  CHECK((verdict(plain, plain) == Verdict::equal));
  CHECK(report(plain, plain) == "");
}

TEST_CASE("the first number that differs is named with its axes, its labels and both values") {
  CHECK(report(plain, trace_with({0.25, 0.75, 0.4, 0.6})) ==
        R"(sdpa: weights differs first at [query 1 `cat` × key 0 `the`]: 0.5 in A, 0.4 in
  B

  id       shape  differ  max abs  max rel
  weights  2×2    2 of 4      0.1     0.25

1 of 3 inputs and steps differ.
)");
}

TEST_CASE("tensors are listed in the order of A, and all of them where that is asked for") {
  CHECK(report(plain, trace_with({0.25, 0.75, 0.5, 0.5}, {1.0, 2.5}), {}, true) ==
        R"(sdpa: output differs first at [query 1]: 2 in A, 2.5 in B

  id       shape   differ  max abs  max rel
  weights  2×2     0 of 4        0        0
  output   2       1 of 2      0.5      0.2
  loss     scalar  0 of 1        0        0

1 of 3 inputs and steps differ.
)");
}

TEST_CASE("of several that differ the largest difference is told, and stands first in the table") {
  MemoryTrace a, b;
  for (const auto* id : {"x", "y", "z"}) a.add<double>(id, {1}, {1.0});
  b.add<double>("x", {1}, {1.25});
  b.add<double>("y", {1}, {2.0});
  b.add<double>("z", {1}, {1.0});
  CHECK(report(a, b) == R"(x differs first at [0]: 1 in A, 1.25 in B

The largest difference is 1 in y at [0]

  id  shape  differ  max abs  max rel
  y   1      1 of 1        1      0.5
  x   1      1 of 1     0.25      0.2

2 of 3 inputs and steps differ.
)");
}

TEST_CASE("the order of tensors does not count") {
  MemoryTrace a, b;
  a.add<double>("x", {1}, {1.0});
  a.add<double>("y", {1}, {2.0});
  b.add<double>("y", {1}, {2.0});
  b.add<double>("x", {1}, {1.0});
  CHECK(report(a, b) == "");
}

TEST_CASE("a difference within the tolerance is told in one line and counts as equal") {
  const auto close = trace_with({0.25 + 1e-13, 0.75, 0.5, 0.5 - 2e-13});
  CHECK((verdict(plain, close) == Verdict::within_tolerance));
  CHECK(report(plain, close) ==
        "equal within tolerance; the largest difference is 2e-13 in weights at [query 1 `cat` × key 1 "
        "`cat`]\n");
  CHECK((verdict(plain, close, {.absolute = 0.0, .relative = 0.0}) == Verdict::different));
}

TEST_CASE("a tolerance that is given takes the place of the default, the other one stays") {
  const auto far = trace_with({0.26, 0.75, 0.5, 0.5});
  CHECK((verdict(plain, far) == Verdict::different));
  CHECK((verdict(plain, far, {.absolute = 0.02}) == Verdict::within_tolerance));
  CHECK((verdict(plain, far, {.relative = 0.05}) == Verdict::within_tolerance));
  CHECK((verdict(plain, far, {.relative = 0.02}) == Verdict::different));
}

TEST_CASE("a scalar has no place") {
  MemoryTrace a, b;
  a.add<double>("loss", {}, {0.5});
  b.add<double>("loss", {}, {0.75});
  CHECK_THAT(report(a, b), Catch::StartsWith("loss differs: 0.5 in A, 0.75 in B\n"));
}

TEST_CASE("where the axes have no names an element is named by its index alone") {
  CHECK_THAT(report(trace_of_one<double>({2, 2}, {1, 2, 3, 4}), trace_of_one<double>({2, 2}, {1, 2, 3, 5})),
             Catch::StartsWith("x differs first at [1, 1]: 4 in A, 5 in B\n"));
}

TEST_CASE("names come from B where A has none") {
  auto a = trace_of_one<double>({1}, {1.0}), b = MemoryTrace();
  b.add<double>("x", {1}, {2.0}, {"key"});
  CHECK_THAT(report(a, b), Catch::Contains("[key 0]"));
}

TEST_CASE("labels of a sample are those of the element's sample") {
  const auto batch = [](double last) {
    MemoryTrace trace;
    trace.add<double>("x", {2, 1}, {1.0, last}, {"batch", "key"}, {{}, {{{"one"}, {"two"}}}});
    return trace;
  };
  CHECK_THAT(report(batch(1.0), batch(2.0)), Catch::Contains("[batch 1 × key 0 `two`]"));
}

TEST_CASE("an id that only one has is a difference") {
  MemoryTrace a, b;
  a.add<double>("x", {1}, {1.0});
  a.add<double>("masked", {1}, {1.0});
  b.add<double>("extra", {1}, {1.0});
  b.add<double>("x", {1}, {1.0});
  CHECK(report(a, b) == R"(what both have agrees. masked is only in A

  id      shape  differ  max abs  max rel
  masked  only in A
  extra   only in B

All 1 inputs and steps agree; 2 not compared.
)");
}

TEST_CASE("tensors of different shapes are told with their axes") {
  MemoryTrace a, b;
  a.add<double>("Q", {1, 2}, {1.0, 2.0}, {"query", "d_k"});
  b.add<double>("Q", {2, 1}, {1.0, 2.0}, {"query", "d_k"});
  CHECK_THAT(report(a, b),
             Catch::StartsWith("Q is the first to differ: [query 1 × d_k 2] in A, [query 2 × d_k 1] in B\n"));
}

TEST_CASE("tensors of one shape whose axes have different names are different") {
  MemoryTrace a, b;
  a.add<double>("x", {1, 1}, {1.0}, {"query", "key"});
  b.add<double>("x", {1, 1}, {1.0}, {"key", "query"});
  CHECK_THAT(report(a, b), Catch::Contains("[query 1 × key 1] in A, [key 1 × query 1] in B"));
}

TEST_CASE("float32 beside float64 is no difference, but whole numbers beside floating point are") {
  const auto wide = trace_of_one<double>({1}, {0.1}), narrow = trace_of_one<float>({1}, {0.1f});
  CHECK((verdict(wide, narrow) == Verdict::within_tolerance));
  CHECK(report(wide, narrow).find("float32") == std::string::npos);
  CHECK_THAT(report(wide, narrow, {}, true), Catch::Contains("x  float64 in A, float32 in B"));
  const auto whole = trace_of_one<std::int64_t>({1}, {1}), floating = trace_of_one<double>({1}, {1.0});
  CHECK_THAT(report(whole, floating),
             Catch::StartsWith("x is the first to differ: int64 in A, float64 in B\n"));
  CHECK((verdict(whole, trace_of_one<bool>({1}, {true})) == Verdict::different));
}

TEST_CASE("the tolerance follows what the file holds, not what it is read as") {
  MemoryTrace a, b;
  a.add<float>("x", {1}, {1.0f}).stored_dtype = "float16";
  b.add<double>("x", {1}, {1.0005});
  CHECK((verdict(a, b) == Verdict::within_tolerance));
}

TEST_CASE("labels that differ are told once for each axis, and are a difference") {
  MemoryTrace a("sdpa"), b("sdpa");
  add_weights(a, {1, 0, 0, 1}, {"the", "cat"});
  add_weights(b, {1, 0, 0, 1}, {"the", "dog"});
  CHECK(report(a, b) == R"(Labels differ
  query 1: `cat` in A, `dog` in B
  key 1: `cat` in A, `dog` in B

sdpa: weights is the first to differ: labels differ

  id       shape  differ  max abs  max rel
  weights  2×2    labels differ

1 of 1 inputs and steps differ.
)");
}

TEST_CASE("labels that only one of them has are no difference") {
  MemoryTrace a("sdpa"), b("sdpa");
  add_weights(a);
  b.add<double>("weights", {2, 2}, {0.25, 0.75, 0.5, 0.5});
  CHECK((verdict(a, b) == Verdict::equal));
}

TEST_CASE("what is not selected is not compared") {
  MemoryTrace a, b;
  a.add<double>("encoder/h", {1}, {1.0});
  a.add<double>("decoder/h", {1}, {1.0});
  b.add<double>("encoder/h", {1}, {1.0});
  b.add<double>("output", {1}, {1.0});
  CHECK((verdict(a, b, {.only = {"encoder/"}}) == Verdict::equal));
  CHECK((verdict(a, b, {.only = {"encoder/", "output"}}) == Verdict::different));
  CHECK((verdict(a, b, {.only = {"decoder/h"}}) == Verdict::different));
}

TEST_CASE("a table stays within 80 columns where ids allow") {
  const auto trace = [](double value) {
    MemoryTrace made;
    made.add<double>("decoder/attention/projected_keys", {1, 1, 1, 1}, {value});
    return made;
  };
  for (const auto& line : attn::wrap(report(trace(1.0), trace(1e-300)), 1000))
    CHECK(attn::display_width(line) <= 80);
}

TEST_CASE("seeds that differ are told and, with a tolerance, are no difference in themselves") {
  MemoryTrace a("sdpa", {{"seed", std::int64_t{42}}}), b("sdpa", {{"seed", std::int64_t{43}}});
  a.add<double>("x", {1}, {1.0});
  b.add<double>("x", {1}, {2.0});
  CHECK((verdict(a, b) == Verdict::different));
  CHECK((verdict(a, b, {.absolute = 100.0}) == Verdict::within_tolerance));
  CHECK_THAT(report(a, b, {.absolute = 100.0}), Catch::Contains("seed: 42 in A, 43 in B"));
}

TEST_CASE("the first number that differs is told before what only one has") {
  auto a = trace_with({0.25, 0.75, 0.5, 0.5});
  MemoryTrace b;
  add_weights(b, {0.25, 0.75, 0.4, 0.6});
  MemoryTrace with_lengths("sdpa");
  with_lengths.add<std::int64_t>("lengths", {1}, {2});
  add_weights(with_lengths);
  CHECK_THAT(report(with_lengths, b), Catch::StartsWith("sdpa: weights differs first at [query 1"));
  CHECK_THAT(report(with_lengths, b), Catch::Contains("lengths  only in A"));
  CHECK_THAT(report(with_lengths, trace_with({0.25, 0.75, 0.5, 0.5})),
             Catch::StartsWith("sdpa: what both have agrees. lengths is only in A"));
}

TEST_CASE("what only one has can be left out") {
  MemoryTrace b;
  add_weights(b);
  b.add<double>("mine", {1}, {1.0});
  CHECK((verdict(plain, b) == Verdict::different));
  CHECK((verdict(plain, b, {.only_common = true}) == Verdict::equal));
  CHECK(report(plain, b, {.only_common = true}) == "");
  MemoryTrace foreign;
  foreign.add<double>("mine", {1}, {1.0});
  CHECK_THROWS_WITH(report(plain, foreign, {.only_common = true}),
                    "--only-common: no id is in both, but weights, output, loss in A and mine in B; valid: "
                    "--rename A=B");
}

TEST_CASE("ids and groups of either trace can count as others") {
  MemoryTrace b;
  b.add<double>("attn", {2, 2}, {0.25, 0.75, 0.4, 0.6});
  b.add<double>("out/loss", {}, {0.5});
  const attn::DiffSettings settings{.only_common = true,
                                    .renames = {{"attn", "weights"}, {"out/loss", "loss"}}};
  CHECK_THAT(report(plain, b, settings),
             Catch::StartsWith("sdpa: weights differs first at [query 1 `cat` × key 0"));
  CHECK_THAT(report(b, plain, settings), Catch::Contains("1 of 2 inputs and steps differ."));
  MemoryTrace grouped;
  grouped.add<double>("a/x", {1}, {1.0});
  MemoryTrace other;
  other.add<double>("b/x", {1}, {1.0});
  CHECK((verdict(grouped, other, {.renames = {{"a/", "b/"}}}) == Verdict::equal));
  CHECK_THROWS_WITH(
      report(plain, b, {.renames = {{"scores", "weights"}}}),
      Catch::StartsWith("--rename scores=weights: neither has scores; valid: one of weights, output"));
  CHECK_THROWS_WITH(report(plain, b, {.renames = {{"output", "weights"}}}),
                    Catch::StartsWith("output is renamed to weights, which is there already"));
}
