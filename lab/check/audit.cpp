#include "lab/check/audit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "lab/check/own_inputs.hpp"
#include "lessons/workbench/probe.hpp"
#include "trace/csv.hpp"
#include "trace/diagnosis/catalogue.hpp"

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
  if (!options.input) return lessons::plan_of_probe(lesson, options);
  const auto path = *std::exchange(options.input, std::nullopt);
  const auto file = attn::has_csv_files(path) ? attn::open_csv_folder(path) : attn::open_trace(path);
  if (options.typed.count("kv-heads") == 0) options.kv_heads.reset();  // as many as there are heads
  auto own = own_inputs(lesson, options, *file, attn::MaskTrue::by_name);
  if (own.tensors.empty())
    throw attn::Error(fmt::format("--input {} holds no input of {}{}; valid: {}", path, lesson.name,
                                  tensors_in(*file, own.other_names),
                                  lessons::describe_inputs(lesson, options)));
  assumptions = std::move(own.names);
  assumptions.insert(assumptions.end(), own.assumptions.begin(), own.assumptions.end());
  return lessons::plan_of_probe(lesson, options,
                                attn::TensorsAsTrace(file->header(), std::move(own.tensors)));
}

/// The mistakes that can be made on this plan, and whether the results show each.
std::map<std::string, bool> exposed_mistakes(const lessons::Plan& plan) {
  const auto right = lessons::steps_with({}, plan);
  const auto results = lessons::results_of(plan, right);
  std::map<std::string, bool> exposed;
  for (const auto& id : lessons::mistakes_of(plan)) {
    if (attn::is_convention(id)) continue;
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

}  // namespace

std::string audit(const Lesson& lesson, const Options& options) {
  std::vector<std::string> assumptions;
  const auto plan = plan_for(lesson, options, assumptions);
  const auto own = exposed_mistakes(plan);
  auto all = own;
  for (const auto& [id, is_exposed] : exposed_mistakes(lessons::plan_of_probe(lesson, lesson.defaults)))
    if (is_exposed) all[id] = true;
  const auto hidden = hidden_of(own, all);
  auto text = fmt::format("audit {}: the output on these dimensions hides {} of {} mistakes\n", lesson.name,
                          hidden.size(), all.size());
  for (const auto& assumption : assumptions) text += attn::paragraph(assumption, width, 2);
  std::map<std::string, std::string> exposed_by;
  for (const auto& change : changes_for(lesson, plan.options)) {
    auto changed = plan.options;
    changed.input.reset();
    change.make(changed);
    std::map<std::string, bool> then;
    try {
      then = exposed_mistakes(lessons::plan_of_probe(lesson, changed));
    } catch (const attn::Error&) {
      continue;
    }
    for (const auto& id : hidden)
      if (then.count(id) > 0 && then.at(id)) exposed_by.emplace(id, change.words);
  }
  std::size_t widest = 0;
  for (const auto& id : hidden) widest = std::max(widest, id.size());
  if (!hidden.empty()) text += '\n';
  for (const auto& id : hidden) {
    const auto found = exposed_by.find(id);
    text += fmt::format("  {}  {}\n", attn::pad_right(id, widest),
                        found == exposed_by.end() ? "the dimensions of attnlab probe expose it"
                                                  : "exposed by " + found->second);
  }
  return text;
}

}  // namespace lab
