#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "attn/error.hpp"
#include "lab/command_line.hpp"
#include "lab/diff/diff.hpp"
#include "trace/file.hpp"

namespace lab {

namespace {

using attn::Error;

const char* const counted = "What counts as equal";
const char* const how_shown = "How it is shown";

const char* const about_diff =
    "diff: what differs between two traces, and where first\n"
    "\n"
    "A and B are traces as they were printed, or data: JSON, npz or safetensors in any combination, from "
    "attnlab or from your own program; - is standard input. Data are compared tensor by tensor under their "
    "ids, in whatever order, and two JSON traces word for word as well; options that differ are told first. "
    "Printed traces are compared word for word and number by number, blanks and colours aside.\n"
    "\n"
    "Numbers a and b are equal where |a − b| <= ATOL + RTOL · |b|. By default rounding is allowed for, of "
    "which a row has as much everywhere as at its largest number m: 1e-12 + 1e-10 · m in float64, 1e-6 + "
    "1e-5 · m in float32, 1e-3 + 1e-3 · m in float16, 1e-2 + 1e-2 · m in bfloat16, the coarser of two types, "
    "and nothing in whole numbers and in printed traces. Infinities equal themselves, and so does nan.\n"
    "\n"
    "Exit status: 0 where A and B are equal, 1 where they differ, 2 for trouble. An option with another "
    "value "
    "is a difference, too, but for those that say what is read or shown; --ignore-config leaves options out.";

void refuse_extra_of_diff(const CLI::App& app, const std::string& argument) {
  if (argument.starts_with('-')) refuse_option(app, "diff", argument.substr(0, argument.find('=')));
  throw Error(fmt::format("diff takes two files, but \"{}\" is a third; valid: attnlab diff A B", argument));
}

void add_report_options(CLI::App& app, Comparison& comparison) {
  app.add_flag_callback(
         "--all", [&] { comparison.all = true; }, help_of_option("list what agrees too"))
      ->group(how_shown);
  add_text_option(app, "format", "text|json", Values::one, help_of_option("default text"),
                  [&](const std::string& text) {
                    comparison.format = parse_choice<Format>(
                        "format", text, {{"text", Format::text}, {"json", Format::json}});
                  })
      ->group(how_shown);
}

}  // namespace

void add_tolerance_options(CLI::App& app, Comparison& comparison, const std::string& group) {
  const auto add = [&](std::string_view flag, std::string_view help, std::optional<double>& field) {
    add_text_option(app, flag, "X", Values::one, help_of_option(help),
                    [flag, &field](const std::string& text) { field = parse_tolerance(flag, text); })
        ->group(group);
  };
  add("atol", "absolute tolerance; default by element type", comparison.absolute);
  add("rtol", "relative tolerance; default by element type", comparison.relative);
  app.add_flag_callback(
         "--only-common", [&] { comparison.only_common = true; },
         help_of_option("compare the ids that both have, and no words"))
      ->group(group);
  app.add_flag_callback(
         "--ignore-config", [&] { comparison.ignores_config = true; },
         help_of_option("compare numbers alone, whatever the options and the words"))
      ->group(group);
  add_text_option(app, "rename", "FROM=TO", Values::list,
                  help_of_option("the id FROM of either counts as TO; repeatable, groups end in /"),
                  [&](const std::string& text) { comparison.renames.push_back(parse_rename(text)); })
      ->group(group);
}

Command parse_diff(int argc, char** argv) {
  CLI::App app(help_paragraph(about_diff) + "\n", "attnlab diff");
  prepare(app, help_examples({"diff expected.txt mine.txt", "diff expected.npz mine.safetensors --atol 1e-6",
                              "diff expected.npz mine.npz --only-common --rename attn=weights"}));
  DiffTraces diff;
  app.add_option("A", diff.a, "a trace, the one that B is held against")->type_name("FILE");
  app.add_option("B", diff.b, "another")->type_name("FILE");
  add_tolerance_options(app, diff.comparison, counted);
  add_report_options(app, diff.comparison);
  app.add_flag_callback(
         "--quiet", [&] { diff.is_quiet = true; }, help_of_option("print nothing: the exit status tells"))
      ->group(how_shown);
  add_paging_option(app, diff.paging)->group(how_shown);
  app.set_help_flag("--help,-h", "this page")->group(how_shown);
  if (const auto help = read_arguments(app, "diff", argc, argv)) return *help;
  if (const auto extras = app.remaining(); !extras.empty()) refuse_extra_of_diff(app, extras.front());
  if (app.count("B") == 0)
    throw Error(fmt::format("diff takes two files, but {}; valid: attnlab diff A B",
                            app.count("A") == 0 ? "none is given" : diff.a + " is the only one"));
  return diff;
}

}  // namespace lab
