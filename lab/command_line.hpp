#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"
#include "lab/bench/bench.hpp"
#include "lab/output.hpp"
#include "lab/train/train.hpp"
#include "lab/worksheet/worksheet.hpp"
#include "lessons/lesson.hpp"
#include "page/builder.hpp"
#include "page/svg/svg.hpp"
#include "trace/diff/diff.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

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
  attn::PageStyle style{};
  std::optional<std::size_t> width;  ///< columns of text; where not given it follows the terminal
  Color color = Color::automatic;
  Paging paging = Paging::automatic;
  attn::PictureStyle picture{};
  std::string of_picture{};  ///< a flag that decides it, where one was typed
};

/// What counts as a difference between two traces, and how it is shown.
struct Comparison : attn::DiffSettings {
  bool all = false;              ///< what agrees is listed too
  Format format = Format::text;  ///< or json
};

struct RunLesson {
  const lessons::Lesson* lesson;
  lessons::Options options;
  Presentation presentation;
  std::optional<std::string> expected{};  ///< a stored trace to compare the run with, instead of showing it
  Comparison comparison{};
  bool is_quiet = false;  ///< of a comparison: nothing is printed, the exit status tells
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

/// What others ask about as well has a type of its own; else it is what to do, which returns the exit status.
using Command = std::variant<RunLesson, MakeWorksheet, PrintText, std::function<int()>>;

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

Command parse_diff(int argc, char** argv);
Command parse_check(int argc, char** argv);
Command parse_probe(int argc, char** argv);
Command parse_break(int argc, char** argv);
Command parse_book(int argc, char** argv);
Command parse_own_lesson(int argc, char** argv);
Command parse_author(int argc, char** argv);
Command parse_worksheet(int argc, char** argv);
Command parse_bench(int argc, char** argv);
Command parse_train(int argc, char** argv);
Command parse_manual(int argc, char** argv);
Command parse_completions(int argc, char** argv);

/// Shows the contents, then the lessons in order, from the one at the index `first` on; of the options of
/// `tour` only the sentence, the target, the seed, how numbers are drawn and the dtype are theirs. Where both
/// standard input and output are a terminal, shows each page as `show` does and waits for a key before the
/// next: `q`, Ctrl-C and Ctrl-D end the tour, any other goes on. Returns whether every claim held.
bool take_tour(const RunLesson& tour, std::size_t first);

/// Runs the lesson and compares it with the trace that is expected of it: with text as text, in the way the
/// run would have been shown, and with data tensor by tensor. --steps restricts both. Claims that do not hold
/// are a difference. Shows what differs, and returns the exit status of `diff`. Throws attn::Error as a run
/// does, and where the trace cannot be read.
int compare_with_expected(const RunLesson& run);

/// What a run printed, in the format that was asked for.
struct Page {
  std::string text;
  bool all_claims_hold = true;
};

/// Words that stand for something, in their order.
template <class Meaning>
using Choices = std::vector<std::pair<std::string, Meaning>>;

/// All formats by their names.
const Choices<Format>& formats();

/// Throws attn::Error for bad input.
Page run_lesson(const RunLesson& run);

/// What stands in the body of the lesson's page of HTML, but for its script.
std::string run_lesson_body(const RunLesson& run);

/// Runs the lesson and sends what --steps and --shapes leave of its trace to the sink that `sink_for` has for
/// a trace with that header. Returns whether every claim held. Throws attn::Error for bad input.
bool run_lesson_into(const RunLesson& run, const std::function<attn::Sink&(const attn::Header&)>& sink_for);

/// Whether an option may be given once, with a value, or any number of times, with texts that may be empty.
enum class Values { one, list };

/// The heading above the options that decide what a lesson computes.
inline constexpr const char* what_is_computed = "What is computed";

/// Whether an argument asks for help.
inline bool is_help(std::string_view argument) {
  return argument == "--help" || argument == "-h";
}

/// A text of help.txt by its heading, as it stands there.
std::string_view help_text(std::string_view heading);

/// The entries of a text, each with its lines joined: one begins with one of these marks or, where there are
/// none, behind an empty line.
std::vector<std::string> entries_of(std::string_view text, std::string_view marks = "");

/// The text there on a command, in lines as wide as the help.
std::string about_command(std::string_view command);

/// The text in lines as wide as the help.
std::string help_paragraph(std::string_view text);

/// How the value of an option is called beside its flag: its alternatives, unless they are too many for that.
std::string_view value_name(std::string_view value);

/// The words of "strided|fixed|random|FILE" that may be typed as they are.
std::vector<std::string> choices_of(std::string_view value);

/// "Examples:" and a line for each, given without the program's name.
std::string help_examples(const std::vector<std::string_view>& examples);

/// The same of the lines that help.txt has for a command.
std::string examples_of(std::string_view command);

/// Lays the help out; arguments that belong to no option are left for `refuse_extra`.
void prepare(CLI::App& app, const std::string& footer);

/// --no-pager.
CLI::Option* add_paging_option(CLI::App& app, Paging& paging);

/// Gives the arguments to the options of `app`. Returns the help where that is asked for.
std::optional<PrintText> read_arguments(CLI::App& app, std::string_view command, int argc, char** argv);

/// The same with --help under a heading. Refuses the first argument that belongs to no option, where there is
/// one: `valid` is what would be; its help where it is empty.
std::optional<PrintText> read_all_arguments(CLI::App& app, std::string_view command, int argc, char** argv,
                                            const std::string& heading = "Options",
                                            std::string_view valid = "");

/// What a name that is no lesson's may have been meant to be, among those that would be valid: "did you mean
/// multihead? valid: …" of mha.
std::string valid_instead_of_lesson(std::string_view name, const std::vector<std::string>& valid);

/// The lessons that the command knows: `worksheet` those on paper, `check` these and those that have a probe,
/// all others the latter.
std::vector<const lessons::Lesson*> lessons_of(std::string_view command);
std::vector<std::string> names_of(const std::vector<const lessons::Lesson*>& lessons);

/// One of these, which the first argument names; of `worksheet` any.
const lessons::Lesson& lesson_asked_for(std::string_view command, int argc, char** argv);

[[noreturn]] void refuse_option(const CLI::App& app, std::string_view command, const std::string& name);
[[noreturn]] void refuse_choice(std::string_view flag, std::string_view text,
                                const std::vector<std::string>& valid);

template <class Choice>
Choice parse_choice(std::string_view flag, const std::string& text, const Choices<Choice>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) {
    if (name == text) return choice;
    names.push_back(name);
  }
  refuse_choice(flag, text, names);
}

