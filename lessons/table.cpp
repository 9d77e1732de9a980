#include <algorithm>

#include "lessons/lesson.hpp"

namespace lessons {

extern const Lesson lookup, scoring, scaling, sdpa, self_attention, cross_attention, masking, multihead,
    positional, seq2seq, transformer_block, classifier, generate, efficient, stability, patterns, training,
    backward, complexity;

const std::vector<const Lesson*>& all_lessons() {
  static const std::vector<const Lesson*> table = {
      &lookup,     &scoring,   &scaling,    &sdpa,     &self_attention,    &cross_attention,
      &masking,    &multihead, &positional, &seq2seq,  &transformer_block, &classifier,
      &generate,   &efficient, &stability,  &patterns, &training,          &backward,
      &complexity,
  };
  return table;
}

bool Lesson::uses(std::string_view option_key) const {
  return std::find(options.begin(), options.end(), option_key) != options.end();
}

bool run(const Lesson& lesson, const Plan& plan, attn::Sink& sink) {
  attn::Trace trace(sink, {.batched = plan.is_batched(), .dtype = plan.dtype(), .given = &plan.given});
  Workbench bench(plan, trace);
  lesson.run(bench);
  trace.require_all_given_used();
  return trace.all_claims_hold();
}

}  // namespace lessons
