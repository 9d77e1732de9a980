#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "lessons/workbench/exercises.hpp"
#include "trace/diagnosis/catalogue.hpp"
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

TEST_CASE("a base that nobody usually has is named from the angles, the table and the sum", "[mistakes]") {
  const std::string id = GENERATE("sinusoidal/angles", "sinusoidal/encoding", "sinusoidal/encoded");
  const double base = GENERATE(500.0, 2e6);
  const bool is_float32 = GENERATE(false, true);
  PositionalDump theirs({"sinusoidal/encoding", id});
  const auto d = theirs.dump.tensors.at("sinusoidal/encoding").shape().back();
  auto tensor = theirs.dump.tensors.at(id);
  const auto right = theirs.dump.tensors.at("sinusoidal/encoding");
  const auto width = tensor.shape().back(), positions = tensor.shape()[tensor.shape().size() - 2];
  for (std::size_t i = 0; i < attn::element_count(tensor.shape()); ++i) {
    const auto position = i / width % positions, column = i % width;
    const bool is_angle = id == "sinusoidal/angles";
    const auto pair = static_cast<double>(is_angle ? column : column / 2);
    const double angle = static_cast<double>(position) * std::pow(base, -2.0 * pair / static_cast<double>(d));
    const double encoding = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
    auto& number = tensor.elements<double>()[i];
    if (is_angle)
      number = angle;
    else if (id == "sinusoidal/encoding")
      number = encoding;
    else
      number += encoding - right.view().at(position * d + column);
    if (is_float32) number = static_cast<double>(static_cast<float>(number));
  }
  theirs.dump.tensors = {{id, tensor}};
  if (is_float32) theirs.dump.arithmetic = attn::Dtype::float32;

  const auto diagnosis = theirs.diagnose();
  REQUIRE(diagnosis.steps.size() == 1);
  CAPTURE(id, base, is_float32, diagnosis.steps[0].mistakes);
  REQUIRE(diagnosis.steps[0].mistakes.size() == 1);
  CHECK(attn::id_without_variant(diagnosis.steps[0].mistakes[0]) == "pe-base");
}

TEST_CASE("keys that are rotated again after a prompt of any length are named", "[mistakes]") {
  PositionalDump theirs({"rope/angles", "rope/K_rotated"});
  const auto angles = theirs.dump.tensors.at("rope/angles");
  auto& keys = theirs.dump.tensors.at("rope/K_rotated");
  const auto samples = keys.shape()[0], n = keys.shape()[1], d = keys.shape()[2];
  const auto prompt = GENERATE(std::size_t{1}, std::size_t{5}, std::size_t{11});
  for (std::size_t row = 0; row < samples * n; ++row)
    for (std::size_t pair = 0; pair < d / 2; ++pair) {
      const auto position = row % n;
      const auto again = static_cast<double>(position < prompt ? n - prompt : n - 1 - position);
      const double angle = again * angles.view().at(position * d / 2 + pair);
      auto* const numbers = keys.elements<double>() + row * d + 2 * pair;
      const double x = numbers[0], y = numbers[1];
      numbers[0] = x * std::cos(angle) - y * std::sin(angle);
      numbers[1] = x * std::sin(angle) + y * std::cos(angle);
    }
  const auto diagnosis = theirs.diagnose();
  REQUIRE(diagnosis.steps.size() == 2);
  CAPTURE(prompt, diagnosis.steps[1].mistakes);
  REQUIRE(diagnosis.steps[1].mistakes.size() == 1);
  CHECK(attn::id_without_variant(diagnosis.steps[1].mistakes[0]) == "rope-rerotated");
}
