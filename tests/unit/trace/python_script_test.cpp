#include <catch2/catch.hpp>
#include <functional>

#include "formula/numpy.hpp"
#include "tests/unit/numbers.hpp"
#include "trace/program.hpp"
#include "trace/trace.hpp"

using attn::Tensor;
using Catch::Contains;

namespace {

std::string script(const std::function<void(attn::Trace&)>& lesson, const attn::TraceOptions& options = {}) {
  attn::PythonScript writer({"demo", "a lesson", {}});
  attn::Trace trace(writer, options);
  lesson(trace);
  return writer.finish();
}

void doubled(attn::Trace& trace) {
  trace.page({{.id = "twice"}});
  trace.note("code", "In NumPy", "", "twice = 2 * X\n\nhalf = X / 2");
  const auto X = trace.input({.id = "X", .axes = {"token", "d_k"}}, Tensor<3>{{{1.0, -2.5}}, {{0.1, 4.0}}});
  trace.step({.id = "twice", .axes = {"token", "d_k"}}, Tensor<3>(2.0 * X));
  trace.step({.id = "half", .axes = {"token", "d_k"}}, Tensor<3>(X / 2.0));
}

}  // namespace

TEST_CASE("A script has the inputs, the code and an assertion for each step") {
  const auto text = script([](attn::Trace& trace) {
    trace.page({{.id = "twice"}});
    trace.note("code", "In NumPy", "", "twice = 2 * X");
    const auto X = trace.input({.id = "X", .axes = {"token", "d_k"}}, Tensor<2>{{1.0, -2.5}, {0.1, 4.0}});
    trace.step({.id = "twice", .axes = {"token", "d_k"}}, Tensor<2>(2.0 * X));
    trace.step({.id = "half", .axes = {"token", "d_k"}}, Tensor<2>(X / 2.0));
  });
  CHECK_THAT(text, Catch::StartsWith("# attnlab demo: a lesson\n"));
  CHECK_THAT(text, Contains("import numpy as np\n\nnp.seterr(all=\"ignore\")"));
  CHECK_THAT(text, Contains("\n\ninputs = {\n\"X\": np.array([[1, -2.5],\n [0.1, 4]], "
                            "float).reshape(2, 2),\n}\n"));
  CHECK_THAT(
      text, Contains("\nX = inputs[\"X\"]\n\ntwice = 2 * X\n\nexpect(\"twice\", twice, steps[\"twice\"])\n"));
  CHECK_THAT(text, Contains("\nif \"half\" in vars(): expect(\"half\", half, steps[\"half\"])\n"));
}

TEST_CASE("A batch is computed sample by sample") {
  const auto text = script(doubled, {.batched = true});
  CHECK_THAT(text, Contains("\nfor sample in range(2):\n    X = inputs[\"X\"][sample]\n\n    twice = 2 * "
                            "X\n\n    half = X / 2\n"));
  CHECK_THAT(text, Contains("\n    expect(\"twice\", twice, steps[\"twice\"][sample])\n"));
  const auto shared = script(
      [](attn::Trace& trace) {
        trace.input({.id = "X", .axes = {"d_k"}}, Tensor<2>{{1.0}, {2.0}});
        trace.input({.id = "W", .axes = {"d_k", "d_v"}}, Tensor<2>{{3.0}});
      },
      {.batched = true});
  CHECK_THAT(shared, Contains("X = inputs[\"X\"][sample]\n    W = inputs[\"W\"]\n"));
}

TEST_CASE("Ids become names of Python") {
  CHECK(formula::identifier("W_Q") == "W_Q");
  CHECK(formula::identifier("temperature=0.1/weights") == "temperature_0_1_weights");
  CHECK(formula::identifier("d-ff/b_1") == "d_ff_b_1");
  CHECK(formula::identifier("std") == "std_");
}

TEST_CASE("A script has infinities, truth values, integers and scalars as Python writes them") {
  const auto text = script([](attn::Trace& trace) {
    trace.input({.id = "scores", .axes = {"key"}}, Tensor<1>{-infinity, infinity, not_a_number});
    trace.input({.id = "mask", .axes = {"key"}}, attn::Mask<1>{true, false});
    trace.input({.id = "lengths", .axes = {"batch"}}, attn::Integers<1>{3, -1});
    trace.input({.id = "d_k"}, 0.5);
    trace.input({.id = "is_causal"}, true);
    trace.input({.id = "n"}, std::int64_t{7});
    trace.input({.id = "none", .axes = {"token", "d_k"}}, Tensor<2>(xt::zeros<double>({0, 3})));
  });
  CHECK_THAT(text, Contains("\"scores\": np.array([-np.inf, np.inf, np.nan], float).reshape(3),\n"));
  CHECK_THAT(text, Contains("\"mask\": np.array([True, False], bool).reshape(2),\n"));
  CHECK_THAT(text, Contains("\"lengths\": np.array([3, -1], int).reshape(2),\n"));
  CHECK_THAT(text, Contains("\"d_k\": np.array(0.5, float).reshape(()),\n"));
  CHECK_THAT(text, Contains("\"is_causal\": np.array(True, bool).reshape(()),\n"));
  CHECK_THAT(text, Contains("\"n\": np.array(7, int).reshape(()),\n"));
  CHECK_THAT(text, Contains("\"none\": np.array([], float).reshape(0, 3),\n"));
}

TEST_CASE("Numbers of a narrow type are compared as closely as it allows") {
  CHECK_THAT(script(doubled), Contains("tolerance = 1e-09 * "));
  CHECK_THAT(script(doubled, {.dtype = attn::Dtype::float32}), Contains("tolerance = 0.0001 * "));
}

TEST_CASE("The code of a variant follows the code of the page") {
  const auto text = script([](attn::Trace& trace) {
    trace.note("code", "In NumPy", "", "a = 1");
    trace.within("linear", [&] { trace.note("code", "In NumPy", "", "b = 2"); });
    trace.note("encoded", "No code", "", "c = 3");
  });
  CHECK_THAT(text, Contains("\na = 1\nb = 2\n") && !Contains("c = 3"));
}
