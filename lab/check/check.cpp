#include "lab/check/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "lab/worksheet/worksheet.hpp"
#include "lessons/workbench/exercises.hpp"
#include "page/html/markup.hpp"
#include "trace/csv.hpp"
#include "trace/diagnosis/catalogue.hpp"

namespace lab {

namespace {

using attn::Dump;
using attn::Error;
using attn::html::escaped;
using lessons::Lesson;
using lessons::Plan;

/// Lines of text in an element of XML: each is escaped, and the breaks between them stay.
std::string escaped_lines(const std::string& text) {
  std::string lines;
  std::istringstream parts(text);
  for (std::string line; std::getline(parts, line);) lines += escaped(line) + '\n';
  return lines;
}

/// As GitHub's workflow commands have it; in a property a colon and a comma are signs of the command, too.
std::string encoded(const std::string& text, bool is_property) {
  std::string result;
  for (const char c : text)
    if (c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ',')))
      result += fmt::format("%{:02X}", static_cast<unsigned>(c));
    else
      result += c;
  return result;
}

/// What a check says of a step, or of a file of a folder, as a test says it.
struct Case {
  std::string name;
  std::string problem{};  ///< in a line; empty where all is right
  std::string details{};  ///< the report
};

/// The cases as a suite in JUnit's XML, which Jenkins, GitLab, GitHub's and Azure's actions show.
std::string junit_of(const std::string& suite, const std::vector<Case>& cases) {
  const auto failures =
      std::count_if(cases.begin(), cases.end(), [](const Case& one) { return !one.problem.empty(); });
  auto xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\">\n",
      escaped(suite), cases.size(), failures);
  for (const auto& [name, problem, details] : cases) {
    xml += fmt::format("<testcase classname=\"{}\" name=\"{}\"", escaped(suite), escaped(name));
    xml += problem.empty() ? "/>\n"
                           : fmt::format(">\n<failure message=\"{}\">{}</failure>\n</testcase>\n",
                                         escaped(problem), escaped_lines(details));
  }
  return xml + "</testsuite>\n</testsuites>\n";
}

/// A line for each problem that GitHub Actions shows beside a run: "::error title=…::…".
std::string annotations_of(const std::string& suite, const std::vector<Case>& cases) {
  std::string lines;
  for (const auto& [name, problem, details] : cases)
    if (!problem.empty())
      lines += fmt::format("::error title={}::{}\n", encoded(suite + ", " + name, true),
                           encoded(problem + (details.empty() ? "" : "\n" + details), false));
  return lines;
}

/// The files of a folder and of those inside it, as a folder for each student has them. A folder of CSV files
/// is one dump. One that holds nothing is there itself.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, const Lesson& lesson,
                                            std::error_code& error) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::vector<std::filesystem::path> inside;
    if (entry.is_directory() && !is_csv_dump(entry.path(), lesson))
      inside = files_in(entry.path(), lesson, error);
    if (inside.empty() && (entry.is_directory() || entry.is_regular_file())) inside = {entry.path()};
    files.insert(files.end(), inside.begin(), inside.end());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// One file of a folder in a line.
struct Grade {
  std::string file, status, step{}, mistakes{};
  std::size_t wrong_entries = 0;
  std::optional<std::uint32_t> seed{};  ///< of the probe or the sheet
  std::string student{}, probe{};
  std::size_t steps_right = 0, steps_wrong = 0;
  std::size_t steps_missing = 0;  ///< of a sheet those left empty, of a dump the results that it lacks
  std::size_t blanks = 0;         ///< places of a sheet that are empty
  std::string same_probe_as{};    ///< the first file of the folder that is of the same probe
  std::vector<std::string> assumptions{};  ///< on what the file holds, as sentences
  std::size_t right_entries = 0;
  std::string message{};  ///< why it was not checked

  const std::string& name() const { return file.empty() ? probe : file; }
  bool is_checked() const { return status == "right" || status == "wrong" || status == "incomplete"; }
  bool is_right() const { return status == "right" || (status == "incomplete" && blanks == 0); }
};

