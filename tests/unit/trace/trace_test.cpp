#include "trace/trace.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/error.hpp"

using attn::Event;
using attn::Tensor;

namespace {

/// Keeps what it receives, but for the tensors' data.
class Recorder : public attn::Sink {
 public:
  void receive(const Event& event) override { events.push_back(event); }
  std::vector<Event> events;
};

}  // namespace

TEST_CASE("a tap returns its tensor and sends it on") {
  Recorder recorder;
  attn::Trace trace(recorder, {.batched = false});
  const Tensor<2> X = {{1, 2}, {3, 4}};
  CHECK((trace.step({.id = "X", .from = {"W"}, .axes = {"token", "d_model"}}, X) == X));
  REQUIRE(recorder.events.size() == 1);
  CHECK(recorder.events[0].kind == attn::Kind::step);
  CHECK(recorder.events[0].inputs == std::vector<std::string>{"W"});
  CHECK(recorder.events[0].tensor->shape == attn::Shape{2, 2});
}

TEST_CASE("the batch axis is dropped for one sample and named for several") {
  const Tensor<3> X = xt::zeros<double>({2, 3, 4});
  Recorder recorder;
  attn::Trace(recorder, {.batched = true}).input({.id = "X", .axes = {"token", "d_model"}}, X);
  attn::Trace(recorder, {.batched = false}).input({.id = "X", .axes = {"token", "d_model"}}, X);
  CHECK(recorder.events[0].axes == std::vector<std::string>{"batch", "token", "d_model"});
  CHECK(recorder.events[0].tensor->shape == attn::Shape{2, 3, 4});
  CHECK(recorder.events[1].axes == std::vector<std::string>{"token", "d_model"});
  CHECK(recorder.events[1].tensor->shape == attn::Shape{3, 4});
}

TEST_CASE("axes are labelled by name, and sample by sample only where the batch is shown") {
  Recorder recorder;
  attn::Trace trace(recorder, {.batched = true});
  trace.label("token", {{{"a", "b"}, {"c", "d"}}});
  trace.input({.id = "X", .axes = {"token", "d_model"}}, Tensor<3>(xt::zeros<double>({2, 2, 1})));
  trace.input({.id = "table", .axes = {"token", "d_model"}}, Tensor<2>(xt::zeros<double>({2, 1})));
  CHECK(recorder.events[0].labels[0].empty());
  CHECK(recorder.events[0].labels[1].of(1) == std::vector<std::string>{"c", "d"});
  CHECK(recorder.events[0].labels[2].empty());
  CHECK(recorder.events[1].labels[0].empty());
}

TEST_CASE("an id is used once and holds no other characters than the contract's") {
  Recorder recorder;
  attn::Trace trace(recorder, {.batched = false});
  trace.note("idea", "title", "text");
  CHECK_THROWS_AS(trace.note("idea", "title", "text"), std::logic_error);
  CHECK_THROWS_AS(trace.note("an idea", "title", "text"), std::logic_error);
  CHECK_THROWS_AS(trace.note("", "title", "text"), std::logic_error);
  CHECK_NOTHROW(trace.note("temperature=0.1/weights", "title", "text"));
}

TEST_CASE("a tensor whose axes are not all named is refused") {
  Recorder recorder;
  attn::Trace trace(recorder, {.batched = false});
  CHECK_THROWS_AS(trace.step({.id = "X", .axes = {"token"}}, Tensor<3>(xt::zeros<double>({1, 2, 3}))),
                  std::logic_error);
}

TEST_CASE("a claim holds when the measured value satisfies its limit, and never for NaN") {
  Recorder recorder;
  attn::Trace trace(recorder, {.batched = false});
  trace.claim({.id = "small", .claim = "small", .value = 1e-13, .limit = attn::at_most(1e-12)});
  CHECK(trace.all_claims_hold());
  trace.claim({.id = "large", .claim = "large", .value = 1e-11, .limit = attn::at_most(1e-12)});
  CHECK_FALSE(trace.all_claims_hold());
  CHECK_FALSE(attn::at_most(1.0).holds(std::nan("")));
  CHECK_FALSE(attn::at_least(1.0).holds(std::nan("")));
  CHECK_FALSE(attn::exactly(0.0).holds(std::nan("")));
  CHECK(attn::at_least(1.0).holds(1.0));
  CHECK(attn::exactly(0.0).holds(-0.0));
}

