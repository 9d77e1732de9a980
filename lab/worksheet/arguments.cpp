#include "lab/worksheet/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "lab/command_line.hpp"
#include "lab/lesson_arguments.hpp"
#include "lab/option_values.hpp"
#include "lab/seeds.hpp"

namespace lab {

namespace {

using attn::Error;
using attn::SheetPages;
using lessons::Lesson;

const char* const of_worksheet = "Of this command";

const char* const about_worksheet =
    "worksheet: a lesson to be worked by hand\n"
    "\n"
    "Prints small whole numbers, what to compute from them and blanks to write in; --answers FILE has the "
    "answers. Another --seed gives another sheet, and the same seed the same sheet everywhere. attnlab "
    "check LESSON FILE then says which entry of a filled-in sheet is the first wrong one: of a text sheet, "
    "or of a JSON file that --format json printed.";

const char* const usage_of_worksheet =
    "\n\nUsage: attnlab worksheet LESSON [options]\n       attnlab worksheet LESSON --help\n";

const Lesson& lesson_on_paper(int argc, char** argv) {
  std::vector<std::string> names;
  for (const auto* lesson : lessons::all_lessons())
    if (lesson->worksheet) names.emplace_back(lesson->name);
  if (argc < 2 || argv[1][0] == '-')
    throw Error(fmt::format("worksheet: no lesson is given; valid: attnlab worksheet LESSON, one of {}",
                            fmt::join(names, ", ")));
  if (const auto* lesson = lessons::lesson_named(argv[1])) return *lesson;
  throw Error(
      fmt::format("worksheet knows no lesson \"{}\"; {}", argv[1], valid_instead_of_lesson(argv[1], names)));
}

void require_files(const MakeWorksheet& worksheet, const std::string& command) {
  if (worksheet.output && worksheet.output == worksheet.answers)
    throw Error(fmt::format("{}: --answers {} is the file of the sheet; valid: another file", command,
                            *worksheet.answers));
}

void add_options_of_worksheet(CLI::App& app, MakeWorksheet& worksheet) {
  const auto add = [&](std::string_view flag, std::string_view value, std::string_view help, auto assign) {
    add_text_option(app, flag, value, Values::one, help_of_option(help), assign)->group(of_worksheet);
  };
  add("normaliser", "softmax|sum",
      "what makes shares of scores; sum divides each by the sum of its row, without a calculator, and gives "
      "fractions; default softmax",
      [&](const std::string& text) {
        worksheet.normaliser = parse_choice<lessons::Normaliser>(
            "normaliser", text,
            {{"softmax", lessons::Normaliser::softmax}, {"sum", lessons::Normaliser::sum}});
      });
  add("answers", "FILE|none|after|only",
      "the answers: in a file of their own, left out, on a page after the sheet, or alone; default none",
      [&](const std::string& text) {
        if (text.find_first_of("./") != text.npos)
          worksheet.answers = text;
        else
          worksheet.pages = parse_choice<SheetPages>(
              "answers", text,
              {{"none", SheetPages::sheet}, {"after", SheetPages::both}, {"only", SheetPages::answers}});
      });
  add_seeds_option(app, of_worksheet,
                   "another sheet, or one for each of these seeds: in a file each with --output, on pages "
                   "that follow each other without it; default 42",
                   worksheet.options, worksheet.last_seed);
  add("format", "text|html|json",
      "text to print or to type in, HTML to print, JSON to fill in; default text, or what the ending of "
      "--output says",
      [&](const std::string& text) {
        worksheet.format = parse_choice<SheetFormat>(
            "format", text,
            {{"text", SheetFormat::text}, {"html", SheetFormat::html}, {"json", SheetFormat::json}});
      });
  app.add_option("-o,--output", worksheet.output,
                 help_of_option("write to a file, whole or not at all; default standard output"))
      ->type_name("FILE")
      ->group(of_worksheet);
  add_paging_option(app, worksheet.paging)->group(of_worksheet);
}

}  // namespace

Command parse_worksheet(int argc, char** argv) {
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h"))
    return PrintText{help_paragraph(about_worksheet) + usage_of_worksheet};
  MakeWorksheet worksheet{.lesson = lessons::lesson_of_worksheet(lesson_on_paper(argc, argv))};
  const auto command = fmt::format("worksheet {}", worksheet.lesson->name);
  CLI::App app(help_paragraph(about_worksheet) + "\n", "attnlab " + command);
  prepare(app, help_examples({"worksheet sdpa --seed 7", "worksheet self-attention --normaliser sum",
                              "worksheet masking --seed 1-30 --output sheet.html --answers key.html"}));
  add_lesson_options(app, *worksheet.lesson, worksheet.options);
  add_options_of_worksheet(app, worksheet);
  app.remove_option(app.get_option("--input"));
  app.set_help_flag("--help,-h", "this page")->group(of_worksheet);
  if (const auto help = read_arguments(app, command, argc - 1, argv + 1)) return *help;
  refuse_extras(app, command);
  require_files(worksheet, command);
  return worksheet;
}

MakeWorksheet worksheet_of_command(const std::string& command) {
  auto words = attn::shell_words(command);
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  if (words.size() < 2 || words[0] != "attnlab" || words[1] != "worksheet")
    throw Error(fmt::format("\"{}\" prints no worksheet; valid: attnlab worksheet LESSON", command));
  const auto parsed = parse_worksheet(static_cast<int>(pointers.size()) - 1, pointers.data() + 1);
  const auto* worksheet = std::get_if<MakeWorksheet>(&parsed);
  if (worksheet == nullptr)
    throw Error(fmt::format("\"{}\" prints a help; valid: attnlab worksheet LESSON", command));
  for (const auto& text : worksheet->options.set)
    if (text.find("=@") != std::string::npos)
      throw Error(
          fmt::format("--set {} names a file, which a worksheet does not carry; valid: its numbers", text));
  return *worksheet;
}

}  // namespace lab
