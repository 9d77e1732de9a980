#include "lab/check/audit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "lessons/workbench/own_inputs.hpp"
#include "lessons/workbench/probe.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/layout.hpp"

namespace lab {

namespace {

using lessons::Lesson;
using lessons::Options;

constexpr std::size_t width = 80;

/// A change of the options that may expose a mistake.
struct Change {
  std::string words;
  std::function<void(Options&)> make;
};

/// The smallest ones first.
std::vector<Change> changes_for(const Lesson& lesson, const Options& options) {
  std::vector<Change> changes;
  const auto is_pair = !options.source.empty();
  auto& own = is_pair ? options.source : options.sentence;
  const auto tokens = attn::tokenize(own.empty() ? lesson.defaults.sentence : own).length();
  const auto longer = [is_pair, tokens](Options& o) {
    auto& texts = is_pair ? o.source : o.sentence;
    if (texts.empty()) texts = {""};
    texts.front().clear();
    for (std::size_t i = 0; i <= tokens; ++i) texts.front() += fmt::format("{} ", i);
  };
  changes.push_back({fmt::format("{} tokens", tokens + 1), longer});
  if (lesson.takes_batches)
    changes.push_back(
        {"a batch of two with unequal lengths", [is_pair](Options& o) {
           for (auto* texts : is_pair ? std::vector{&o.source, &o.target} : std::vector{&o.sentence}) {
             const auto first = texts->empty() ? std::string("0 1 2 3") : texts->front();
             *texts = {first, "x y"};
           }
         }});
  if (lesson.uses("causal") && !options.causal)
    changes.push_back({"--causal", [](Options& o) { o.causal = true; }});
  if (lesson.uses("heads") && options.heads) {
    const auto heads = *options.heads;
    changes.push_back({fmt::format("{} heads", heads + 1), [heads](Options& o) {
                         o.heads = heads + 1;
                         if (o.kv_heads && (heads + 1) % *o.kv_heads != 0) o.kv_heads = heads + 1;
                       }});
    if (lesson.uses("kv-heads"))
      changes.push_back({"4 heads with 2 key and value heads", [](Options& o) {
                           o.heads = 4;
                           o.kv_heads = 2;
                         }});
  }
  if (lesson.uses("d-k") && options.d_k)
    changes.push_back({fmt::format("d_k = {}", *options.d_k + 1), [](Options& o) { ++*o.d_k; }});
  if (lesson.uses("d-model") && options.d_model)
    changes.push_back({fmt::format("d_model = {}", *options.d_model + 1), [](Options& o) { ++*o.d_model; }});
  if (lesson.uses("window") && !options.window)
    changes.push_back({"--window 1", [](Options& o) { o.window = 1; }});
  return changes;
}

bool differs(const attn::Prediction& wrong, const attn::Prediction& right) {
  if (wrong.expected_shape != right.expected_shape) return true;
  for (std::size_t i = 0; i < right.expected.size(); ++i)
    if (!(std::abs(wrong.expected[i] - right.expected[i]) <= 1e-9 * (1.0 + std::abs(right.expected[i]))))
      return true;
  return false;
}

/// Whether the results, or a shape on the way to them, show that the steps are not the right ones.
bool shows(const std::vector<attn::Prediction>& wrong, const std::vector<attn::Prediction>& right,
           const std::vector<std::string>& results) {
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (wrong[i].expected_shape != right[i].expected_shape) return true;
    if (std::find(results.begin(), results.end(), right[i].id) != results.end() &&
        differs(wrong[i], right[i]))
      return true;
  }
  return false;
}

/// The lesson on the inputs of somebody's file, under whatever names it has them, or on those of a probe.
lessons::Plan plan_for(const Lesson& lesson, Options options, std::vector<std::string>& assumptions) {
  if (options.input.empty()) return lessons::plan_of_probe(lesson, options);
  if (options.typed.count("kv-heads") == 0) options.kv_heads.reset();  // as many as there are heads
  auto given = lessons::open_inputs(lesson, options);
  assumptions = std::move(given.remarks);
  return lessons::plan_of_probe(lesson, options, *given.tensors);
}

/// The mistakes that can be made on this plan, and whether the results show each.
std::map<std::string, bool> exposed_mistakes(const lessons::Plan& plan) {
  const auto right = lessons::steps_with({}, plan);
  const auto results = lessons::results_of(plan, right);
  std::map<std::string, bool> exposed;
  for (const auto& id : lessons::mistakes_of(plan)) {
    if (const auto* known = attn::find_mistake(id);
        known != nullptr && known->is_convention() && known->stated.empty())
      continue;
    auto& is_exposed = exposed[attn::id_without_variant(id)];
    is_exposed = is_exposed || shows(lessons::steps_with({id}, plan), right, results);
  }
  return exposed;
}

std::vector<std::string> hidden_of(const std::map<std::string, bool>& exposed,
                                   const std::map<std::string, bool>& all) {
  std::vector<std::string> hidden;
  for (const auto& [id, is_exposed] : all) {
    const auto found = exposed.find(id);
    if (found == exposed.end() || !found->second) hidden.push_back(id);
  }
  return hidden;
}

/// What no dimensions show, and why.
const std::map<std::string_view, std::string_view>& shown_by_none() {
  static const std::map<std::string_view, std::string_view> all = {
      {"mask-sum-overflow", "only rows that see no key differ, and what these hold is open"}};
  return all;
}

/// What is known of hidden mistakes: that none can show it, or the smallest change of the options that does.
std::map<std::string, std::string> exposures(const Lesson& lesson, const Options& options,
                                             const std::vector<std::string>& hidden) {
  std::map<std::string, std::string> exposed_by;
  for (const auto& id : hidden)
    if (const auto found = shown_by_none().find(id); found != shown_by_none().end())
      exposed_by.emplace(id, fmt::format("no dimensions show it: {}", found->second));
  for (const auto& change : changes_for(lesson, options)) {
    if (exposed_by.size() == hidden.size()) break;
    auto changed = options;
    changed.input.clear();
    change.make(changed);
    std::map<std::string, bool> then;
    try {
      then = exposed_mistakes(lessons::plan_of_probe(lesson, changed));
    } catch (const attn::Error&) {
      continue;
    }
    for (const auto& id : hidden)
      if (then.count(id) > 0 && then.at(id)) exposed_by.emplace(id, "exposed by " + change.words);
  }
  return exposed_by;
}

/// The inputs that a program could read in the place of another without a result that shows it, and why.
std::map<std::string, std::string> confusable_inputs(const lessons::Plan& plan) {
  const auto right = lessons::steps_with({}, plan);
  const auto results = lessons::results_of(plan, right);
  const auto inputs = lessons::inputs_of(plan);
  const auto is_shown = [&](const std::string& id, const attn::AnyTensor& other) {
    return shows(lessons::steps_with_input(id, other, plan), right, results);
  };
  std::map<std::string, std::string> confusable;
  for (const auto& [id, tensor] : inputs)
    for (const auto& [other, numbers] : inputs) {
      if (id == other || !attn::is_floating(tensor.dtype()) || !attn::is_floating(numbers.dtype()) ||
          tensor.shape() != numbers.shape() || is_shown(id, numbers))
        continue;
      auto moved = tensor;
      for (std::size_t i = 0; i < attn::element_count(moved.shape()); ++i)
        moved.elements<double>()[i] += std::cos(static_cast<double>(i));
      confusable.emplace(fmt::format("{} for {}", other, id),
                         attn::are_identical(tensor, numbers) ? "they are equal"
                         : is_shown(id, moved)                ? "the output is the same"
                                               : fmt::format("no result is computed from {}", id));
    }
  return confusable;
}

/// A line each: what is hidden, and what is said of it.
std::string table(const std::map<std::string, std::string>& lines) {
  std::size_t widest = 0;
  for (const auto& [id, words] : lines) widest = std::max(widest, attn::display_width(id));
  std::string text = lines.empty() ? "" : "\n";
  for (const auto& [id, words] : lines) text += fmt::format("  {}  {}\n", attn::pad_right(id, widest), words);
  return text;
}

}  // namespace

