#include "lab/commands.hpp"

#include <fmt/format.h>

#include "lab/diff/diff.hpp"
#include "lab/output.hpp"
#include "lab/run_lesson.hpp"
#include "lab/tour.hpp"

namespace lab {

namespace {

int print(const DiffReport& report, bool is_quiet, Paging paging) {
  if (!is_quiet) show(report.text, paging);
  return report.is_equal ? 0 : 1;
}

int run(const RunLesson& run) {
  if (run.expected) return print(compare_with_expected(run), run.is_quiet, run.presentation.paging);
  const auto page = run_lesson(run);
  if (run.presentation.output)
    write_to_file(*run.presentation.output, page.text);
  else
    show(page.text, run.presentation.paging);
  return page.all_claims_hold ? 0 : 1;
}

std::string list_of_lessons() {
  std::string text;
  for (const auto* lesson : lessons::all_lessons())
    text += fmt::format("{:<18} {}\n", lesson->name, lesson->title);
  return text;
}

/// What is done for each of the commands.
template <class... Case>
struct Cases : Case... {
  using Case::operator()...;
};

}  // namespace

int carry_out(const Command& command) {
  const auto done = [](const auto& act, const auto& asked) {
    act(asked);
    return 0;
  };
  return std::visit(
      Cases{[](const DiffTraces& diff) { return print(compare_files(diff), diff.is_quiet, diff.paging); },
            [](const RunLesson& lesson) { return run(lesson); },
            [&](const RunBench& bench) { return done(run_bench, bench); },
            [](const RunTraining& training) { return run_training(training); },
            [](const CheckDump& check) { return run_check(check); },
            [&](const MakeProbe& probe) { return done(run_probe, probe); },
            [&](const BreakLesson& broken) { return done(run_break, broken); },
            [&](const ListMistakes& list) { return done(list_mistakes, list); },
            [&](const MakeWorksheet& worksheet) { return done(run_worksheet, worksheet); },
            [](const TakeTour& tour) { return take_tour(tour) ? 0 : 1; },
            [&](const ListLessons&) { return done(write_to_stdout, list_of_lessons()); },
            [&](const NewLesson& lesson) { return done(write_new_lesson, lesson); },
            [](const CheckLesson& check) { return check_lesson(check) ? 0 : 1; },
            [&](const MakeBook& make) { return done(run_book, make); },
            [&](const PrintManual& manual) { return done(write_to_stdout, manual_page(manual)); },
            [&](const PrintText& print) { return done(write_to_stdout, print.text); }},
      command);
}

}  // namespace lab
