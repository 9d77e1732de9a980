#include "lessons/workbench/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

namespace lessons {

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

Plan plan_of_probe(const Lesson& lesson, Options options) {
  options.model = "none";
  auto plan = make_plan(lesson, options);
  attn::Tensors inputs;
  run_watched(lesson, plan, [&](const attn::Tapped& tapped) {
    if (tapped.kind == attn::Kind::input)
      inputs.emplace(tapped.id, attn::AnyTensor({tapped.dtype, tapped.shape, tapped.elements}));
  });
  lesson.probe->sharpen(inputs, plan.options);
  for (const auto& [id, tensor] : inputs)
    if (attn::is_floating(tensor.dtype())) plan.given.insert_or_assign(id, attn::Given(tensor));
  return plan;
}

std::vector<attn::Prediction> steps_with(const attn::Hypothesis& mistakes, const Lesson& lesson,
                                         const Plan& plan) {
  const auto rerun = [&](const attn::Watch& watch) { run_watched(lesson, plan, watch); };
  return attn::Replay(rerun).predict(mistakes);
}

std::vector<std::string> mistakes_of(const Lesson& lesson, const Plan& plan) {
  std::vector<std::string> ids;
  run_watched(lesson, plan, [&](const attn::Tapped& tapped) {
    for (const auto& mistake : tapped.mistakes)
      if (std::find(ids.begin(), ids.end(), mistake.id()) == ids.end() && mistake.result(nullptr))
        ids.push_back(mistake.id());
  });
  return ids;
}

std::vector<std::string> results_of(const Lesson& lesson, const std::vector<attn::Prediction>& steps) {
  const auto& results = lesson.probe->results;
  if (results.empty()) return {steps.back().id};
  return {results.begin(), results.end()};
}

}  // namespace lessons