TEST_CASE("limits print as an operator and the shortest number") {
  CHECK(to_string(attn::at_most(1e-12)) == "<= 1e-12");
  CHECK(to_string(attn::exactly(0.0)) == "== 0");
  CHECK(to_string(attn::at_least(0.5)) == ">= 0.5");
}

TEST_CASE("within a group every id is the group's, and so are the ids that a step was computed from") {
  Recorder recorder;
  attn::Trace trace(recorder, {.batched = false});
  const Tensor<1> x = {1, 2};
  trace.input({.id = "X", .axes = {"token"}}, x);
  const auto result = trace.within("attention", [&] {
    trace.note("idea", "title", "text");
    trace.input({.id = "W", .axes = {"token"}}, x);
    return trace.step({.id = "Q", .from = {"X", "W"}, .axes = {"token"}}, x);
  });
  trace.claim({.id = "Q", .claim = "outside again"});
  CHECK((result == x));
  REQUIRE(recorder.events.size() == 5);
  CHECK(recorder.events[1].id == "attention/idea");
  CHECK(recorder.events[2].id == "attention/W");
  CHECK(recorder.events[3].id == "attention/Q");
  CHECK(recorder.events[3].inputs == std::vector<std::string>{"X", "attention/W"});
  CHECK(recorder.events[4].id == "Q");
}

TEST_CASE("groups nest, a name is looked for from the inside out, and two groups may share names") {
  Recorder recorder;
  attn::Trace trace(recorder, {.batched = false});
  const Tensor<1> x = {1, 2};
  const auto step = [&](const std::string& id, const std::vector<std::string>& from) {
    trace.step({.id = id, .from = from, .axes = {"token"}}, x);
  };
  step("Q", {});
  trace.within("decoder", [&] {
    step("Q", {"Q"});
    step("K", {});
    trace.within("cross", [&] { step("scores", {"Q", "K", "nowhere"}); });
  });
  trace.within("encoder", [&] { step("scores", {"Q", "decoder/Q"}); });
  CHECK(recorder.events[1].id == "decoder/Q");
  CHECK(recorder.events[1].inputs == std::vector<std::string>{"Q"});
  CHECK(recorder.events[3].id == "decoder/cross/scores");
  CHECK(recorder.events[3].inputs == std::vector<std::string>{"decoder/Q", "decoder/K", "nowhere"});
  CHECK(recorder.events[4].inputs == std::vector<std::string>{"Q", "decoder/Q"});
}

TEST_CASE("a group ends where something is thrown in it") {
  Recorder recorder;
  attn::Trace trace(recorder, {.batched = false});
  CHECK_THROWS_AS(trace.within("group", [] { throw std::runtime_error("stop"); }), std::runtime_error);
  trace.note("idea", "title", "text");
  CHECK(recorder.events[0].id == "idea");
}