std::string audit(const Lesson& lesson, const Options& options) {
  std::vector<std::string> assumptions;
  const auto plan = plan_for(lesson, options, assumptions);
  const auto own = exposed_mistakes(plan);
  auto all = own;
  auto usual = lesson.defaults;
  if (!lesson.parts.empty()) {
    usual.sentence.clear();
    usual.through = plan.options.through;
  }
  const auto of_usual = exposed_mistakes(lessons::plan_of_probe(lesson, usual));
  for (const auto& [id, is_exposed] : of_usual)
    if (is_exposed) all[id] = true;
  const auto hidden = hidden_of(own, all);
  auto text = fmt::format("audit {}: the output on these dimensions hides {} of {} mistakes\n", lesson.name,
                          hidden.size(), all.size());
  for (const auto& remark : attn::in_few_lines(assumptions)) text += attn::paragraph(remark, width, 2);
  auto lines = exposures(lesson, plan.options, hidden);
  for (const auto& id : hidden) {
    const auto found = of_usual.find(id);
    lines.emplace(id, found != of_usual.end() && found->second
                          ? "the dimensions of attnlab probe expose it"
                          : "neither the dimensions of attnlab probe nor small changes of these expose it");
  }
  text += table(lines);
  const auto confusable = confusable_inputs(plan);
  if (!confusable.empty()) text += "\nInputs that could stand for each other unnoticed\n" + table(confusable);
  return text;
}

}  // namespace lab
