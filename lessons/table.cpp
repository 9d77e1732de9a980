#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

#include "attn/budget.hpp"
#include "attn/error.hpp"
#include "attn/memory.hpp"
#include "lessons/cross_attention/trained.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead.hpp"
#include "lessons/sdpa.hpp"
#include "trace/diagnosis/listed.hpp"

namespace lessons {

extern const Lesson lookup, scoring, scaling, positional, seq2seq, transformer_block, classifier, generate,
    efficient, ring, stability, patterns, training, backward, complexity;

const std::vector<const Lesson*>& all_lessons() {
  static const std::vector<const Lesson*> table = {
      &lookup,
      &scoring,
      &scaling,
      &sdpa_lesson(),
      &self_attention_lesson(),
      &cross_attention_lesson(),
      &masking_lesson(),
      &multihead_lesson(),
      &positional,
      &seq2seq,
      &transformer_block,
      &classifier,
      &generate,
      &efficient,
      &ring,
      &stability,
      &patterns,
      &training,
      &backward,
      &complexity,
  };
  return table;
}

bool Lesson::uses(std::string_view option_key) const {
  return std::find(options.begin(), options.end(), option_key) != options.end();
}

const Lesson& part_of(const Lesson& lesson, std::string_view through) {
  if (lesson.parts.empty()) return lesson;
  std::vector<std::string_view> valid;
  for (const auto* part : lesson.parts) {
    if (part->through == through) return *part;
    valid.push_back(part->through);
  }
  throw attn::Error(fmt::format("--through {} is unknown; valid: {}", through, fmt::join(valid, ", ")));
}

namespace {

/// Products of several such numbers, as a lesson multiplies them, are finite.
constexpr double largest_factor = 1e30;

std::set<std::string> inputs_of_any_size(const Lesson& lesson, const Options& options) {
  std::set<std::string> ids;
  for (const auto& input : lesson.inputs(options))
    if (!input.is_multiplied) ids.insert(input.id);
  return ids;
}

std::vector<std::string> inputs_that_may_be_given(const Lesson& lesson, const Options& options) {
  std::vector<std::string> ids;
  for (const auto& input : lesson.inputs(options))
    if (input.draw == Draw::given) ids.push_back(input.id);
  return ids;
}

attn::TraceOptions trace_options(const Lesson& lesson, const Plan& plan, const attn::Watch& watch) {
  return {.batched = plan.is_batched(),
          .dtype = plan.dtype(),
          .given = &plan.given,
          .largest_given = largest_factor,
          .given_of_any_size = inputs_of_any_size(lesson, plan.options),
          .watch = watch};
}

void run_on(const Lesson& lesson, const Plan& plan, attn::Trace& trace) {
  attn::set_memory_budget(static_cast<std::size_t>(attn::free_memory()));
  try {
    Workbench bench(plan, trace);
    lesson.run(bench);
  } catch (const attn::OutOfBudget& refused) {
    throw attn::Error(
        fmt::format("the step after {} needs {}, this machine has {} left; valid: smaller dimensions, "
                    "shorter sentences or fewer samples",
                    trace.last_id(), attn::in_bytes(static_cast<double>(refused.bytes)),
                    attn::in_bytes(attn::free_memory())));
  }
}

}  // namespace

bool run(const Lesson& lesson, const Plan& plan, attn::Sink& sink, const attn::Watch& watch) {
  attn::Trace trace(sink, trace_options(lesson, plan, watch));
  run_on(lesson, plan, trace);
  if (!plan.remarks.empty())
    trace.note("names", "Names in --input",
               fmt::format("{}", fmt::join(attn::in_few_lines(plan.remarks), " ")));
  trace.require_all_given_used(inputs_that_may_be_given(lesson, plan.options));
  trace.tell_overflow();
  return trace.all_claims_hold();
}

void run_watched(const Lesson& lesson, const Plan& plan, const attn::Watch& watch) {
  attn::Trace trace(trace_options(lesson, plan, watch));
  run_on(lesson, plan, trace);
}

}  // namespace lessons