/// A whole number from `smallest` to `largest`.
int parse_whole(std::string_view flag, const std::string& text, int smallest, int largest);

template <class Field>
struct ValueOf {
  using type = Field;
};
template <class Value>
struct ValueOf<std::optional<Value>> {
  using type = Value;
};

/// Adds options under one heading. What an option takes and its help stand in help.txt under "options of
/// WHAT", or are given. --output is -o, too; a long value ("dot|scaled_dot|…") is called NAME beside the
/// flag.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, const char* heading, std::string_view what = "")
      : app_(app),
        heading_(heading),
        texts_(what.empty() ? std::vector<std::string>()
                            : entries_of(help_text(fmt::format("options of {}", what)), "-")) {}

  /// Every value is given to `assign_text` as it was typed.
  void add(std::string_view flag, std::string_view value, std::string_view help,
           std::function<void(const std::string&)> assign_text, Values values = Values::one) const;
  void add(std::string_view flag, std::function<void(const std::string&)> assign_text,
           Values values = Values::one) const {
    const auto [value, help] = texts_of(flag);
    add(flag, value, help, std::move(assign_text), values);
  }

  /// A flag, or one whose value is a text, or one of a list of texts.
  template <class Field>
  void add(std::string_view flag, Field& field) const {
    if constexpr (std::is_same_v<Field, bool>)
      add_flag(flag, texts_of(flag).second, [&field] { field = true; });
    else if constexpr (lessons::is_list<Field>)
      add(
          flag, [&field](const std::string& text) { field.push_back(text); }, Values::list);
    else
      add(flag, [&field](const std::string& text) { field = text; });
  }

  /// Its value is a whole number.
  template <class Field>
  void add_whole(std::string_view flag, Field& field, int smallest, int largest) const {
    add(flag, [flag, &field, smallest, largest](const std::string& text) {
      field = static_cast<typename ValueOf<Field>::type>(parse_whole(flag, text, smallest, largest));
    });
  }

  void add_flag(std::string_view flag, std::string_view help, std::function<void()> set) const;

  /// Its value is one of these words.
  template <class Field>
  void add_choice(std::string_view flag, Field& field,
                  const Choices<typename ValueOf<Field>::type>& choices) const {
    std::vector<std::string> names;
    for (const auto& [name, choice] : choices) names.push_back(name);
    add(flag, fmt::format("{}", fmt::join(names, "|")), texts_of(flag).second,
        [flag, &field, choices](const std::string& text) { field = parse_choice(flag, text, choices); });
  }

 private:
  /// The value and the help of "--flag VALUE: help".
  std::pair<std::string, std::string> texts_of(std::string_view flag) const;

  CLI::App& app_;
  const char* heading_;
  std::vector<std::string> texts_;
};

