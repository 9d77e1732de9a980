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
  attn::Trace trace(sink, plan.is_batched(), &plan.given);
  if (plan.options.dtype == "float32") {
    Workbench<float> bench(plan, trace);
    lesson.run_float32(bench);
  } else {
    Workbench<double> bench(plan, trace);
    lesson.run_float64(bench);
  }
  trace.require_all_given_used();
  return trace.all_claims_hold();
}

}  // namespace lessons
