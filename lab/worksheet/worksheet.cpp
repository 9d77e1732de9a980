#include "lab/worksheet/worksheet.hpp"

#include <fmt/format.h>

#include <map>

#include "attn/error.hpp"
#include "lab/option_values.hpp"
#include "lab/output.hpp"
#include "lab/seeds.hpp"

namespace lab {

namespace {

constexpr std::size_t most_numbers = 400;  // given and asked for
constexpr std::size_t widest_row = 12;     // numbers

/// The word as a shell takes it for one, on one line.
std::string as_word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                             "0123456789.,:=_+-") == std::string::npos;
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) {
    const bool is_white = c == '\n' || c == '\r' || c == '\t';
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, is_white ? ' ' : c);
  }
  return quoted + '\'';
}

void add_option(std::string& command, std::string_view flag, bool is_set) {
  if (is_set) command += fmt::format(" --{}", flag);
}
void add_option(std::string& command, std::string_view flag, const std::vector<std::string>& texts) {
  for (const auto& text : texts) command += fmt::format(" --{} {}", flag, as_word(text));
}
template <class Field>
void add_option(std::string& command, std::string_view flag, const Field& field) {
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
  const auto format = worksheet.format.value_or(format_of_ending<SheetFormat>(
      path.value_or(""),
      {{".txt", SheetFormat::text}, {".html", SheetFormat::html}, {".json", SheetFormat::json}}));
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

}  // namespace

attn::Sheet sheet_of(const MakeWorksheet& worksheet, const lessons::Plan& plan) {
  const auto& given = worksheet.lesson->worksheet->given;
  const bool in_fractions = worksheet.normaliser == lessons::Normaliser::sum;
  attn::SheetMaker maker(plan.header(), command_of(worksheet), {given.begin(), given.end()}, in_fractions);
  lessons::WorksheetRun(plan, worksheet.normaliser).tell(maker);
  auto sheet = maker.finish();
  require_work_for_a_pencil(sheet);
  return sheet;
}

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

}  // namespace lab
