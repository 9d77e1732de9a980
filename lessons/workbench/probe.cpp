#include "lessons/workbench/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/random/crc32.hpp"
#include "attn/random/random_state.hpp"

namespace lessons {

namespace {

/// Puts normal(0, 1) into the rows of zeros that samples [batch×token×…] end with: what reads padding shows.
void fill_padding(const std::string& id, attn::AnyTensor& samples, std::uint32_t seed) {
  const auto& shape = samples.shape();
  if (shape.size() != 3) return;
  attn::RandomState random(seed, attn::crc32(id + " <pad>"));
  for (std::size_t sample = 0; sample < shape[0]; ++sample) {
    auto* const begin = samples.elements<double>() + sample * shape[1] * shape[2];
    auto* const end = begin + shape[1] * shape[2];
    const auto words_end = std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(begin),
                                        [](double number) { return number != 0.0; });
    const auto words = static_cast<std::size_t>(words_end.base() - begin) + shape[2] - 1;
    std::generate(begin + words / shape[2] * shape[2], end, [&] { return random.standard_normal(); });
  }
}

/// What is as the probe of the whole lesson has it becomes what that of the part has.
void take_probe_of_part(const Lesson& whole, const Lesson& part, Options& options) {
  const auto same_as_whole = [&](std::string_view key) {
    return options.typed.count(key) == 0 && config_of(options, {key}) == config_of(whole.defaults, {key});
  };
  for (const auto key : whole.options)
    if (key != "through" && same_as_whole(key))
      restore(options, {key}, {}, config_of(part.probe->options, {key}));
  if (options.sentence.empty() && options.source.empty() && options.target.empty())
    options.sentence = part.probe->options.sentence;
}

std::vector<std::string_view> parts_with_probe(const Lesson& lesson) {
  std::vector<std::string_view> names;
  for (const auto* part : lesson.parts)
    if (part->probe) names.push_back(part->through);
  return names;
}

/// Sets what the options leave open. Returns the part of the lesson that they pick.
const Lesson& settle_for_probe(const Lesson& lesson, Options& options) {
  options.model = "none";
  const auto& part = part_of(lesson, options.through);
  if (!part.probe)
    throw attn::Error(fmt::format("{} --through {} has no probe; valid: --through {}", lesson.name,
                                  part.through, fmt::join(parts_with_probe(lesson), ", ")));
  if (!lesson.parts.empty()) take_probe_of_part(lesson, part, options);
  return part;
}

}  // namespace

std::shared_ptr<const Lesson> lesson_of_probe(const Lesson& lesson) {
  if (!lesson.probe) {
    std::vector<std::string_view> names;
    for (const auto* one : all_lessons())
      if (one->probe) names.push_back(one->name);
    throw attn::Error(fmt::format("{} has no probe; valid: {}", lesson.name, fmt::join(names, ", ")));
  }
  auto changed = lesson;
  changed.defaults = lesson.probe->options;
  changed.defaults.model = "none";
  return std::make_shared<const Lesson>(changed);
}

Plan plan_of_probe(const Lesson& lesson, Options options, const attn::StoredTrace& inputs) {
  settle_for_probe(lesson, options);
  return make_plan(lesson, options, &inputs);
}

Plan plan_of_probe(const Lesson& lesson, Options options) {
  const auto& part = settle_for_probe(lesson, options);
  auto plan = make_plan(lesson, options);
  attn::Tensors inputs;
  run_watched(lesson, plan, [&](const attn::Tapped& tapped) {
    if (tapped.kind == attn::Kind::input)
      inputs.emplace(tapped.id, attn::AnyTensor({tapped.dtype, tapped.shape, tapped.elements}));
  });
  part.probe->sharpen(inputs, plan.options);
  for (auto& [id, tensor] : inputs) {
    if (!attn::is_floating(tensor.dtype())) continue;
    fill_padding(id, tensor, plan.options.seed);
    plan.given.insert_or_assign(id, attn::Given(tensor));
  }
  return plan;
}

std::vector<attn::Prediction> steps_with(const attn::Hypothesis& mistakes, const Plan& plan) {
  const auto rerun = [&](const attn::Watch& watch) { run_watched(*plan.lesson, plan, watch); };
  return attn::Replay(rerun).predict(mistakes);
}

std::vector<std::string> mistakes_of(const Plan& plan) {
  std::vector<std::string> ids;
  run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
    for (const auto& mistake : tapped.mistakes)
      if (std::find(ids.begin(), ids.end(), mistake.id()) == ids.end() && mistake.result(nullptr))
        ids.push_back(mistake.id());
  });
  return ids;
}

std::vector<std::string> results_of(const Plan& plan, const std::vector<attn::Prediction>& steps) {
  const auto& results = plan.lesson->probe->results;
  if (results.empty()) return {steps.back().id};
  return {results.begin(), results.end()};
}

}  // namespace lessons
