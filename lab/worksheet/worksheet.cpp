#include "lab/worksheet/worksheet.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "attn/error.hpp"
#include "lab/option_values.hpp"
#include "lab/output.hpp"

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

std::string in_format(const attn::Sheet& sheet, const MakeWorksheet& worksheet,
                      const std::optional<std::string>& path, attn::SheetPages pages) {
  const auto format = worksheet.format.value_or(format_of_ending<SheetFormat>(
      path.value_or(""),
      {{".txt", SheetFormat::text}, {".html", SheetFormat::html}, {".json", SheetFormat::json}}));
  if (format == SheetFormat::html) return attn::sheet_as_html(sheet, pages);
  if (format == SheetFormat::text) return attn::sheet_as_text(sheet, pages);
  if (pages == attn::SheetPages::both)
    throw attn::Error(
        "--answers after needs a page after the sheet, which JSON has not; valid: none, only or a file");
  return attn::sheet_as_json(sheet, pages == attn::SheetPages::answers);
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
  std::string printed;
  const std::uint64_t last = worksheet.last_seed.value_or(worksheet.options.seed);
  for (std::uint64_t seed = worksheet.options.seed; seed <= last; ++seed) {
    auto one = worksheet;
    one.options.seed = static_cast<std::uint32_t>(seed);
    const auto path_of = [&](const std::string& path) {
      if (!worksheet.last_seed) return path;
      const std::filesystem::path whole(path);
      return (whole.parent_path() / fmt::format("{}-{:0{}}{}", whole.stem().string(), seed,
                                                std::to_string(last).size(), whole.extension().string()))
          .string();
    };
    const auto plan = lessons::plan_of_worksheet(*one.lesson, one.options, one.normaliser);
    const auto sheet = sheet_of(one, plan);
    auto text = in_format(sheet, one, one.output, one.pages);
    if (one.answers)
      files[path_of(*one.answers)] = in_format(sheet, one, one.answers, attn::SheetPages::answers);
    (one.output ? files[path_of(*one.output)] : printed) = std::move(text);
  }
  for (const auto& [path, text] : files) write_to_file(path, text);
  if (!printed.empty()) show(printed, worksheet.paging);
}

}  // namespace lab
