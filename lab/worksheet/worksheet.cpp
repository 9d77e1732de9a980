#include "lab/worksheet/worksheet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "attn/text/trim.hpp"
#include "lab/command_line.hpp"
#include "page/text/plain.hpp"
#include "trace/entry.hpp"

namespace lab {

namespace {

constexpr std::size_t most_numbers = 400;  // given and asked for
constexpr std::size_t widest_row = 12;     // numbers

const Choices<SheetFormat> sheet_formats = {
    {"text", SheetFormat::text}, {"html", SheetFormat::html}, {"json", SheetFormat::json}};

/// The word as a shell takes it for one, on one line.
std::string as_word(std::string text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                             "0123456789.,:=_+-") == std::string::npos;
  if (is_plain) return text;
  for (char& c : text)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  return "'" + attn::replaced(std::move(text), "'", "'\\''") + "'";
}

template <class Field>
void add_option(std::string& command, std::string_view flag, const Field& field) {
  if constexpr (std::is_same_v<Field, std::vector<std::string>>)
    for (const auto& text : field) add_option(command, flag, text);
  else if constexpr (std::is_same_v<Field, bool>)
    command += field ? fmt::format(" --{}", flag) : "";
  else
    command += fmt::format(" --{} {}", flag, as_word(text_of(field)));
}

/// The command that prints this sheet: the seed, and what was typed beside it.
std::string command_of(const MakeWorksheet& worksheet) {
  auto command = fmt::format("attnlab worksheet {}", worksheet.lesson->name);
  lessons::visit_options(worksheet.options, [&](const lessons::OptionInfo& info, const auto& field) {
    if (info.key == "seed" || worksheet.options.typed.count(info.key) > 0)
      add_option(command, info.flag, field);
  });
  add_option(command, "set", worksheet.options.set);
  if (worksheet.normaliser == lessons::Normaliser::sum) command += " --normaliser sum";
  return command;
}

/// Several sheets are for standard output.
std::string in_format(const std::vector<attn::Sheet>& sheets, const MakeWorksheet& worksheet,
                      const std::optional<std::string>& path, attn::SheetPages pages) {
  const auto format = format_asked_for(worksheet.format, path, sheet_formats);
  if (format == SheetFormat::html) return attn::sheets_as_html(sheets, pages);
  if (format == SheetFormat::text) {
    std::string text;
    for (const auto& sheet : sheets) text += (text.empty() ? "" : "\f") + attn::sheet_as_text(sheet, pages);
    return text;
  }
  if (pages == attn::SheetPages::both)
    throw attn::Error(
        "--answers after needs a page after the sheet, which JSON has not; valid: none, only or a file");
  if (sheets.size() > 1)
    throw attn::Error("several seeds make a file of JSON each; valid: --output FILE, as in sheet.json");
  return attn::sheet_as_json(sheets.front(), pages == attn::SheetPages::answers);
}

void require_work_for_a_pencil(const attn::Sheet& sheet) {
  std::size_t numbers = 0;
  for (const auto* list : {&sheet.given, &sheet.asked})
    for (const auto& one : *list) {
      numbers += one.written.size();
      if (!one.numbers.shape().empty() && one.numbers.shape().back() > widest_row)
        throw attn::Error(
            fmt::format("worksheet {}: {} would have rows of {} numbers; valid: shorter sentences or "
                        "smaller dimensions, for {} at most",
                        sheet.lesson, one.event.id, one.numbers.shape().back(), widest_row));
    }
  if (numbers > most_numbers)
    throw attn::Error(fmt::format(
        "worksheet {} would have {} numbers, no work for a pencil; valid: shorter sentences or smaller "
        "dimensions, for {} at most",
        sheet.lesson, numbers, most_numbers));
}

attn::Sheet sheet_of(const MakeWorksheet& worksheet, const lessons::Plan& plan) {
  const auto& given = worksheet.lesson->worksheet->given;
  const bool in_fractions = worksheet.normaliser == lessons::Normaliser::sum;
  attn::SheetMaker maker(plan.header(), command_of(worksheet), {given.begin(), given.end()}, in_fractions);
  lessons::WorksheetRun(plan, worksheet.normaliser).tell(maker);
  auto sheet = maker.finish();
  require_work_for_a_pencil(sheet);
  return sheet;
}

/// Adds what is written for one step; nothing where all is blank. Says what is no number.
void add_step(attn::Dump& dump, const std::string& id, const attn::Shape& shape,
              const std::vector<std::string>& cells) {
  const auto numbers = attn::written_numbers(cells);
  attn::AnyTensor tensor(attn::Dtype::float64, shape);
  std::vector<double> slacks;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    tensor.elements<double>()[i] = numbers[i] ? numbers[i]->value : 0.0;
    slacks.push_back(numbers[i] ? numbers[i]->slack : std::numeric_limits<double>::infinity());
    if (numbers[i] || cells[i].find_first_not_of(" \t_?") == std::string::npos) continue;
    auto place = attn::index_at(i, shape);
    place.erase(place.begin());  // of a batch of one
    dump.assume(
        fmt::format("{} at {}[{}] is no number and counts as blank; valid: a whole number, a decimal, a "
                    "fraction such as 3/7, or sqrt(2)/2.",
                    attn::in_message(cells[i]), id, fmt::join(place, ", ")));
  }
  if (!attn::any_of(numbers, [](const auto& number) { return number.has_value(); })) return;
  dump.slacks[id] = std::move(slacks);
  dump.tensors.emplace(id, std::move(tensor));
}