/// "scale-d-k|scale-twice" where one of them was made, "no-scale+gqa-tile" where both were; those of the same
/// numbers stand together.
std::string mistakes_in_table(const attn::StepVerdict& step) {
  std::vector<std::string> names;
  for (const auto& group : attn::mistakes_of_same_numbers(step.mistakes))
    names.push_back(fmt::format("{}", fmt::join(group, "|")));
  return fmt::format("{}", fmt::join(names, step.made_together ? "+" : "|"));
}

/// How many of the results that the lesson is asked for the dump lacks.
std::size_t missing_results(const Plan& plan, const Dump& dump) {
  const auto results = lessons::results_of(plan, lessons::steps_with({}, plan));
  const auto is_missing = [&](const auto& id) { return dump.tensors.count(id) == 0; };
  return static_cast<std::size_t>(std::count_if(results.begin(), results.end(), is_missing));
}

/// What is said of a wrong step, as far as the hint goes; nothing where it says no more than which step it
/// is.
std::string problem_of(const attn::StepVerdict& step, const CheckDump& check, const Checked& checked) {
  if (check.hint == attn::Hint::where) return "";
  if (step.finding == attn::Finding::shape) return "a wrong shape";
  if (!step.mistakes.empty())
    return check.hint == attn::Hint::family ? attn::families_of(step) : mistakes_in_table(step);
  if (step.nans > 0) return "nan";
  return checked.probe.empty() || checked.shows_its_probe ? "unknown" : "unknown, or of another probe";
}

/// The seed and the name on a sheet that is not filled in.
Grade grade_of_blank(const std::string& file, const std::filesystem::path& path, const BlankSheet& blank) {
  Grade grade{file, "incomplete"};
  grade.blanks = blank.blanks;
  grade.steps_missing = blank.steps;
  grade.message = blank.what();
  if (const auto answers = attn::read_answers(attn::File(path.string()))) {
    grade.student = answers->student;
    grade.seed = worksheet_of_command(answers->command).options.seed;
  }
  return grade;
}

/// A file of a folder: what its line in the table says.
Case case_of(const Grade& grade) {
  const auto problem = fmt::format("{} {} {}{}", grade.status, grade.step, grade.mistakes, grade.message);
  return {.name = grade.name(),
          .problem = grade.is_right() ? "" : problem.substr(0, problem.find_last_not_of(' ') + 1)};
}

/// With --output DIR/ the report of a file goes into that folder, under its own name.
void write_report(const CheckDump& check, const Checked& checked, const std::filesystem::path& path,
                  std::string file) {
  std::replace(file.begin(), file.end(), '/', '-');
  const auto format = check.format == CheckFormat::json ? CheckFormat::json : CheckFormat::text;
  const auto* ending = format == CheckFormat::json ? ".json" : ".txt";
  const auto name = (std::filesystem::path(*check.reports) / (file + ending)).string();
  make_folder_of(name);
  write_to_file(name, report(check, checked, path, format));
}

/// Counts a step, and names what is wrong with it as far as the hint goes.
void count(Grade& grade, const attn::StepVerdict& step, const CheckDump& check, const Checked& checked) {
  if (step.finding == attn::Finding::not_judged) return;
  const bool has_shape = step.finding != attn::Finding::shape;
  const auto entries = attn::element_count(step.right_shape);
  if (has_shape) grade.right_entries += entries - step.different - step.blanks;
  if (has_shape && step.finding != attn::Finding::wrong) {
    ++(step.blanks > 0 ? grade.steps_missing : grade.steps_right);
    return;
  }
  ++grade.steps_wrong;
  if (grade.step.empty()) grade.step = step.id;
  grade.status = "wrong";
  grade.wrong_entries += has_shape ? step.different : entries;
  const auto names = problem_of(step, check, checked);
  if (grade.mistakes.find(names) == std::string::npos)
    grade.mistakes += (grade.mistakes.empty() ? "" : " ") + names;
}

