#include "lessons/workbench/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

}  // namespace lessons
