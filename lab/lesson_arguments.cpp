#include "lab/lesson_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "attn/error.hpp"
#include "lab/command_line.hpp"
#include "lab/diff/diff.hpp"
#include "lab/option_values.hpp"

namespace lab {

namespace {

using attn::Error;
using lessons::Lesson;
using lessons::OptionInfo;
using lessons::Options;

const char* const computed = what_is_computed;
const char* const shown = "How it is shown";
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
  return help_of_option(text);
}

/// Whether a mask of somebody's can be given; of all lessons that a command knows some take one.
bool takes_mask(const Lesson& lesson) {
  const auto inputs = lesson.inputs(lesson.defaults);
  return lesson.name == "LESSON" || lesson.uses("mask") ||
         std::any_of(inputs.begin(), inputs.end(),
                     [](const auto& input) { return attn::last_of_path(input.id) == "mask"; });
}

template <class Field>
constexpr bool is_list = false;
template <class Item>
constexpr bool is_list<std::vector<Item>> = true;

}  // namespace

void add_lesson_options(CLI::App& app, const Lesson& lesson, Options& options) {
  options = lesson.defaults;
  lessons::visit_options(options, [&](const OptionInfo& info, auto& field) {
    if (!lesson.uses(info.key)) return;
    using Field = std::decay_t<decltype(field)>;
    constexpr bool is_text_list = std::is_same_v<Field, std::vector<std::string>>;
    const bool is_of_batch = is_text_list && lesson.takes_batches && info.value == "TEXT";
    const auto help = option_help(info, lesson, is_of_batch, text_of(field));
    if constexpr (std::is_same_v<Field, bool>) {
      const auto add_flag = [&](const std::string& name, const std::string& text, bool value) {
        return app
            .add_flag_callback(
                name,
                [&field, &options, info, value] {
                  if (!options.typed.insert(info.key).second && field != value)
                    throw Error(fmt::format("--{0} contradicts --no-{0}; valid: one of them", info.flag));
                  field = value;
                },
                text)
            ->group(computed);
      };
      const auto name = fmt::format("--{}", info.flag), opposite = fmt::format("--no-{}", info.flag);
      add_flag(name,
               field ? help_of_option(fmt::format("{}; default on, {} is off", info.help, opposite)) : help,
               true);
      if (field) add_flag(opposite, "without " + name, false);
    } else {
      auto is_first = std::make_shared<bool>(true);
      add_text_option(app, info.flag, info.value, is_text_list ? Values::list : Values::one, help,
                      [info, &field, &options, is_first](const std::string& text) {
                        options.typed.insert(info.key);
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
  if (lesson.inputs == nullptr) return;
  add_text_option(app, "input", "FILE", Values::list,
                  help_of_option(fmt::format(
                      "tensors by id or by a common name, as in a state dict, from an .npz, .safetensors or "
                      "JSON file, in place of inputs; dimensions follow, and the rest is drawn; repeat it "
                      "for more files; of several layers FILE:layers.0 takes one. The inputs: {}",
                      lessons::describe_inputs(lesson, lesson.defaults))),
                  [&options](const std::string& text) { options.input.push_back(text); })
      ->group(computed);
  add_text_option(
      app, "set", "ID=VALUE", Values::list,
      help_of_option("one of these inputs as JSON lists, X='[[1,0],[0,1]]', as ones on the diagonal, "
                     "W_Q=identity, or from a file of rows of numbers, X=@rows.csv; repeat it for others"),
      [&options](const std::string& text) {
        options.set.push_back(text);
        options.typed.insert("set");
      })
      ->group(computed);
  if (!takes_mask(lesson)) return;
  add_text_option(
      app, "mask-true", "seen|hidden", Values::one,
      help_of_option("what true means in your masks; default seen, but hidden beside a key_padding_mask "
                     "and in the attn_mask of an nn.MultiheadAttention"),
      [&options](const std::string& text) {
        options.mask_true = parse_choice<attn::MaskTrue>(
            "mask-true", text, {{"seen", attn::MaskTrue::seen}, {"hidden", attn::MaskTrue::hidden}});
      })
      ->group(computed);
}

namespace {

const std::vector<std::pair<std::string, Format>> formats = {
    {"text", Format::text},     {"json", Format::json},
    {"npz", Format::npz},       {"safetensors", Format::safetensors},
    {"svg", Format::svg},       {"png", Format::png},
    {"pdf", Format::pdf},       {"html", Format::html},
    {"python", Format::python}, {"cpp", Format::cpp}};

void add_presentation_options(CLI::App& app, Presentation& presentation) {
  const auto add = [&](std::string_view flag, std::string_view value, std::string_view help,
                       auto assign_text) {
    add_text_option(app, flag, value, Values::one, help_of_option(help), assign_text)->group(shown);
  };
  add("format", "text|json|npz|safetensors|svg|png|pdf|html|python|cpp",
      "default text, or what the ending of --output says",
      [&](const std::string& text) { presentation.format = parse_choice("format", text, formats); });
  add("output", "FILE", "write to a file, whole or not at all; default standard output",
      [&](const std::string& text) { presentation.output = text; });
  add("steps", "ID,ID,...", "show only these inputs and steps; an ID that ends in / stands for its group",
      [&](const std::string& text) { presentation.steps = split(text, ','); });
  add_text_option(
      app, "explain", "ID[row,column]", Values::list,
      help_of_option("work out this entry, by tokens or indices, and show nothing else; repeatable"),
      [&](const std::string& text) { presentation.explain.push_back(text); })
      ->group(shown);
  app.add_flag_callback(
         "--shapes", [&] { presentation.shapes = true; }, "show shapes only, no numbers")
      ->group(shown);
  add("precision", "N", "digits after the decimal point, 0 to 17; default 4",
      [&](const std::string& text) { presentation.precision = parse_whole("precision", text, 0, 17); });
  app.add_flag_callback(
         "--full", [&] { presentation.full = true; }, "show every number of a large tensor")
      ->group(shown);
  app.add_flag_callback(
         "--all", [&] { presentation.all = true; },
         help_of_option("show every step, drawn weight and remark, in the order of the computation"))
      ->group(shown);
  app.add_flag_callback(
         "--brief", [&] { presentation.brief = true; },
         help_of_option("HTML without what is folded at its end and how each number came about"))
      ->group(shown);
  app.add_flag_callback(
         "--plain", [&] { presentation.plain = true; },
         help_of_option("ASCII, no colour and no drawing, rows as sentences: for screen readers"))
      ->group(shown);
  add("width", "N", "columns of text, 20 to 1000; default the terminal's, up to 120, and 80 without one",
      [&](const std::string& text) {
        presentation.width = static_cast<std::size_t>(parse_whole("width", text, 20, 1000));
      });
  add("color", "auto|always|never", "shade the weights; default auto: on a terminal, unless NO_COLOR is set",
      [&](const std::string& text) {
        presentation.color = parse_choice<Color>(
            "color", text, {{"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}});
      });
  add_paging_option(app, presentation.paging)->group(shown);
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
  auto& picture = presentation.picture;
  const auto add = [&](std::string flag, std::string_view value, std::string_view help, auto assign_text) {
    add_text_option(app, flag, value, Values::one, help_of_option(help),
                    [&presentation, flag, assign_text](const std::string& text) {
                      presentation.of_pictures.push_back(flag);
                      assign_text(text);
                    })
        ->group(drawn_as);
  };
  add("picture", "heatmap|arcs|lines|bars|flow",
      "cells, lines between the words that are as thick as the weight, curves, bars, or what leads to what; "
      "default what fits",
      [&](const std::string& text) {
        picture.kind = parse_choice<const attn::svg::Kind*>("picture", text,
                                                            {{"heatmap", &attn::svg::heatmap},
                                                             {"arcs", &attn::svg::arcs},
                                                             {"lines", &attn::svg::lines},
                                                             {"bars", &attn::svg::bars},
                                                             {"flow", &attn::svg::flow}});
      });
  add("title", "TEXT", "what stands above it; default what it shows",
      [&](const std::string& text) { picture.title = text; });
  add("head", "N", "nothing but this head, counted from 0", [&](const std::string& text) {
    picture.head = static_cast<std::size_t>(parse_whole("head", text, 0, 1000000));
  });
  app.add_flag_callback(
         "--bare",
         [&] {
           presentation.of_pictures.emplace_back("bare");
           picture.is_bare = true;
         },
         help_of_option("the picture alone, without title and caption"))
      ->group(drawn_as);
  add("theme", "light|dark|auto", "the paper; auto follows the reader's; default light",
      [&](const std::string& text) {
        using attn::PictureTheme;
        picture.theme = parse_choice<PictureTheme>("theme", text,
                                                   {{"light", PictureTheme::light},
                                                    {"dark", PictureTheme::dark},
                                                    {"auto", PictureTheme::automatic}});
      });
  add("numbers", "on|off", "numbers in the cells; default where they are readable",
      [&](const std::string& text) {
        picture.numbers = parse_choice<bool>("numbers", text, {{"on", true}, {"off", false}});
      });
  add("scale", "1|max", "where the scale of shares ends; default 1, and the largest where all are small",
      [&](const std::string& text) {
        picture.is_scale_largest = parse_choice<bool>("scale", text, {{"1", false}, {"max", true}});
      });
  add("size", "WxH",
      "in pixels, as 1920x1080, or 680 across; default what it needs, and of a png as much of 1920x1080 as "
      "it fills",
      [&](const std::string& text) { picture.size = parse_size(text); });
}

void add_expectation_options(CLI::App& app, RunLesson& run) {
  add_text_option(
      app, "expect", "FILE", Values::one,
      help_of_option("show only what differs from a stored trace: text, JSON, npz or safetensors; "
                     "--format text|json is the report's; exit status as of attnlab diff"),
      [&run](const std::string& text) { run.expected = text; })
      ->group(compared);
  add_tolerance_options(app, run.comparison, compared);
  app.add_flag_callback(
         "--quiet", [&] { run.is_quiet = true; },
         help_of_option("print nothing of the comparison: the exit status tells"))
      ->group(compared);
}

/// With --expect it is the report that has a format.
void settle_expectation(RunLesson& run) {
  auto& comparison = run.comparison;
  const auto& [format, output] = std::tie(run.presentation.format, run.presentation.output);
  if (!run.expected && (comparison.absolute || comparison.relative))
    throw Error(fmt::format("--{} is the tolerance of a comparison; valid: with --expect FILE",
                            comparison.absolute ? "atol" : "rtol"));
  const auto* of_comparison = comparison.only_common        ? "only-common"
                              : comparison.ignores_config   ? "ignore-config"
                              : !comparison.renames.empty() ? "rename"
                              : run.is_quiet                ? "quiet"
                                                            : nullptr;
  if (!run.expected && of_comparison != nullptr)
    throw Error(fmt::format("--{} is of a comparison; valid: with --expect FILE", of_comparison));
  if (!run.expected) return;
  if (output)
    throw Error(fmt::format("--output {} beside --expect, which shows only what differs; valid: one of them",
                            *output));
  comparison.format = format.value_or(Format::text);
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
  struct Counterpart {
    std::string_view option, key, here;
  };
  for (const auto& [option, key, here] : {Counterpart{"--sentence", "source", "--source and --target"},
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

/// They are still read, so that a message can say what is wrong with them.
void hide(CLI::App& app, const std::vector<std::string>& options) {
  for (const auto& option : options) app.get_option(option)->group("");
}

/// The index of the lesson in the curriculum.
std::size_t parse_first(const std::string& text) {
  std::vector<std::string> names;
  for (const auto* lesson : lessons::all_lessons()) names.emplace_back(lesson->name);
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end())
    throw Error(
        fmt::format("--from {}: there is no such lesson; {}", text, valid_instead_of_lesson(text, names)));
  return static_cast<std::size_t>(found - names.begin());
}

void add_first_option(CLI::App& app, std::size_t& first) {
  add_text_option(app, "from", "LESSON", Values::one,
                  help_of_option("start with this lesson; default the first of the curriculum"),
                  [&](const std::string& text) { first = parse_first(text); })
      ->group(computed);
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
  app.set_help_flag("--help,-h", "this page")->group(shown);
  if (const auto help = read_arguments(app, lesson.name, argc, argv)) return *help;
  if (const auto extras = app.remaining(); !extras.empty()) refuse_extra(app, lesson, extras.front());
  settle_expectation(run);
  return run;
}

}  // namespace

Command parse_lesson(const Lesson& lesson, int argc, char** argv) {
  return parse_run(lesson, argc, argv, [](CLI::App& app, RunLesson& run) {
    add_picture_options(app, run.presentation);
    add_expectation_options(app, run);
  });
}

Command parse_tour(int argc, char** argv) {
  std::size_t first = 0;
  auto command = parse_run(tour(), argc, argv, [&](CLI::App& app, RunLesson&) {
    add_first_option(app, first);
    hide(app, {"--format", "--steps", "--explain", "--brief"});
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
  return TakeTour{.first = first, .options = run->options, .presentation = run->presentation};
}

}  // namespace lab
