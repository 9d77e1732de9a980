#include "trace/diff/diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/utf8.hpp"
#include "lab/check/check.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "page/text/text.hpp"
#include "trace/diagnosis/names.hpp"
#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

namespace lab {

namespace {

using attn::DiffNames;
using attn::DiffSettings;
using attn::Error;

namespace fs = std::filesystem;

constexpr std::string_view blanks = " \t\r\n";

/// Whether it begins as an archive, an array of NumPy, a JSON object or the length of a safetensors header
/// does: a printed trace has no such beginning.
bool is_data(std::string_view start) {
  const auto visible = start.substr(std::min(start.find_first_not_of(blanks), start.size()));
  return start.starts_with("PK") || start.starts_with("\x93NUMPY") || visible.starts_with('{') ||
         start.find('\0') != std::string_view::npos;
}

struct DiffTraces {
  std::string a, b;  ///< files
  Comparison comparison{};
  bool is_quiet = false;  ///< nothing is printed, the exit status tells
  Paging paging = Paging::automatic;
};

/// What a comparison found.
struct DiffReport {
  std::string text;  ///< empty where there is nothing to say
  bool is_equal = true;
};

int tell(const DiffReport& report, bool is_quiet, Paging paging) {
  if (!is_quiet) show(report.text, paging);
  return report.is_equal ? 0 : 1;
}

/// A trace as a file holds it: what was printed, or data.
using TraceFile = std::variant<std::string, std::unique_ptr<attn::StoredTrace>>;

/// Opens a trace of either kind; its first bytes decide which. Both may come from a pipe, and "-" is standard
/// input. Throws attn::Error for a file that cannot be read or is neither.
TraceFile open_trace_file(const std::string& path) {
  constexpr const char* valid = "a trace as text, JSON, npz or safetensors";
  attn::File file(path, valid);
  const auto& text = file.bytes();
  if (is_data(std::string_view(text).substr(0, 64))) return attn::open_trace(std::move(file));
  if (text.find_first_not_of(blanks) == std::string::npos) attn::refuse(path, "it is empty", valid);
  attn::require_valid_utf8(text, path);
  return text;
}

/// The first line, from 1 on, in which two files of the same length differ; 0 where there is none. It tells
/// of digits that are too many to make another number.
std::size_t first_different_line(const std::string& path_a, const std::string& path_b) {
  std::error_code error;
  if (fs::file_size(path_a, error) != fs::file_size(path_b, error) || error) return 0;
  std::ifstream a(path_a, std::ios::binary), b(path_b, std::ios::binary);
  std::string line_a, line_b;
  for (std::size_t line = 1; std::getline(a, line_a) && std::getline(b, line_b); ++line)
    if (line_a != line_b) return line;
  return 0;
}

/// Of data or of text.
template <class Diff>
DiffReport report_of(const Diff& diff, const DiffNames& names, const Comparison& comparison) {
  return {comparison.format == Format::json ? attn::diff_as_json(diff, comparison.all)
                                            : attn::format_diff(diff, names, comparison.all),
          diff.verdict() != attn::Verdict::different};
}

/// A trace of some steps does not name the shapes of the others. So where the expected one has all steps, so
/// has the run, and what is not asked for is left out of both.
DiffReport compare_with_text(RunLesson run, const std::string& expected, const DiffNames& names) {
  DiffSettings settings = run.comparison;
  if (!attn::is_of_some_steps(expected)) settings.only = std::exchange(run.presentation.steps, {});
  run.presentation.format = Format::text;
  run.presentation.color = Color::never;
  run.presentation.width = run.presentation.width.value_or(attn::PageStyle{}.width);
  const auto page = run_lesson(run);
  auto diff = attn::compare_texts(expected, page.text, settings);
  diff.claims_of_b_hold = page.all_claims_hold;
  return report_of(diff, names, run.comparison);
}

/// A program's tensors as the run has them: without axes of length 1 before those of any tensor of the run.
attn::TensorsAsTrace without_axes_of_one(const attn::StoredTrace& file, const attn::StoredTrace& of_run) {
  attn::Tensors tensors;
  for (const auto& stored : file.tensors()) {
    auto shape = stored.shape;
    const auto is_in_run = [&] {
      return attn::any_of(of_run.tensors(), [&](const auto& tensor) { return tensor.shape == shape; });
    };
    while (!is_in_run() && shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
    auto tensor = file.read(stored.id);
    tensors.emplace(stored.id, is_in_run() ? attn::reshaped(tensor, shape) : std::move(tensor));
  }
  return {file.header(), std::move(tensors)};
}

/// Adds what common names of the file stand for in the run: "attn_output" is output, or, where that could be
/// several tensors of its shape, the one that is nearest in numbers. Returns that in words.
std::string add_common_names(DiffSettings& settings, const attn::StoredTrace& file,
                             const attn::StoredTrace& of_run) {
  std::vector<std::string> ids, taken;
  for (const auto& tensor : of_run.tensors())
    if (file.find(tensor.id) == nullptr) ids.push_back(tensor.id);
  for (const auto& tensor : file.tensors()) {
    if (of_run.find(tensor.id) != nullptr || attn::renamed(tensor.id, settings.renames) != tensor.id)
      continue;
    auto meant = attn::meaning_of(tensor.id, ids).ids;
    const auto is_step = [&](const auto& id) {
      return !id.empty() && of_run.find(id)->kind == attn::Kind::step;
    };
    const auto step = std::find_if(meant.begin(), meant.end(), is_step);
    const auto of_any_shape = step == meant.end() ? "" : *step;
    std::erase_if(meant, [&](const auto& id) {
      return id.empty() || of_run.find(id)->shape != tensor.shape;  // a part that the lesson lacks has no id
    });
    if (meant.empty() && !of_any_shape.empty()) meant = {of_any_shape};  // which is told
    if (meant.empty()) continue;
    const auto theirs = file.read(tensor.id);
    const auto apart = [&](const auto& id) { return distance(theirs.view(), of_run.read(id).view()); };
    const auto nearest = *std::min_element(meant.begin(), meant.end(),
                                           [&](const auto& a, const auto& b) { return apart(a) < apart(b); });
    settings.renames.emplace_back(tensor.id, nearest);
    taken.push_back(fmt::format("{} is taken for {}", tensor.id, nearest));
    std::erase(ids, nearest);
  }
  return taken.empty() ? "" : attn::format_paragraph(fmt::format("{}.", fmt::join(taken, ", ")));
}

/// What --only-common leaves out of the file.
std::string left_out(const DiffSettings& settings, const attn::StoredTrace& file,
                     const attn::StoredTrace& of_run) {
  std::vector<std::string> names;
  for (const auto& tensor : file.tensors())
    if (of_run.find(attn::renamed(tensor.id, settings.renames)) == nullptr) names.push_back(tensor.id);
  if (names.empty() || !settings.only_common || !settings.only.empty()) return "";
  return attn::format_paragraph(
      fmt::format("Left out, since this run has no such tensor: {}.", fmt::join(names, ", ")));
}

DiffReport compare_with_data(const RunLesson& run, const attn::StoredTrace& expected,
                             const DiffNames& names) {
  if (run.presentation.shapes)
    throw Error(fmt::format(
        "--shapes leaves out the numbers that {} has; valid: --shapes with a printed trace", *run.expected));
  DiffSettings settings = run.comparison;
  settings.only = run.presentation.steps;
  settings.a_is_expected = true;
  std::optional<attn::Recorder> recorder;
  const bool all_claims_hold = run_lesson_into(
      run, [&](const attn::Header& header) -> attn::Sink& { return recorder.emplace(header); });
  const bool is_of_program = expected.header().lesson.empty();
  std::optional<attn::TensorsAsTrace> fitted;
  if (is_of_program) fitted = without_axes_of_one(expected, *recorder);
  const auto& theirs = fitted ? *fitted : expected;
  const auto taken = is_of_program ? add_common_names(settings, theirs, *recorder) : "";
  auto diff = attn::compare_traces(theirs, *recorder, settings);
  diff.claims_of_b_hold = all_claims_hold;
  auto report = report_of(diff, names, run.comparison);
  if (run.comparison.format != Format::json)
    report.text = taken + report.text + hint_on_absent(diff, names) + left_out(settings, theirs, *recorder);
  return report;
}

/// JSON may have more digits than a number has. Archives have no words, which tells them from JSON.
std::string note_on_spelling(const attn::StoredTrace& a, const attn::StoredTrace& b, const DiffTraces& diff) {
  const bool are_json = !a.words().empty() && !b.words().empty();
  const auto line = are_json ? first_different_line(diff.a, diff.b) : 0;
  return line == 0 ? "" : fmt::format("equal as numbers, but not written the same: first in line {}\n", line);
}

/// Throws attn::Error where one cannot be read, or one is text and the other data.
DiffReport compare_files(const DiffTraces& diff) {
  const auto a = open_trace_file(diff.a), b = open_trace_file(diff.b);
  if (a.index() != b.index())
    throw Error(
        fmt::format("{} is a printed trace and {} is data; valid: two printed traces, or any two of "
                    "JSON, npz and safetensors",
                    a.index() == 0 ? diff.a : diff.b, a.index() == 0 ? diff.b : diff.a));
  if (const auto* text = std::get_if<std::string>(&a))
    return report_of(attn::compare_texts(*text, std::get<std::string>(b), diff.comparison), {},
                     diff.comparison);
  const auto found = attn::compare_traces(*std::get<1>(a), *std::get<1>(b), diff.comparison);
  auto report = report_of(found, {}, diff.comparison);
  if (diff.comparison.format != Format::json) report.text += attn::hint_on_absent(found, {});
  if (report.text.empty()) report.text = note_on_spelling(*std::get<1>(a), *std::get<1>(b), diff);
  return report;
}

}  // namespace

int compare_with_expected(const RunLesson& run) {
  const auto expected = open_trace_file(*run.expected);
  const DiffNames names{.a = std::filesystem::path(*run.expected).filename(), .b = "this run"};
  const auto* text = std::get_if<std::string>(&expected);
  return tell(text != nullptr ? compare_with_text(run, *text, names)
                              : compare_with_data(run, *std::get<1>(expected), names),
              run.is_quiet, run.presentation.paging);
}

void add_tolerance_options(CLI::App& app, Comparison& comparison, const char* heading) {
  const OptionGroup group(app, heading, "a comparison");
  group.add("atol", [&](const std::string& text) { comparison.absolute = parse_tolerance("atol", text); });
  group.add("rtol", [&](const std::string& text) { comparison.relative = parse_tolerance("rtol", text); });
  group.add("only-common", comparison.only_common);
  group.add("ignore-config", comparison.ignores_config);
  add_renames_option(group, comparison.renames);
}

Command parse_diff(int argc, char** argv) {
  CLI::App app(about_command("diff"), "attnlab diff");
  prepare(app, examples_of("diff"));
  DiffTraces diff;
  app.add_option("A", diff.a, "a trace, the one that B is held against")->type_name("FILE");
  app.add_option("B", diff.b, "another")->type_name("FILE");
  add_tolerance_options(app, diff.comparison, "What counts as equal");
  const char* const how_shown = "How it is shown";
  const OptionGroup shown(app, how_shown, "diff");
  shown.add("all", diff.comparison.all);
  shown.add_choice("format", diff.comparison.format, {{"text", Format::text}, {"json", Format::json}});
  shown.add("quiet", diff.is_quiet);
  add_paging_option(app, diff.paging)->group(how_shown);
  if (const auto help = read_all_arguments(app, "diff", argc, argv, how_shown, "two files: attnlab diff A B"))
    return *help;
  if (app.count("B") == 0)
    throw Error(fmt::format("diff takes two files, but {}; valid: attnlab diff A B",
                            app.count("A") == 0 ? "none is given" : diff.a + " is the only one"));
  return [diff] { return tell(compare_files(diff), diff.is_quiet, diff.paging); };
}

}  // namespace lab
