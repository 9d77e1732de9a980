#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lessons/lesson.hpp"

namespace lab {

enum class Format { text, json, svg };
enum class Color { automatic, always, never };

/// How and where the trace of a run is shown.
struct Presentation {
  std::optional<Format> format;       ///< where not given it follows the ending of `output`
  std::optional<std::string> output;  ///< a file; standard output where not given
  std::vector<std::string> steps;     ///< only these, where there are any
  bool shapes = false;                ///< shapes only
  int precision = 4;
  bool full = false;
  Color color = Color::automatic;
};

struct RunLesson {
  const lessons::Lesson* lesson;
  lessons::Options options;
  Presentation presentation;
};

struct ListLessons {};

/// All lessons in order; of the options only the sentence, the target, the seed and the dtype are the tour's.
struct TakeTour {
  lessons::Options options;
  Presentation presentation;
};

/// The help or the version that was asked for.
struct PrintText {
  std::string text;
};

using Command = std::variant<RunLesson, ListLessons, TakeTour, PrintText>;

/// What the arguments ask for. Decides only, runs nothing. Throws attn::Error for bad usage.
Command parse(int argc, char** argv);

}  // namespace lab
