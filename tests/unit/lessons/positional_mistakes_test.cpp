#include <algorithm>
#include <catch2/catch.hpp>

#include "lessons/workbench/probe.hpp"
#include "trace/diagnosis/diagnosis.hpp"

namespace {

/// The tensors of these steps on the probe of the lesson positional, and what is said of them.
struct PositionalDump {
  std::shared_ptr<const lessons::Lesson> lesson;
  lessons::Plan plan;
  attn::Dump dump;

  explicit PositionalDump(const std::vector<std::string>& ids) {
    const auto& all = lessons::all_lessons();
    lesson = lessons::lesson_of_probe(
        **std::find_if(all.begin(), all.end(), [](const auto* one) { return one->name == "positional"; }));
    plan = lessons::plan_of_probe(*lesson, lesson->defaults);
    run([&](const attn::Tapped& tapped) {
      if (std::find(ids.begin(), ids.end(), tapped.id) != ids.end())
        dump.tensors.emplace(tapped.id, attn::AnyTensor({tapped.dtype, tapped.shape, tapped.elements}));
    });
  }

  void run(const attn::Watch& watch) const { lessons::run_watched(*lesson, plan, watch); }

  attn::Diagnosis diagnose() const {
    return attn::diagnose(dump, [this](const attn::Watch& watch) { run(watch); });
  }
};

}  // namespace

TEST_CASE("a bucket that T5's table does not have is wrong, and no place to read from", "[mistakes]") {
  PositionalDump theirs({"t5/buckets", "t5/bias"});
  auto& buckets = theirs.dump.tensors.at("t5/buckets");
  buckets.elements<std::int64_t>()[0] = GENERATE(1000000, 32, -1);

  const auto diagnosis = theirs.diagnose();
  REQUIRE(diagnosis.steps.size() == 2);
  CHECK(diagnosis.steps[0].finding == attn::Finding::wrong);
  CHECK(diagnosis.steps[0].mistakes.empty());
  CHECK(diagnosis.steps[1].finding == attn::Finding::right);
}

TEST_CASE("a distance beyond the clipping is wrong, and no row to read", "[mistakes]") {
  PositionalDump theirs({"relative/distances", "relative/scores"});
  theirs.dump.tensors.at("relative/distances").elements<std::int64_t>()[11] = 11;

  const auto diagnosis = theirs.diagnose();
  REQUIRE(diagnosis.steps.size() == 2);
  CHECK(diagnosis.steps[0].finding == attn::Finding::wrong);
  CHECK(diagnosis.steps[1].finding == attn::Finding::right);
}
