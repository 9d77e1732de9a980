#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lab/bench/bench.hpp"
#include "lab/check/check.hpp"
#include "lab/output.hpp"
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
  std::string of_picture{};  ///< a flag that decides it, where one was typed
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

/// The lessons in order; of the options only the sentence, the target, the seed, how numbers are drawn and
/// the dtype are the tour's.
struct TakeTour {
  std::size_t first = 0;  ///< index of the lesson to start with
  lessons::Options options;
  Presentation presentation;
};

/// `lesson new NAME`: writes NAME.md.
struct NewLesson {
  std::string file;
  std::string from{};  ///< the lesson of the lab that it is a copy of; empty: the smallest lesson
};

/// `lesson check FILE`.
struct CheckLesson {
  std::string file;
  Paging paging = Paging::automatic;
};

/// The whole curriculum as one page of HTML that runs the lab in the browser.
struct MakeBook {
  std::string output;
  std::optional<std::string> program{};  ///< the folder that lab/browser/build has made
};

/// An option, or an argument without one, as its line in the help tells it.
struct OptionHelp {
  std::vector<std::string> names;  ///< "-o", "--output"; of an argument "DUMP"
  std::string value;               ///< "FILE", "text|json"; empty where the option takes none
  std::string text;
  std::string group;  ///< the heading that it stands under; empty of an argument
};

/// What the help of a command says, in its parts. The manual and the completions of shells are made of it.
struct CommandHelp {
  std::string description;  ///< "check: the first wrong step of …", then paragraphs
  std::vector<OptionHelp> options;
  std::string examples;  ///< "Examples:" and a line for each
};

/// The help or the version that was asked for.
struct PrintText {
  std::string text;
  std::optional<CommandHelp> help{};  ///< of a command with options: the same in its parts
};

using Command =
    std::variant<RunLesson, RunBench, RunTraining, DiffTraces, CheckDump, MakeProbe, BreakLesson,
                 ListMistakes, MakeWorksheet, TakeTour, NewLesson, CheckLesson, MakeBook, PrintText>;

/// What the arguments ask for. Decides only, runs nothing. Throws attn::Error for bad usage.
Command parse(int argc, char** argv);

/// The same of the words of a command, of which the first is the name of the program.
Command parse(std::vector<std::string> words);

/// A command, as the general help lists it, and what reads what follows `attnlab`, which `argv[0]` is then.
struct CommandLine {
  std::string_view name;
  std::string_view arguments;  ///< that follow the name: "LESSON DUMP"
  std::string_view summary;
  Command (*parse)(int argc, char** argv);
};

/// All commands but the lessons.
const std::vector<CommandLine>& command_lines();

/// What follows the name of a lesson, which `argv[0]` is.
Command parse_lesson(const lessons::Lesson& lesson, int argc, char** argv);

Command parse_tour(int argc, char** argv);
Command parse_book(int argc, char** argv);
Command parse_own_lesson(int argc, char** argv);
Command parse_author(int argc, char** argv);
Command parse_worksheet(int argc, char** argv);
Command parse_bench(int argc, char** argv);
Command parse_train(int argc, char** argv);
Command parse_manual(int argc, char** argv);
Command parse_completions(int argc, char** argv);

/// Shows the contents, then the lessons in order. Where both standard input and output are a terminal, shows
/// each page as `show` does and waits for a key before the next: `q`, Ctrl-C and Ctrl-D end the tour, any
/// other goes on. Returns whether every claim held.
bool take_tour(const TakeTour& tour);

/// Writes a document that runs, for its author to change. Throws attn::Error where the file is there already.
void write_new_lesson(const NewLesson& lesson);

/// Prints what is wrong with a document, with lines and columns: names that nothing has, whatever its
/// conditions leave out; what its runs refuse, claims that do not hold, and a page that is too long. Its runs
/// are those of its defaults, of its examples and of its probe. Returns whether nothing is.
bool check_lesson(const CheckLesson& lesson);

/// Writes a document with every lesson's page, the exercises, the glossary, and the program as WebAssembly
/// where there is one; where there is none it says so on stderr. Throws attn::Error where that cannot be
/// done, and where the folder of `program` does not hold it.
void run_book(const MakeBook& make);

/// The lessons that `check`, `probe` and `break` know.
std::vector<const lessons::Lesson*> lessons_with_probe();

/// What a run printed, in the format that was asked for.
struct Page {
  std::string text;
  bool all_claims_hold = true;
};

/// A format, its name, and how its files end.
struct FormatRow {
  Format format;
  std::string name, ending;
};

/// All formats, in their order.
const std::vector<FormatRow>& formats();

/// Throws attn::Error for bad input.
Page run_lesson(const RunLesson& run);

/// What stands in the body of the lesson's page of HTML, but for its script.
std::string run_lesson_body(const RunLesson& run);

/// Runs the lesson and sends what --steps and --shapes leave of its trace to the sink that `sink_for` has for
/// a trace with that header. Returns whether every claim held. Throws attn::Error for bad input.
bool run_lesson_into(const RunLesson& run, const std::function<attn::Sink&(const attn::Header&)>& sink_for);

}  // namespace lab
