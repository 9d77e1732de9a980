#include "lessons/workbench/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/random/random.hpp"

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

/// Beside a given mask nothing is hidden but by options that were typed.
void let_given_mask_decide(Plan& plan) {
  const auto is_mask = [](const auto& one) { return one.first == "mask" || one.first.ends_with("/mask"); };
  if (std::none_of(plan.given.begin(), plan.given.end(), is_mask)) return;
  if (!plan.options.is_typed("causal")) plan.options.causal = false;
  if (!plan.options.is_typed("window")) plan.options.window.reset();
}

/// Adds normal(0, 1/4) to what is all 0 or all 1 before training, so that a gain or a bias that is left out,
/// or that stands in the place of another, shows.
void vary_untrained(const std::string& id, attn::AnyTensor& tensor, std::uint32_t seed) {
  auto* const begin = tensor.elements<double>();
  auto* const end = begin + attn::element_count(tensor.shape());
  const auto is_all = [=](double number) { return std::count(begin, end, number) == end - begin; };
  if (!is_all(0.0) && !is_all(1.0)) return;
  attn::RandomState random(seed, attn::crc32(id));
  std::for_each(begin, end, [&](double& number) { number += 0.25 * random.standard_normal(); });
}

/// What is as the probe of the whole lesson has it becomes what that of the part has.
void take_probe_of_part(const Lesson& whole, const Lesson& part, Options& options) {
  const auto same_as_whole = [&](std::string_view key) {
    return !options.is_typed(key) && config_of(options, {key}) == config_of(whole.defaults, {key});
  };
  for (const auto key : whole.options)
    if (key != "through" && same_as_whole(key))
      restore(options, {key}, {}, config_of(part.probe->options, {key}));
  if (!options.has_texts()) options.sentence = part.probe->options.sentence;
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
  let_given_mask_decide(plan);
  auto inputs = inputs_of(plan);
  for (auto& [id, tensor] : inputs)
    if (attn::is_floating(tensor.dtype())) vary_untrained(id, tensor, plan.options.seed);
  if (part.probe->sharpen != nullptr) part.probe->sharpen(inputs, plan.options);
  for (auto& [id, tensor] : inputs) {
    if (!attn::is_floating(tensor.dtype())) continue;
    fill_padding(id, tensor, plan.options.seed);
    plan.given.insert_or_assign(id, attn::Given(tensor));
  }
  return plan;
}

attn::Tensors inputs_of(const Plan& plan) {
  attn::Tensors inputs;
  run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
    if (tapped.kind == attn::Kind::input)
      inputs.emplace(tapped.id, attn::AnyTensor({tapped.dtype, tapped.shape, tapped.elements}));
  });
  return inputs;
}

std::vector<attn::Prediction> steps_with(const attn::Hypothesis& mistakes, const Plan& plan) {
  const auto rerun = [&](const attn::Watch& watch) { run_watched(*plan.lesson, plan, watch); };
  return attn::Replay(rerun).predict(mistakes);
}

std::vector<attn::Prediction> steps_with_input(const std::string& id, const attn::AnyTensor& other,
                                               const Plan& plan) {
  const auto rerun = [&](const attn::Watch& watch) {
    run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
      if (tapped.kind == attn::Kind::input && tapped.id == id)
        std::copy_n(static_cast<const double*>(other.view().data), attn::element_count(tapped.shape),
                    static_cast<double*>(tapped.elements));
      watch(tapped);
    });
  };
  return attn::Replay(rerun).predict();
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
  const auto& wanted = part_of(*plan.lesson, plan.options.through).probe->results;
  std::vector<std::string> results;
  for (const auto& step : steps)
    if (std::find(wanted.begin(), wanted.end(), step.id) != wanted.end()) results.push_back(step.id);
  if (results.empty()) results.push_back(steps.back().id);
  return results;
}

}  // namespace lessons
