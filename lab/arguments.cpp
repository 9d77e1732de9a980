#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "attn/error.hpp"
#include "attn/text/utf8.hpp"
#include "lab/command_line.hpp"
#include "lab/worksheet/worksheet.hpp"
#include "lessons/numbers/page.hpp"

namespace lab {

namespace {

using attn::Error;
using lessons::Lesson;
using lessons::OptionInfo;
using lessons::Options;

const char* const how_shown_heading = "How it is shown";
const char* const drawn_as = "How a picture is drawn: --format svg, png, pdf";
const char* const compared = "Compared with a stored trace";

/// What an option is where it is not given and has no value of its own.
std::string_view otherwise_of(const OptionInfo& info, const Lesson& lesson) {
  return info.otherwise == lessons::width_of_a_head && !lesson.uses("heads") ? "d_model" : info.otherwise;
}

std::string option_help(const OptionInfo& info, const Lesson& lesson, bool repeatable,
                        const std::string& default_value) {
  std::string text(info.help);
  if (value_name(info.value) != info.value)
    text += fmt::format(": {}", fmt::join(split(info.value, '|'), ", "));
  if (repeatable) text += "; repeat it for a batch, shorter ones are padded";
  auto otherwise = default_value.empty() ? std::string(otherwise_of(info, lesson)) : default_value;
  const bool may_be_of_model = lesson.trained && lesson.defaults.model != "none" &&
                               lessons::is_dimension_of_model(info.key) && !otherwise.empty();
  if (may_be_of_model) otherwise = "the model's, " + otherwise + " without one";
  if (!otherwise.empty()) text += "; default " + otherwise;
  return text;
}

/// Whether a mask of somebody's can be given; of all lessons that a command knows some take one.
bool takes_mask(const Lesson& lesson) {
  const auto inputs = lesson.inputs(lesson.defaults);
  return lesson.name == "LESSON" || lesson.uses("mask") ||
         attn::any_of(inputs, [](const auto& input) { return attn::last_of_path(input.id) == "mask"; });
}

void add_presentation_options(CLI::App& app, Presentation& presentation) {
  const OptionGroup group(app, how_shown_heading, "a run");
  group.add_choice("format", presentation.format, formats());
  group.add("output", presentation.output);
  group.add("steps", [&](const std::string& text) { presentation.steps = split(text, ','); });
  group.add("explain", presentation.explain);
  group.add("shapes", presentation.shapes);
  group.add_whole("precision", presentation.style.precision, 0, 17);
  group.add("full", presentation.style.full);
  group.add("all", presentation.style.all);
  group.add("brief", presentation.style.brief);
  group.add("plain", presentation.style.plain);
  group.add_whole("width", presentation.width, 20, 1000);
  group.add_choice("color", presentation.color,
                   {{"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}});
  add_paging_option(app, presentation.paging)->group(how_shown_heading);
}

/// "1920x1080" in its parts, and "680", where the height follows.
attn::PictureStyle::Size parse_size(const std::string& text) {
  const auto parts = split(text, 'x');
  if (parts.size() > 2)
    throw Error(
        fmt::format("--size {}: \"{}\" is no size; valid: WxH in pixels, as 1920x1080, or W", text, text));
  const auto length = [](const std::string& part) {
    return static_cast<double>(parse_whole("size", part, 100, 10000));
  };
  const bool has_height = parts.size() == 2 && !parts[1].empty();
  return {length(parts[0]), has_height ? std::optional(length(parts[1])) : std::nullopt};
}

void add_picture_options(CLI::App& app, Presentation& presentation) {
  using attn::PictureTheme;
  auto& picture = presentation.picture;
  const OptionGroup group(app, drawn_as, "a picture");
  Choices<const attn::svg::Kind*> kinds;
  for (const auto* kind :
       {&attn::svg::heatmap, &attn::svg::arcs, &attn::svg::lines, &attn::svg::bars, &attn::svg::flow})
    kinds.emplace_back(kind->name, kind);
  group.add_choice("picture", picture.kind, kinds);
  group.add("title", picture.title);
  group.add_whole("head", picture.head, 0, 1000000);
  group.add("bare", picture.is_bare);
  group.add_choice(
      "theme", picture.theme,
      {{"light", PictureTheme::light}, {"dark", PictureTheme::dark}, {"auto", PictureTheme::automatic}});
  group.add_choice("numbers", picture.numbers, {{"on", true}, {"off", false}});
  group.add_choice("scale", picture.is_scale_largest, {{"1", false}, {"max", true}});
  group.add("size", [&](const std::string& text) { picture.size = parse_size(text); });
}

void add_expectation_options(CLI::App& app, RunLesson& run) {
  const OptionGroup group(app, compared, "a comparison");
  group.add("expect", run.expected);
  add_tolerance_options(app, run.comparison, compared);
  group.add("quiet", run.is_quiet);
}

/// The first option under a heading that was typed, without its dashes; empty where none was.
std::string typed_under(const CLI::App& app, std::string_view heading) {
  for (const auto* option : app.get_options())
    if (option->get_group() == heading && option->count() > 0) return option->get_single_name();
  return "";
}

/// With --expect it is the report that has a format.
void settle_expectation(const CLI::App& app, RunLesson& run) {
  auto& comparison = run.comparison;
  if (!run.expected) {
    if (const auto name = typed_under(app, compared); !name.empty())
      throw Error(fmt::format("--{} is {} a comparison; valid: with --expect FILE", name,
                              name == "atol" || name == "rtol" ? "the tolerance of" : "of"));
    return;
  }
  if (const auto& output = run.presentation.output)
    throw Error(fmt::format("--output {} beside --expect, which shows only what differs; valid: one of them",
                            *output));
  comparison.format = run.presentation.format.value_or(Format::text);
  if (comparison.format != Format::text && comparison.format != Format::json)
    throw Error("--expect reports what differs, which is no trace; valid: --format text or json");
}

/// The lessons that use the option "--heads", first those where it has a value by default.
std::vector<std::string_view> lessons_with_option(const std::string& name) {
  std::vector<std::string_view> by_default, others;
  for (const auto* lesson : lessons::all_lessons()) {
    auto options = lesson->defaults;
    lessons::visit_options(options, [&](const OptionInfo& info, auto& field) {
      if (name == "--" + std::string(info.flag) && lesson->uses(info.key))
        (text_of(field).empty() ? others : by_default).push_back(lesson->name);
    });
  }
  by_default.insert(by_default.end(), others.begin(), others.end());
  return by_default;
}

/// What the lesson has in the place of another lesson's option; nothing where it has none.
std::string counterpart_of(const std::string& name, const Lesson& lesson) {
  using Row = std::array<std::string_view, 3>;
  for (const auto& [option, key, here] : {Row{"--sentence", "source", "--source and --target"},
                                          {"--source", "sentence", "--sentence"},
                                          {"--target", "sentence", "--sentence"},
                                          {"--causal", "mask", "--mask causal"},
                                          {"--mask", "causal", "--causal"}})
    if (name == option && lesson.uses(key)) return std::string(here);
  return "";
}

[[noreturn]] void refuse_extra(const CLI::App& app, const Lesson& lesson, const std::string& argument) {
  if (argument.rfind("--", 0) != 0)
    throw Error(
        fmt::format("{}: \"{}\" belongs to no option; valid: options only, texts of several words in quotes",
                    lesson.name, argument));
  const auto name = argument.substr(0, argument.find('='));
  if (const auto here = counterpart_of(name, lesson); !here.empty())
    throw Error(
        fmt::format("{0} does not use {1}; valid: {2}, or attnlab {0} --help", lesson.name, name, here));
  if (const auto others = lessons_with_option(name); !others.empty())
    throw Error(
        fmt::format("{0} does not use {1}, an option of {2}; valid: attnlab {3}, or attnlab {0} --help",
                    lesson.name, name, fmt::join(others, ", "), others.front()));
  refuse_option(app, lesson.name, name);
}

const Lesson& tour() {
  static const Lesson tour = {
      .name = "tour",
      .title = "all lessons in order",
      .teaches =
          "The curriculum from the first lesson to the last, each as it is by default, or all on your own "
          "sentence. Lessons on two sentences take it as the source and --target beside it. On a terminal "
          "the tour shows each lesson from its top and waits at its end: a key goes on, q leaves.",
      .options = {"sentence", "target", "seed", "rng", "draws", "dtype"},
      .takes_batches = false,
      .defaults = {.sentence = {"i love cats"}, .target = {"j'aime les chats"}},
      .examples = {"tour", "tour --sentence \"the cat sat on the mat\" --target \"le chat est assis\"",
                   "tour --from multihead"},
      .inputs = nullptr,
      .run = nullptr,
  };
  return tour;
}

void require_text(const Presentation& presentation) {
  if (presentation.format.value_or(Format::text) != Format::text || !presentation.steps.empty())
    throw Error("tour is text from its first page to its last; valid: no --steps, and --format text");
  if (presentation.format || !presentation.output) return;
  const auto ending = std::filesystem::path(*presentation.output).extension().string();
  if (!ending.empty() && ending != ".txt")
    throw Error(fmt::format("--output {} ends in {}, but the tour is text; valid: .txt, or no ending",
                            *presentation.output, ending));
}

/// The index of the lesson in the curriculum.
std::size_t parse_first(const std::string& text) {
  const auto names = names_of(lessons::all_lessons());
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end())
    throw Error(
        fmt::format("--from {}: there is no such lesson; {}", text, valid_instead_of_lesson(text, names)));
  return static_cast<std::size_t>(found - names.begin());
}

/// `add_more` adds the options that only one of the commands has, and hides those that it refuses.
Command parse_run(const Lesson& lesson, int argc, char** argv,
                  const std::function<void(CLI::App&, RunLesson&)>& add_more) {
  CLI::App app(help_paragraph(fmt::format("{}: {}\n\n{}", lesson.name, lesson.title, lesson.teaches)) + "\n",
               fmt::format("attnlab {}", lesson.name));
  prepare(app, help_examples(lesson.examples));
  RunLesson run{.lesson = &lesson, .options = {}, .presentation = {}};
  add_lesson_options(app, lesson, run.options);
  add_presentation_options(app, run.presentation);
  add_more(app, run);
  app.set_help_flag("--help,-h", "this page")->group(how_shown_heading);
  if (const auto help = read_arguments(app, lesson.name, argc, argv)) return *help;
  if (const auto extras = app.remaining(); !extras.empty()) refuse_extra(app, lesson, extras.front());
  settle_expectation(app, run);
  run.presentation.of_picture = typed_under(app, drawn_as);
  return run;
}

std::string list_of_lessons() {
  std::string text;
  for (const auto* lesson : lessons::all_lessons())
    text += fmt::format("{:<18} {}\n", lesson->name, lesson->title);
  return text;
}

std::string general_help() {
  std::string commands;
  for (const auto& line : command_lines())
    commands += fmt::format("       attnlab {:<22}{}\n", fmt::format("{} {}", line.name, line.arguments),
                            line.summary);
  return fmt::format(fmt::runtime(help_text("attnlab")), commands, list_of_lessons()) + "\n";
}

/// What was asked for after "--help".
std::string help_on(const std::string& topic) {
  if (topic != "numbers")
    throw Error(
        fmt::format("there is no help on \"{}\"; valid: attnlab --help, attnlab --help numbers, attnlab "
                    "LESSON --help",
                    topic));
  return std::string(lessons::numbers_page());
}

std::vector<std::string> command_names() {
  auto names = names_of(lessons::all_lessons());
  for (const auto& line : command_lines()) names.emplace_back(line.name);
  return names;
}

Command parse_list(int argc, char** argv) {
  if (argc == 2 && is_help(argv[1]))
    return PrintText{"attnlab list: the lessons in the order in which to learn them, one per line\n"};
  if (argc > 1)
    throw Error(fmt::format("list takes no argument, but \"{}\" is given; valid: attnlab list", argv[1]));
  return PrintText{list_of_lessons()};
}

}  // namespace

void add_lesson_options(CLI::App& app, const Lesson& lesson, Options& options) {
  options = lesson.defaults;
  const OptionGroup computed(app, what_is_computed, "numbers that are given");
  lessons::visit_options(options, [&](const OptionInfo& info, auto& field) {
    if (!lesson.uses(info.key)) return;
    using Field = std::decay_t<decltype(field)>;
    constexpr bool is_text_list = std::is_same_v<Field, std::vector<std::string>>;
    const bool is_of_batch = is_text_list && lesson.takes_batches && info.value == "TEXT";
    const auto help = option_help(info, lesson, is_of_batch, text_of(field));
    if constexpr (std::is_same_v<Field, bool>) {
      const auto set_to = [&field, &options, info](bool value) {
        if (!options.typed.insert(info.key).second && field != value)
          throw Error(fmt::format("--{0} contradicts --no-{0}; valid: one of them", info.flag));
        field = value;
      };
      const auto opposite = fmt::format("no-{}", info.flag);
      computed.add_flag(info.flag,
                        field ? fmt::format("{}; default on, --{} is off", info.help, opposite) : help,
                        [set_to] { set_to(true); });
      if (field)
        computed.add_flag(opposite, fmt::format("without --{}", info.flag), [set_to] { set_to(false); });
    } else {
      const auto assign_text = [info, &field, &options](const std::string& text) {
        const bool is_first = options.typed.insert(info.key).second;
        if constexpr (lessons::is_list<Field>)
          if (is_first) field.clear();
        assign(info, field, text);
      };
      computed.add(info.flag, info.value, help, assign_text, is_text_list ? Values::list : Values::one);
    }
  });
  options.sentence.clear();
  options.source.clear();
  options.target.clear();
  if (lesson.inputs == nullptr) return;
  computed.add(
      "input", "FILE",
      fmt::format("tensors by id or by a common name, as in a state dict, from an .npz, .safetensors or JSON "
                  "file, in place of inputs; dimensions follow, and the rest is drawn; repeat it for more "
                  "files; of several layers FILE:layers.0 takes one. The inputs: {}",
                  lessons::describe_inputs(lesson, lesson.defaults)),
      [&options](const std::string& text) { options.input.push_back(text); }, Values::list);
  computed.add(
      "set",
      [&options](const std::string& text) {
        options.set.push_back(text);
        options.typed.insert("set");
      },
      Values::list);
  if (takes_mask(lesson))
    computed.add_choice("mask-true", options.mask_true,
                        {{"seen", attn::MaskTrue::seen}, {"hidden", attn::MaskTrue::hidden}});
}

Command parse_lesson(const Lesson& lesson, int argc, char** argv) {
  return parse_run(lesson, argc, argv, [](CLI::App& app, RunLesson& run) {
    add_picture_options(app, run.presentation);
    add_expectation_options(app, run);
  });
}

Command parse_tour(int argc, char** argv) {
  std::size_t first = 0;
  auto command = parse_run(tour(), argc, argv, [&](CLI::App& app, RunLesson&) {
    OptionGroup(app, what_is_computed, "tour").add("from", [&](const std::string& text) {
      first = parse_first(text);
    });
    for (const auto* hidden : {"--format", "--steps", "--explain", "--brief"})  // read, to say what is wrong
      app.get_option(hidden)->group("");
  });
  auto* run = std::get_if<RunLesson>(&command);
  if (run == nullptr) return command;
  require_text(run->presentation);
  if (!run->presentation.explain.empty())
    throw Error("--explain is for one lesson; valid: attnlab LESSON --explain ID[row,column]");
  auto& options = run->options;
  if (!options.sentence.empty() || !options.target.empty()) {
    if (options.sentence.empty()) options.sentence = tour().defaults.sentence;
    if (options.target.empty()) options.target = tour().defaults.target;
  }
  return [asked = *run, first] { return take_tour(asked, first) ? 0 : 1; };
}

const std::vector<CommandLine>& command_lines() {
  static const std::vector<CommandLine> lines = {
      {"list", "", "list the lessons, one per line", parse_list},
      {"tour", "[options]", "all lessons in order", parse_tour},
      {"book", "--output FILE", "all lessons as one page of HTML, live", parse_book},
      {"run", "FILE.md [options]", "a lesson of your own, a document", parse_own_lesson},
      {"lesson", "new|check NAME", "write a lesson of your own, check it", parse_author},
      {"diff", "A B [options]", "what differs between two traces", parse_diff},
      {"check", "LESSON DUMP", "the first wrong step of your own program", parse_check},
      {"probe", "LESSON", "inputs that expose mistakes, for check", parse_probe},
      {"break", "LESSON MISTAKE", "a lesson with a classic mistake in it", parse_break},
      {"worksheet", "LESSON", "a lesson on paper, with blanks and answers", parse_worksheet},
      {"bench", "[options]", "time the attention kernels", parse_bench},
      {"train", "TASK", "train a small model that the lessons use", parse_train},
      {"manual", "[COMMAND]", "a page for man: attnlab manual | man -l -", parse_manual},
      {"completions", "SHELL", "lets bash, zsh or fish complete a line", parse_completions},
  };
  return lines;
}

Command parse(int argc, char** argv) {
  if (argc < 2) return PrintText{general_help()};
  for (int i = 1; i < argc; ++i) attn::require_valid_utf8(argv[i], fmt::format("argument {}", i));
  const std::string name = argv[1];
  if (is_help(name) || name == "help") return PrintText{argc > 2 ? help_on(argv[2]) : general_help()};
  if (name == "--version") return PrintText{"attnlab " ATTNLAB_VERSION "\n"};
  for (const auto& line : command_lines())
    if (line.name == name) return line.parse(argc - 1, argv + 1);
  if (const auto* lesson = lessons::lesson_named(name)) return parse_lesson(*lesson, argc - 1, argv + 1);
  std::vector<std::string_view> commands;
  for (const auto& line : command_lines()) commands.push_back(line.name);
  if (name.starts_with('-'))
    throw Error(fmt::format(
        "\"{}\" stands where the lesson belongs; valid: attnlab LESSON [options], attnlab --help, attnlab "
        "--version, or attnlab with one of {}",
        name, fmt::join(commands, ", ")));
  throw Error(
      fmt::format("there is no lesson \"{}\"; {}", name, valid_instead_of_lesson(name, command_names())));
}

Command parse(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  return parse(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace lab