/// Adds the options of the lesson; parsing fills `options`, which starts as the lesson's defaults.
void add_lesson_options(CLI::App& app, const lessons::Lesson& lesson, lessons::Options& options);

/// Adds the options that say what counts as a difference: --atol, --only-common and so on.
void add_tolerance_options(CLI::App& app, Comparison& comparison, const char* heading);

/// A finite number, 0 or more.
double parse_tolerance(std::string_view flag, const std::string& text);

/// The same above 0.
double parse_positive(std::string_view flag, const std::string& text);

/// Adds --rename, of which each is "attn=weights": a name, and the id that it counts as.
void add_renames_option(const OptionGroup& group, attn::Renames& renames);

/// How the text of an option becomes its field: lists grow, by one text and by the numbers between commas.
void assign(const lessons::OptionInfo& info, double& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::uint32_t& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::size_t& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::string& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::vector<std::string>& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::vector<std::size_t>& field, const std::string& text);
template <class Value>
void assign(const lessons::OptionInfo& info, std::optional<Value>& field, const std::string& text) {
  assign(info, field.emplace(), text);
}

using lessons::text_of;

/// The format that is asked for, or else the one of the ending of --output: text ends in .txt, python in .py,
/// and others as they are called. The first where there is no ending, or no output.
template <class Format>
Format format_asked_for(const std::optional<Format>& asked, const std::optional<std::string>& output,
                        const Choices<Format>& formats) {
  const auto ending = std::filesystem::path(output.value_or("")).extension().string();
  if (asked || ending.empty()) return asked.value_or(formats.front().second);
  std::string valid;
  for (const auto& [name, format] : formats) {
    const auto known = "." + (name == "text" ? "txt" : name == "python" ? "py" : name);
    if (known == ending) return format;
    valid += known + ", ";
  }
  throw attn::Error(
      fmt::format("--output {} ends in {}, which names no format; valid: {}or another ending with --format",
                  *output, ending, valid));
}

/// "a,b,c" in its parts.
std::vector<std::string> split(std::string_view text, char separator);

/// Adds --seed N|FIRST-LAST in the place of the lesson's --seed: FIRST is the seed of `options`, LAST goes to
/// `last`, which stays empty for one seed.
void add_seeds_option(CLI::App& app, const std::string& group, const std::string& help,
                      lessons::Options& options, std::optional<std::uint32_t>& last);

/// Calls it with each seed, upwards.
void for_each_seed(std::uint32_t first, const std::optional<std::uint32_t>& last,
                   const std::function<void(std::uint32_t)>& call);

/// "sheet.txt" where there is one seed; of several "sheet-08.txt", in as many digits as the last has.
std::string path_of_seed(const std::string& path, std::uint32_t seed,
                         const std::optional<std::uint32_t>& last);

}  // namespace lab
