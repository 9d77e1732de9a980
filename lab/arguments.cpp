#include "lab/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"
#include "lab/option_values.hpp"

namespace lab {

namespace {

using attn::Error;
using lessons::Lesson;
using lessons::OptionInfo;
using lessons::Options;

constexpr std::size_t help_column = 32;
constexpr std::size_t help_width = 80;
constexpr std::size_t longest_value = 48;
const char* const computed = "What is computed";
const char* const shown = "How it is shown";

std::string wrapped(std::string_view text, std::size_t width) {
  return fmt::format("{}", fmt::join(attn::wrap(text, width), "\n"));
}

/// How the value of an option is called beside its flag: its alternatives, unless they are too many for that.
std::string value_name(const OptionInfo& info) {
  return info.value.size() <= longest_value ? std::string(info.value) : "NAME";
}

std::string option_help(const OptionInfo& info, bool repeatable, const std::string& default_value) {
  std::string text(info.help);
  if (value_name(info) != info.value) text += fmt::format(": {}", fmt::join(split(info.value, '|'), ", "));
  if (repeatable) text += "; repeat it for a batch, shorter ones are padded";
  const auto otherwise = default_value.empty() ? std::string(info.otherwise) : default_value;
  if (!otherwise.empty()) text += "; default " + otherwise;
  return wrapped(text, help_width - help_column);
}

template <class Field>
constexpr bool is_list = false;
template <class Item>
constexpr bool is_list<std::vector<Item>> = true;

/// Adds an option whose every value is given to `assign_text` as it was typed. Texts may be empty, and are
/// refused by whoever reads them.
template <class Assign>
CLI::Option* add_text_option(CLI::App& app, std::string_view flag, std::string_view value, bool is_text_list,
                             const std::string& help, Assign assign_text) {
  const auto name = fmt::format("--{}", flag);
  auto* option = app.add_option(
      name,
      [name, value = std::string(value), is_text_list, assign_text](const CLI::results_t& texts) {
        if (texts.size() > 1 && !is_text_list)
          throw Error(fmt::format("{} is given {} times: {}; valid: once", name, texts.size(),
                                  fmt::join(texts, ", ")));
        if (texts.front().empty() && !is_text_list)
          throw Error(fmt::format("{} \"\" has no value; valid: {} {}", name, name, value));
        for (const auto& text : texts) assign_text(text);
        return true;
      },
      help);
  option->type_name(std::string(value))->type_size(1)->expected(1)->allow_extra_args(false);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return option;
}

/// Adds the options of the lesson; parsing fills `options`, which starts as the lesson's defaults.
void add_lesson_options(CLI::App& app, const Lesson& lesson, Options& options) {
  options = lesson.defaults;
  lessons::visit_options(options, [&](const OptionInfo& info, auto& field) {
    if (!lesson.uses(info.key)) return;
    using Field = std::decay_t<decltype(field)>;
    constexpr bool is_text_list = std::is_same_v<Field, std::vector<std::string>>;
    const auto help = option_help(info, is_text_list && lesson.takes_batches, text_of(field));
    if constexpr (std::is_same_v<Field, bool>) {
      app.add_flag_callback(
             fmt::format("--{}", info.flag), [&field] { field = true; }, help)
          ->group(computed);
    } else {
      auto is_first = std::make_shared<bool>(true);
      add_text_option(app, info.flag, value_name(info), is_text_list, help,
                      [info, &field, is_first](const std::string& text) {
                        if constexpr (is_list<Field>)
                          if (std::exchange(*is_first, false)) field.clear();
                        assign(info, field, text);
                      })
          ->group(computed);
    }
  });
  options.sentence.clear();
  options.source.clear();
  options.target.clear();
}

template <class Choice>
Choice parse_choice(std::string_view flag, const std::string& text,
                    const std::vector<std::pair<std::string, Choice>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) {
    if (name == text) return choice;
    names.push_back(name);
  }
  throw Error(fmt::format("--{} {} is unknown; valid: {}", flag, text, fmt::join(names, ", ")));
}

const std::vector<std::pair<std::string, Format>> formats = {
    {"text", Format::text}, {"json", Format::json}, {"svg", Format::svg}};

void add_presentation_options(CLI::App& app, Presentation& presentation) {
  const auto add = [&](std::string_view flag, std::string_view value, std::string_view help,
                       auto assign_text) {
    add_text_option(app, flag, value, false, wrapped(help, help_width - help_column), assign_text)
        ->group(shown);
  };
  add("format", "text|json|svg", "default text, or what the ending of --output says",
      [&](const std::string& text) { presentation.format = parse_choice("format", text, formats); });
  add("output", "FILE", "write to a file, whole or not at all; default standard output",
      [&](const std::string& text) { presentation.output = text; });
  add("steps", "ID,ID,...", "show only these inputs and steps; an ID that ends in / stands for its group",
      [&](const std::string& text) { presentation.steps = split(text, ','); });
  app.add_flag_callback(
         "--shapes", [&] { presentation.shapes = true; }, "show shapes only, no numbers")
      ->group(shown);
  add("precision", "N", "digits after the decimal point, 0 to 17; default 4",
      [&](const std::string& text) { presentation.precision = parse_whole("precision", text, 0, 17); });
  app.add_flag_callback(
         "--full", [&] { presentation.full = true; }, "show every number of a large tensor")
      ->group(shown);
  add("color", "auto|always|never", "shade the weights; default auto: on a terminal, unless NO_COLOR is set",
      [&](const std::string& text) {
        presentation.color = parse_choice<Color>(
            "color", text, {{"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}});
      });
}

std::string examples(const Lesson& lesson) {
  std::string text = "Examples:\n";
  for (const auto example : lesson.examples) text += fmt::format("  attnlab {}\n", example);
  return text;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) names.push_back(option->get_name());
  return names;
}

bool is_option_of_some_lesson(const std::string& name) {
  Options options;
  bool found = false;
  lessons::visit_options(options, [&](const OptionInfo& info, auto&) {
    found = found || name == "--" + std::string(info.flag);
  });
  return found;
}

[[noreturn]] void refuse_extra(const CLI::App& app, const Lesson& lesson, const std::string& argument) {
  const auto names = option_names(app);
  if (argument.rfind("--", 0) != 0)
    throw Error(
        fmt::format("{}: \"{}\" belongs to no option; valid: options only, texts of several words in quotes",
                    lesson.name, argument));
  const auto name = argument.substr(0, argument.find('='));
  if (is_option_of_some_lesson(name))
    throw Error(fmt::format("{} does not use {}; valid: {}", lesson.name, name, fmt::join(names, ", ")));
  throw Error(
      fmt::format("{} has no option {}; did you mean {}?", lesson.name, name, attn::nearest(name, names)));
}

Command parse_lesson(const Lesson& lesson, int argc, char** argv) {
  CLI::App app(
      wrapped(fmt::format("{}: {}\n\n{}", lesson.name, lesson.title, lesson.teaches), help_width) + "\n",
      fmt::format("attnlab {}", lesson.name));
  app.get_formatter()->column_width(help_column);
  app.set_help_flag();
  app.allow_extras();
  app.footer(examples(lesson));
  RunLesson run{.lesson = &lesson, .options = {}, .presentation = {}};
  add_lesson_options(app, lesson, run.options);
  add_presentation_options(app, run.presentation);
  app.set_help_flag("--help,-h", "this page")->group(shown);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return PrintText{app.help()};
  } catch (const CLI::ParseError& error) {
    throw Error(fmt::format("{}: {}; valid: see attnlab {} --help", lesson.name, error.what(), lesson.name));
  }
  if (const auto extras = app.remaining(); !extras.empty()) refuse_extra(app, lesson, extras.front());
  return run;
}

/// The tour's options, declared as a lesson's are.
const Lesson& tour() {
  static const Lesson tour = {
      .name = "tour",
      .title = "all lessons in order, on one sentence",
      .teaches =
          "The curriculum from the first lesson to the last, each with its defaults, on a sentence of yours. "
          "Lessons on two sentences take it as the source and --target beside it. On a terminal the tour "
          "waits "
          "after each lesson: a key goes on, q quits.",
      .options = {"sentence", "target", "seed", "dtype"},
      .takes_batches = false,
      .defaults = {.sentence = {"I love cats"}, .target = {"J'aime les chats"}},
      .examples = {"tour", "tour --sentence \"The cat sat on the mat\" --target \"Le chat est assis\""},
      .element_count = nullptr,
      .run_float64 = nullptr,
      .run_float32 = nullptr,
  };
  return tour;
}

Command parse_tour(int argc, char** argv) {
  auto command = parse_lesson(tour(), argc, argv);
  auto* run = std::get_if<RunLesson>(&command);
  if (run == nullptr) return command;
  if (run->presentation.format.value_or(Format::text) != Format::text || !run->presentation.steps.empty())
    throw Error("tour is text from its first page to its last; valid: no --steps, and --format text");
  if (run->options.sentence.empty()) run->options.sentence = tour().defaults.sentence;
  if (run->options.target.empty()) run->options.target = tour().defaults.target;
  return TakeTour{run->options, run->presentation};
}

std::string general_help() {
  std::string text = fmt::format(
      "attnlab: the laboratory in which attention is seen, number by number\n\n"
      "Usage: attnlab LESSON [options]\n"
      "       attnlab list\n"
      "       attnlab tour [options]\n"
      "       attnlab LESSON --help\n\nLessons, in the order in which to learn them:\n");
  for (const auto* lesson : lessons::all_lessons())
    text += fmt::format("{:<18} {}\n", lesson->name, lesson->title);
  return text +
         "\nExit status: 0 where all that is claimed holds, 1 where something does not,\n"
         "2 for bad usage or bad input.\n";
}

std::vector<std::string> command_names() {
  std::vector<std::string> names = {"list", "tour"};
  for (const auto* lesson : lessons::all_lessons()) names.emplace_back(lesson->name);
  return names;
}

}  // namespace

Command parse(int argc, char** argv) {
  if (argc < 2) throw Error("no lesson is given; valid: attnlab LESSON; attnlab list shows the lessons");
  for (int i = 1; i < argc; ++i) attn::require_valid_utf8(argv[i], fmt::format("argument {}", i));
  const std::string name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") return PrintText{general_help()};
  if (name == "--version") return PrintText{"attnlab " ATTNLAB_VERSION "\n"};
  if (name == "tour") return parse_tour(argc - 1, argv + 1);
  if (name == "list") {
    if (argc > 2)
      throw Error(fmt::format("list takes no argument, but \"{}\" is given; valid: attnlab list", argv[2]));
    return ListLessons{};
  }
  for (const auto* lesson : lessons::all_lessons())
    if (lesson->name == name) return parse_lesson(*lesson, argc - 1, argv + 1);
  if (name.starts_with('-'))
    throw Error(
        fmt::format("\"{}\" stands where the lesson belongs; valid: attnlab LESSON [options], attnlab list, "
                    "attnlab tour, "
                    "attnlab --help, attnlab --version",
                    name));
  throw Error(fmt::format("there is no lesson \"{}\"; did you mean {}? valid: {}", name,
                          attn::nearest(name, command_names()), fmt::join(command_names(), ", ")));
}

}  // namespace lab
