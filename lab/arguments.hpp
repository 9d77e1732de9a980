#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lab/author/author.hpp"
#include "lab/bench/bench.hpp"
#include "lab/book/book.hpp"
#include "lab/check/check.hpp"
#include "lab/command_help.hpp"
#include "lab/manual/manual.hpp"
#include "lab/pager.hpp"
#include "lab/train/train.hpp"
#include "lab/worksheet/worksheet.hpp"
#include "lessons/lesson.hpp"
#include "page/svg/svg.hpp"

namespace lab {

enum class Format { text, json, npz, safetensors, svg, png, pdf, html, python, cpp };
enum class Color { automatic, always, never };

/// How and where the trace of a run is shown.
struct Presentation {
  std::optional<Format> format;       ///< where not given it follows the ending of `output`
  std::optional<std::string> output;  ///< a file; standard output where not given
  std::vector<std::string> steps;     ///< only these, where there are any
  std::vector<std::string> explain;   ///< entries to work out in place of the page: "weights[sat, cat]"
  bool shapes = false;                ///< shapes only
  int precision = 4;
  bool full = false;
  bool all = false;
  bool brief = false;  ///< HTML without what is folded at its end
  bool plain = false;
  std::optional<std::size_t> width;  ///< columns of text; where not given it follows the terminal
  Color color = Color::automatic;
  Paging paging = Paging::automatic;
  attn::PictureStyle picture{};
  std::vector<std::string> of_pictures{};  ///< the flags that decide it, as they were typed
};

/// What counts as a difference between two traces, and how it is shown.
struct Comparison {
  std::optional<double> absolute;  ///< tolerance; where not given it follows from the element types
  std::optional<double> relative;
  bool all = false;              ///< what agrees is listed too
  bool only_common = false;      ///< what only one trace has is left out
  bool ignores_config = false;   ///< options and words are left out
  attn::Renames renames;         ///< ids that count as others
  Format format = Format::text;  ///< or json
};

struct DiffTraces {
  std::string a, b;  ///< files
  Comparison comparison;
  bool is_quiet = false;  ///< nothing is printed, the exit status tells
  Paging paging = Paging::automatic;
};

struct RunLesson {
  const lessons::Lesson* lesson;
  lessons::Options options;
  Presentation presentation;
  std::optional<std::string> expected{};  ///< a stored trace to compare the run with, instead of showing it
  Comparison comparison{};
  bool is_quiet = false;  ///< of a comparison: nothing is printed, the exit status tells
};

struct ListLessons {};

/// The lessons in order; of the options only the sentence, the target, the seed, how numbers are drawn and
/// the dtype are the tour's.
struct TakeTour {
  std::size_t first = 0;  ///< index of the lesson to start with
  lessons::Options options;
  Presentation presentation;
};

/// The help or the version that was asked for.
struct PrintText {
  std::string text;
  std::optional<CommandHelp> help{};  ///< of a command with options: the same in its parts
};

using Command = std::variant<RunLesson, RunBench, RunTraining, DiffTraces, CheckDump, MakeProbe, BreakLesson,
                             ListMistakes, MakeWorksheet, ListLessons, TakeTour, NewLesson, CheckLesson,
                             MakeBook, PrintManual, PrintText>;

/// What the arguments ask for. Decides only, runs nothing. Throws attn::Error for bad usage.
Command parse(int argc, char** argv);

/// What follows `run`: a document, and the options of its lesson.
Command parse_own_lesson(int argc, char** argv);

/// What follows `lesson`: `new NAME` or `check FILE`.
Command parse_author(int argc, char** argv);

/// What follows `bench`, which `argv[0]` is.
Command parse_bench(int argc, char** argv);

/// What follows `book`, which `argv[0]` is.
Command parse_book(int argc, char** argv);

/// What follows `manual` and `completions`, which `argv[0]` is.
Command parse_manual(int argc, char** argv);
Command parse_completions(int argc, char** argv);

/// What follows `train`, which `argv[0]` is.
Command parse_train(int argc, char** argv);

}  // namespace lab
