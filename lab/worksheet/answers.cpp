#include "lab/worksheet/answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "page/worksheet/written.hpp"
#include "trace/entry.hpp"
#include "trace/wording.hpp"

namespace lab {

namespace {

/// The shapes of the steps as the lesson computes them, with the batch axis.
std::map<std::string, attn::Shape> shapes_of_steps(const lessons::WorksheetRun& run) {
  std::map<std::string, attn::Shape> shapes;
  run.watched([&](const attn::Tapped& tapped) { shapes[tapped.id] = tapped.shape; });
  return shapes;
}

/// Adds what is written for one step; nothing where all is blank.
void add_step(attn::Dump& dump, const std::string& id, const attn::Shape& shape,
              const std::vector<std::optional<attn::Written>>& numbers) {
  const auto is_blank = [](const auto& number) { return !number.has_value(); };
  if (std::all_of(numbers.begin(), numbers.end(), is_blank)) return;
  attn::AnyTensor tensor(attn::Dtype::float64, shape);
  auto& slacks = dump.slacks[id];
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    tensor.elements<double>()[i] = numbers[i] ? numbers[i]->value : 0.0;
    slacks.push_back(numbers[i] ? numbers[i]->slack : std::numeric_limits<double>::infinity());
  }
  dump.tensors.emplace(id, std::move(tensor));
}

/// Leaves out what is no number, and says so.
std::vector<std::string> readable(attn::Dump& dump, const std::string& id, const attn::Shape& shape,
                                  std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].find_first_not_of(" \t_?") == std::string::npos || attn::written_number(cells[i])) continue;
    auto place = attn::index_at(i, shape);
    place.erase(place.begin());  // of a batch of one
    dump.assume(
        fmt::format("{} at {}[{}] is no number and counts as blank; valid: a whole number, a decimal, a "
                    "fraction such as 3/7, or sqrt(2)/2.",
                    attn::in_message(cells[i]), id, fmt::join(place, ", ")));
    cells[i].clear();
  }
  return cells;
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
    const auto& shape = shapes.at(id);
    add_step(dump, id, shape,
             attn::written_numbers(readable(dump, id, shape, cells.mapped()), path + ": " + id));
  }
  for (const auto& [id, cells] : rest) dump.unknown.push_back(id);
  if (dump.tensors.empty())
    throw BlankSheet(
        fmt::format("{} is not filled in; valid: a number in one of its {} blanks", path, sheet.blanks()),
        sheet.blanks(), sheet.asked.size());
  return dump;
}

}  // namespace

JudgedSheet judge(const attn::Answers& answers, const MakeWorksheet& worksheet, const std::string& path,
                  const std::set<std::string>& conventions) {
  auto plan = lessons::plan_of_worksheet(*worksheet.lesson, worksheet.options, worksheet.normaliser);
  const auto sheet = sheet_of(worksheet, plan);
  const lessons::WorksheetRun run(plan, worksheet.normaliser);
  auto dump = dump_of(answers, sheet, shapes_of_steps(run), path);
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

}  // namespace lab
