#include "lab/check/check.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "attn/error.hpp"
#include "lab/check/checked.hpp"
#include "lab/check/grades.hpp"
#include "lab/option_values.hpp"
#include "lab/output.hpp"

namespace lab {

namespace {

CheckFormat format_of(const CheckDump& check) {
  if (check.format) return *check.format;
  return format_of_ending<CheckFormat>(
      check.output.value_or(""),
      {{".txt", CheckFormat::text}, {".json", CheckFormat::json}, {".csv", CheckFormat::csv}});
}

void give(const std::string& text, const CheckDump& check) {
  if (check.output)
    write_to_file(*check.output, text);
  else
    show(text, check.paging);
}

bool is_on_github() {
  const char* const value = std::getenv("GITHUB_ACTIONS");
  return value != nullptr && std::string_view(value) == "true";
}

/// Writes the cases for whom they are: a file, or GitHub Actions, which reads what its runs print.
void give(const std::vector<Case>& cases, const CheckDump& check) {
  const auto suite = fmt::format("attnlab check {}", check.lesson->name);
  if (check.junit) write_to_file(*check.junit, junit_of(suite, cases));
  if (is_on_github()) fmt::print(stderr, "{}", annotations_of(suite, cases));
}

}  // namespace

int run_check(const CheckDump& check) {
  const auto format = format_of(check);
  if (check.folder) {
    const auto graded = grade_folder(check, format);
    give(graded.cases, check);
    give(graded.table, check);
    return graded.status;
  }
  if (format == CheckFormat::csv)
    throw attn::Error(
        fmt::format("check {}: csv is a table of many files; valid: with --folder DIR", check.lesson->name));
  const auto checked = check_file(check, *check.dump);
  if (check.junit || is_on_github())
    give(cases_of(check, checked, report(check, checked, *check.dump, CheckFormat::text)), check);
  give(report(check, checked, *check.dump, format), check);
  return checked.diagnosis.is_right() && checked.diagnosis.blanks == 0 ? 0 : 1;
}

}  // namespace lab
