#include "trace/filter.hpp"

#include <catch2/catch.hpp>

#include "attn/error.hpp"
#include "trace/trace.hpp"

using attn::Tensor;

namespace {

/// Remembers the ids that it received and whether they came with numbers.
class Recorder : public attn::Sink {
 public:
  void receive(const attn::Event& event) override {
    ids.push_back(event.id);
    if (event.tensor && event.tensor->data != nullptr) ++with_numbers;
  }

  std::vector<std::string> ids;
  std::size_t with_numbers = 0;
};

void run_lesson(attn::Sink& sink) {
  attn::Trace trace(sink, {.batched = false});
  trace.note("idea", "The idea", "Prose.");
  trace.input({.id = "X", .axes = {"d_k"}}, Tensor<1>{1.0});
  trace.step({.id = "encoder/gates", .axes = {"gate"}}, Tensor<1>{1.0});
  trace.step({.id = "encoder/h", .axes = {"hidden"}}, Tensor<1>{1.0});
  trace.step({.id = "encoder_length"}, 1.0);
  trace.claim({"sums", "rows sum to 1", "x", 0.0, attn::exactly(0)});
}

using Ids = std::vector<std::string>;

Recorder filtered(const Ids& wanted, bool shapes_only) {
  Recorder recorder;
  attn::Filter filter(recorder, wanted, shapes_only);
  run_lesson(filter);
  filter.require_all_seen();
  return recorder;
}

}  // namespace

TEST_CASE("A filter that wants nothing in particular passes everything") {
  const auto recorder = filtered({}, false);
  CHECK(recorder.ids == Ids{"idea", "X", "encoder/gates", "encoder/h", "encoder_length", "sums"});
  CHECK(recorder.with_numbers == 4);
}

TEST_CASE("Only the wanted inputs and steps pass, in the order of the lesson") {
  CHECK(filtered({"encoder/h", "X"}, false).ids == Ids{"X", "encoder/h"});
}

TEST_CASE("Of a script only steps are left out") {
  Recorder recorder;
  attn::Filter filter(recorder, {"encoder/h"}, false, attn::Filter::Always::all_but_steps);
  run_lesson(filter);
  CHECK(recorder.ids == Ids{"idea", "X", "encoder/h", "sums"});
}

TEST_CASE("A name with a slash at its end selects the group") {
  CHECK(filtered({"encoder/"}, false).ids == Ids{"encoder/gates", "encoder/h"});
}

TEST_CASE("Shapes only: every tensor passes without its numbers") {
  const auto recorder = filtered({}, true);
  CHECK(recorder.ids == Ids{"X", "encoder/gates", "encoder/h", "encoder_length"});
  CHECK(recorder.with_numbers == 0);
}

TEST_CASE("Shapes of wanted steps only") {
  const auto recorder = filtered({"X"}, true);
  CHECK(recorder.ids == Ids{"X"});
  CHECK(recorder.with_numbers == 0);
}

TEST_CASE("A wanted step that never came is an error that names those that did") {
  Recorder recorder;
  attn::Filter filter(recorder, {"X", "weights", "decoder/"}, false);
  run_lesson(filter);
  CHECK_THROWS_WITH(
      filter.require_all_seen(),
      "--steps weights: this lesson has no step weights; valid: X, encoder/gates, encoder/h, encoder_length");
  CHECK_THROWS_AS(filter.require_all_seen(), attn::Error);

  attn::Filter group(recorder, {"decoder/"}, false);
  run_lesson(group);
  CHECK_THROWS_WITH(group.require_all_seen(),
                    Catch::StartsWith("--steps decoder/: this lesson has no step decoder/"));
}

TEST_CASE("A note or a claim cannot be selected") {
  Recorder recorder;
  attn::Filter filter(recorder, {"idea"}, false);
  run_lesson(filter);
  CHECK(recorder.ids.empty());
  CHECK_THROWS_AS(filter.require_all_seen(), attn::Error);
}
