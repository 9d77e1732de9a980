#pragma once

#include <string>

#include "lab/arguments.hpp"

namespace CLI {
class App;
}

namespace lab {

/// What a comparison found.
struct DiffReport {
  std::string text;  ///< empty where there is nothing to say
  bool is_equal = true;
};

/// Compares two stored traces. Throws attn::Error where one cannot be read, or one is text and the other
/// data.
DiffReport compare_files(const DiffTraces& diff);

/// Runs the lesson and compares it with the trace that is expected of it: with text as text, in the way the
/// run would have been shown, and with data tensor by tensor. --steps restricts both. Claims that do not hold
/// are a difference. Throws attn::Error as a run and as `compare_files` do.
DiffReport compare_with_expected(const RunLesson& run);

/// --atol and --rtol.
void add_tolerance_options(CLI::App& app, Comparison& comparison, const std::string& group);

/// What follows `diff`, which `argv[0]` is.
Command parse_diff(int argc, char** argv);

}  // namespace lab