attn::Dump dump_of(const attn::Answers& answers, const attn::Sheet& sheet,
                   const std::map<std::string, attn::Shape>& shapes, const std::string& path) {
  attn::Dump dump;
  dump.assume(fmt::format("It answers the sheet of: {}", sheet.command));
  auto rest = answers.cells;
  for (const auto& step : sheet.asked) {
    const auto& id = step.event.id;
    const auto cells = rest.extract(id);
    if (cells.empty()) continue;
    if (cells.mapped().size() != step.written.size())
      throw attn::Error(fmt::format("{}: {} has {} places; valid: the {} of the worksheet", path, id,
                                    cells.mapped().size(), step.written.size()));
    add_step(dump, id, shapes.at(id), cells.mapped());
  }
  for (const auto& [id, cells] : rest) dump.unknown.push_back(id);
  if (dump.tensors.empty())
    throw BlankSheet(
        fmt::format("{} is not filled in; valid: a number in one of its {} blanks", path, sheet.blanks()),
        sheet.blanks(), sheet.asked.size());
  return dump;
}

using attn::Error;
using attn::SheetPages;

const char* const of_worksheet = "Of this command";

void add_options_of_worksheet(CLI::App& app, MakeWorksheet& worksheet) {
  const OptionGroup group(app, of_worksheet, "worksheet");
  group.add_choice("normaliser", worksheet.normaliser,
                   {{"softmax", lessons::Normaliser::softmax}, {"sum", lessons::Normaliser::sum}});
  group.add("answers", [&](const std::string& text) {
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
  group.add_choice("format", worksheet.format, sheet_formats);
  group.add("output", worksheet.output);
  add_paging_option(app, worksheet.paging)->group(of_worksheet);
}

}  // namespace

void run_worksheet(const MakeWorksheet& worksheet) {
  std::map<std::string, std::string> files;
  std::vector<attn::Sheet> printed;
  for_each_seed(worksheet.options.seed, worksheet.last_seed, [&](std::uint32_t seed) {
    auto one = worksheet;
    one.options.seed = seed;
    const auto plan = lessons::plan_of_worksheet(*one.lesson, one.options, one.normaliser);
    const auto sheet = sheet_of(one, plan);
    const auto path_of = [&](const std::string& path) {
      return path_of_seed(path, seed, worksheet.last_seed);
    };
    if (one.answers)
      files[path_of(*one.answers)] = in_format({sheet}, one, one.answers, attn::SheetPages::answers);
    if (one.output)
      files[path_of(*one.output)] = in_format({sheet}, one, one.output, one.pages);
    else
      printed.push_back(sheet);
  });
  const auto text = printed.empty() ? "" : in_format(printed, worksheet, std::nullopt, worksheet.pages);
  for (const auto& [path, content] : files) write_to_file(path, content);
  if (!printed.empty()) show(text, worksheet.paging);
}

JudgedSheet judge(const attn::Answers& answers, const MakeWorksheet& worksheet, const std::string& path,
                  const std::set<std::string>& conventions) {
  auto plan = lessons::plan_of_worksheet(*worksheet.lesson, worksheet.options, worksheet.normaliser);
  const auto sheet = sheet_of(worksheet, plan);
  const lessons::WorksheetRun run(plan, worksheet.normaliser);
  std::map<std::string, attn::Shape> shapes;  // of the steps as the lesson computes them, with the batch axis
  run.watched([&](const attn::Tapped& tapped) { shapes[tapped.id] = tapped.shape; });
  auto dump = dump_of(answers, sheet, shapes, path);
  const auto rerun = [&](const attn::Watch& watch) { run.watched(watch); };
  auto diagnosis = attn::diagnose(dump, rerun, conventions);
  diagnosis.missing.clear();
  for (const auto& step : sheet.asked)
    if (dump.tensors.count(step.event.id) == 0) {
      diagnosis.missing.push_back(step.event.id);
      diagnosis.blanks += step.written.size();
    }
  for (const auto& step : diagnosis.steps) diagnosis.blanks += step.blanks;
  return {std::move(plan), std::move(dump), std::move(diagnosis)};
}

Command parse_worksheet(int argc, char** argv) {
  if (argc == 2 && is_help(argv[1]))
    return PrintText{about_command("worksheet") +
                     "\nUsage: attnlab worksheet LESSON [options]\n       attnlab worksheet LESSON --help\n"};
  MakeWorksheet worksheet{.lesson = lessons::lesson_of_worksheet(lesson_asked_for("worksheet", argc, argv))};
  const auto command = fmt::format("worksheet {}", worksheet.lesson->name);
  CLI::App app(about_command("worksheet"), "attnlab " + command);
  prepare(app, examples_of("worksheet"));
  add_lesson_options(app, *worksheet.lesson, worksheet.options);
  add_options_of_worksheet(app, worksheet);
  app.remove_option(app.get_option("--input"));
  if (const auto help = read_all_arguments(app, command, argc - 1, argv + 1, of_worksheet)) return *help;
  if (worksheet.output && worksheet.output == worksheet.answers)
    throw Error(fmt::format("{}: --answers {} is the file of the sheet; valid: another file", command,
                            *worksheet.answers));
  return worksheet;
}

MakeWorksheet worksheet_of_command(const std::string& command) {
  const auto words = attn::shell_words(command);
  if (words.size() < 2 || words[0] != "attnlab" || words[1] != "worksheet")
    throw Error(fmt::format("\"{}\" prints no worksheet; valid: attnlab worksheet LESSON", command));
  const auto parsed = parse(words);
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