namespace {

attn::AnyTensor any(const attn::Tensor<2>& tensor) {
  return attn::AnyTensor(attn::view_of(tensor));
}

template <class Run>
std::string refusal_of(Run run) {
  try {
    run();
  } catch (const attn::Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("an input is the one that is given in its place") {
  Recorder events;
  const attn::GivenTensors given = {{"group/x", any({{5.0, 6.0}})}};
  attn::Trace trace(events, {.given = &given});
  const attn::Tensor<2> own = {{1.0, 2.0}};
  const auto x = trace.within("group", [&] {
    return trace.input({.id = "x", .axes = {"query", "key"}}, own);
  });
  CHECK((x == attn::Tensor<2>{{5.0, 6.0}}));
  CHECK((trace.input({.id = "x", .axes = {"query", "key"}}, own) == own));
  CHECK_NOTHROW(trace.require_all_given_used());
}

TEST_CASE("a given tensor may have the batch axis of one sample or not") {
  for (const auto& tensor : {attn::AnyTensor(attn::view_of(attn::Tensor<2>{{5.0, 6.0}})),
                             attn::AnyTensor(attn::view_of(attn::Tensor<3>{{{5.0, 6.0}}}))}) {
    Recorder events;
    const attn::GivenTensors given = {{"x", tensor}};
    attn::Trace trace(events, {.given = &given});
    const attn::Tensor<3> own = {{{1.0, 2.0}}};
    CHECK((trace.input({.id = "x", .axes = {"query", "key"}}, own) == attn::Tensor<3>{{{5.0, 6.0}}}));
  }
}

TEST_CASE("given tensors that cannot stand for an input are refused") {
  const auto use = [](const attn::AnyTensor& tensor, const auto& own) {
    return refusal_of([&] {
      Recorder events;
      const attn::GivenTensors given = {{"x", tensor}};
      attn::Trace trace(events, {.given = &given});
      trace.input({.id = "x", .axes = {"query", "key"}}, own);
    });
  };
  const attn::Tensor<2> numbers = {{1.0, 2.0}};
  const attn::Mask<2> mask = {{true, false}};
  CHECK(use(any({{1.0}}), numbers) ==
        "x in --input has the shape (1×1); valid for this run: (1 query × 2 key)");
  CHECK(use(any({{1.0, std::nan("")}}), numbers) == "x in --input has nan at (0, 1); valid: finite numbers");
  CHECK(use(any({{1.0, 0.5}}), mask) ==
        "x in --input has 0.5 at (0, 1); valid: 0 or 1, where 1 means may be seen");
  CHECK(use(any({{1.0, 0.0}}), mask) == "none");
}

TEST_CASE("the identity is as large as the input, whatever its type") {
  Recorder events;
  const attn::GivenTensors given = {{"x", attn::Given(attn::Identity(), "--set")},
                                    {"mask", attn::Given(attn::Identity(), "--set")},
                                    {"bias", attn::Given(attn::Identity(), "--set")}};
  attn::Trace trace(events, {.given = &given});
  const attn::Tensor<3> own = {{{7.0, 7.0}, {7.0, 7.0}, {7.0, 7.0}}};
  CHECK((trace.input({.id = "x", .axes = {"query", "key"}}, own) ==
         attn::Tensor<3>{{{1.0, 0.0}, {0.0, 1.0}, {0.0, 0.0}}}));
  CHECK((trace.input({.id = "mask", .axes = {"query", "key"}}, attn::Mask<2>{{true, true, true}}) ==
         attn::Mask<2>{{true, false, false}}));
  CHECK(refusal_of([&] {
          trace.input({.id = "bias", .axes = {"d_k"}}, attn::Tensor<1>{1.0, 2.0});
        }) == "bias in --set is identity, which is a matrix; valid for this run: (2 d_k)");
  CHECK(trace.given_name("x") == "x in --set");
}

TEST_CASE("a given tensor that no input asks for is refused") {
  Recorder events;
  const attn::GivenTensors given = {{"y", any({{1.0}})}};
  attn::Trace trace(events, {.given = &given});
  trace.input({.id = "x"}, 1.0);
  CHECK(refusal_of([&] { trace.require_all_given_used(); }) ==
        "y in --input is no input of this run; valid: x");
}

TEST_CASE("an input that follows from others can only be given as it is") {
  const attn::Integers<1> own = {3, 1};
  const auto use = [&](double second) {
    return refusal_of([&] {
      Recorder events;
      const attn::GivenTensors given = {
          {"lengths", attn::AnyTensor(attn::view_of(attn::Tensor<1>{3.0, second}))}};
      attn::Trace trace(events, {.given = &given});
      trace.settled_input({.id = "lengths", .axes = {"batch"}}, own);
    });
  };
  CHECK(use(1.0) == "none");
  CHECK(use(2.0) ==
        "lengths in --input has 2 where this run has 1; it follows from the other inputs and the options; "
        "valid: leave it "
        "out");
}