/// "right", "wrong", "unreadable", "other probe", "unknown probe" or, of a worksheet with blanks and of a
/// file that lacks inputs, "incomplete"; the first wrong step, and what is said of it.
Grade grade(const CheckDump& check, const std::filesystem::path& path) {
  Grade grade{path.lexically_relative(*check.folder).string(), "right"};
  try {
    const auto checked = check_file(check, path.string());
    if (check.reports) write_report(check, checked, path, grade.file);
    const bool is_sheet = !checked.dump.slacks.empty();
    if (is_sheet || !checked.probe.empty()) grade.seed = checked.plan.options.seed;
    const bool is_folder = check.probe && std::filesystem::is_directory(*check.probe);
    grade.student = is_folder ? std::filesystem::path(checked.probe).stem().string() : checked.student;
    grade.probe = checked.probe;
    grade.blanks = checked.diagnosis.blanks;
    grade.assumptions = checked.dump.assumptions;
    grade.steps_missing =
        is_sheet ? checked.diagnosis.missing.size() : missing_results(checked.plan, checked.dump);
    if ((is_sheet && !checked.diagnosis.is_complete()) || checked.diagnosis.leaves_open())
      grade.status = "incomplete";
    for (const auto& step : checked.diagnosis.steps) count(grade, step, check, checked);
  } catch (const BlankSheet& blank) {
    return grade_of_blank(grade.file, path, blank);
  } catch (const OtherProbe& error) {
    return {.file = grade.file, .status = "other probe", .message = error.what()};
  } catch (const UnknownProbe& error) {
    return {.file = grade.file, .status = "unknown probe", .message = error.what()};
  } catch (const Error& error) {
    return {.file = grade.file, .status = "unreadable", .message = error.what()};
  }
  return grade;
}

nlohmann::ordered_json as_json(const Grade& one) {
  return {{"file", one.file},
          {"status", one.status},
          {"step", one.step},
          {"mistakes", one.mistakes},
          {"wrong_entries", one.wrong_entries},
          {"seed", one.seed ? nlohmann::ordered_json(*one.seed) : nullptr},
          {"name", one.student},
          {"probe", one.probe},
          {"steps_right", one.steps_right},
          {"steps_wrong", one.steps_wrong},
          {"steps_missing", one.steps_missing},
          {"blanks", one.blanks},
          {"same_probe_as", one.same_probe_as},
          {"assumptions", one.assumptions},
          {"right_entries", one.right_entries},
          {"message", one.message}};
}

