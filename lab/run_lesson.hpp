#pragma once

#include <functional>
#include <string>

#include "lab/arguments.hpp"
#include "trace/event.hpp"

namespace lab {

/// What a run printed, in the format that was asked for.
struct Page {
  std::string text;
  bool all_claims_hold = true;
};

/// Throws attn::Error for bad input.
Page run_lesson(const RunLesson& run);

/// What stands in the body of the lesson's page of HTML, but for its script.
std::string run_lesson_body(const RunLesson& run);

/// Runs the lesson and sends what --steps and --shapes leave of its trace to the sink that `sink_for` has for
/// a trace with that header. Returns whether every claim held. Throws attn::Error for bad input.
bool run_lesson_into(const RunLesson& run, const std::function<attn::Sink&(const attn::Header&)>& sink_for);

}  // namespace lab