std::string table_of(const std::vector<Grade>& grades, CheckFormat format) {
  nlohmann::ordered_json files;
  for (const auto& one : grades) files.push_back(as_json(one));
  if (format == CheckFormat::csv) return attn::csv_of(files);
  if (format == CheckFormat::json) {
    const nlohmann::ordered_json document = {{"schema", "attnlab.grades/1"}, {"files", files}};
    return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  }
  std::string text;
  std::size_t file = 0, step = 0;
  for (const auto& one : grades) {
    file = std::max(file, attn::display_width(one.name()));
    step = std::max(step, attn::display_width(one.step));
  }
  for (const auto& one : grades) {
    auto line = fmt::format("{}  {:<13}  {}  {}{}", attn::pad_right(one.name(), file), one.status,
                            attn::pad_right(one.step, step), one.mistakes + one.message,
                            one.same_probe_as.empty() ? "" : "  same probe as " + one.same_probe_as);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

/// Says of which file of the folder another is a second one, and adds the probes of the lesson that have
/// none.
void compare_with_probes(const CheckDump& check, std::vector<Grade>& grades) {
  if (!check.probe || !std::filesystem::is_directory(*check.probe) || attn::has_csv_files(*check.probe))
    return;
  std::map<std::string, std::string> first_of;
  std::set<std::string> handed_in;
  for (auto& one : grades) {
    const std::filesystem::path file(one.file);
    handed_in.insert({file.stem().string(), file.parent_path().filename().string()});
    if (one.probe.empty()) continue;
    handed_in.insert(one.student);
    const auto [first, is_first] = first_of.try_emplace(one.probe, one.file);
    if (!is_first) one.same_probe_as = first->second;
  }
  for (const auto& path : probes_in(*check.probe)) {
    const auto probe = attn::open_trace(path.string());
    const auto name = path.stem().string();
    if (probe->header().text(id_of_probe).empty() || probe->header().lesson != check.lesson->name ||
        handed_in.count(name) > 0)
      continue;
    auto of_probe = check;
    of_probe.probe = path.string();
    const auto plan = inputs_of(of_probe, *probe, path.string()).plan;
    grades.push_back({.file = "",
                      .status = "missing",
                      .seed = plan.options.seed,
                      .student = name,
                      .probe = path.filename().string(),
                      .steps_missing = missing_results(plan, {})});
  }
}

/// A case for each step of a checked file, and for each that a worksheet leaves empty. The report stands in
/// the first that is not right.
std::vector<Case> cases_of(const CheckDump& check, const Checked& checked, const std::string& report) {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const std::string& problem) {
    const bool is_first = attn::all_of(cases, [](const Case& one) { return one.problem.empty(); });
    cases.push_back({name, problem, !problem.empty() && is_first ? report : ""});
  };
  for (const auto& step : checked.diagnosis.steps) {
    const auto problem = step.is_wrong() ? problem_of(step, check, checked) : "";
    add(step.id, step.finding == attn::Finding::not_judged
                     ? fmt::format("not judged: it follows from what is {}",
                                   step.misshapen.empty() ? "missing" : "of another shape")
                 : step.blanks > 0  ? fmt::format("{} places are blank", step.blanks)
                 : !step.is_wrong() ? ""
                                    : "wrong" + (problem.empty() ? "" : ": " + problem));
  }
  if (!checked.dump.slacks.empty())
    for (const auto& id : checked.diagnosis.missing) add(id, "left empty");
  return cases;
}

bool is_on_github() {
  return environment("GITHUB_ACTIONS") == "true";
}

/// Writes the cases for whom they are: a file, or GitHub Actions, which reads what its runs print.
void give(const std::vector<Case>& cases, const CheckDump& check) {
  const auto suite = fmt::format("attnlab check {}", check.lesson->name);
  if (check.junit) write_to_file(*check.junit, junit_of(suite, cases));
  if (is_on_github()) fmt::print(stderr, "{}", annotations_of(suite, cases));
}

/// Checks every file of the folder and of those inside it; with a folder of probes tells which of them nobody
/// handed in. Writes a report of each file where `check.reports` is a folder. Returns the exit status. Throws
/// attn::Error for a folder that cannot be read or holds nothing.
int grade_folder(const CheckDump& check, CheckFormat format) {
  std::error_code error;
  const auto files = files_in(*check.folder, *check.lesson, error);
  if (error || files.empty())
    throw Error(fmt::format("--folder {} {}; valid: a folder of dumps", *check.folder,
                            error ? "cannot be read: " + error.message() : "holds no file"));
  std::vector<Grade> grades;
  for (const auto& path : files) grades.push_back(grade(check, path));
  compare_with_probes(check, grades);
  std::vector<Case> cases;
  for (const auto& one : grades) cases.push_back(case_of(one));
  give(cases, check);
  write_or_show(table_of(grades, format), check.output, check.paging);
  if (!attn::any_of(grades, [](const Grade& one) { return one.is_checked(); })) return 2;
  return attn::all_of(grades, [](const Grade& one) { return one.is_right(); }) ? 0 : 1;
}

}  // namespace

int run_check(const CheckDump& check) {
  const auto format = format_asked_for<CheckFormat>(
      check.format, check.output,
      {{"text", CheckFormat::text}, {"json", CheckFormat::json}, {"csv", CheckFormat::csv}});
  if (check.folder) return grade_folder(check, format);
  if (format == CheckFormat::csv)
    throw attn::Error(
        fmt::format("check {}: csv is a table of many files; valid: with --folder DIR", check.lesson->name));
  const auto checked = check_file(check, *check.dump);
  if (check.junit || is_on_github())
    give(cases_of(check, checked, report(check, checked, *check.dump, CheckFormat::text)), check);
  write_or_show(report(check, checked, *check.dump, format), check.output, check.paging);
  return checked.diagnosis.is_right() && checked.diagnosis.blanks == 0 ? 0 : 1;
}

}  // namespace lab
