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

int carry_out(const DiffTraces& diff) {
  return print(compare_files(diff), diff.is_quiet, diff.paging);
}

int carry_out(const RunLesson& run) {
  if (run.expected) return print(compare_with_expected(run), run.is_quiet, run.presentation.paging);
  const auto page = run_lesson(run);
  if (run.presentation.output)
    write_to_file(*run.presentation.output, page.text);
  else
    show(page.text, run.presentation.paging);
  return page.all_claims_hold ? 0 : 1;
}

int carry_out(const RunBench& bench) {
  run_bench(bench);
  return 0;
}

int carry_out(const RunTraining& training) {
  return run_training(training);
}

int carry_out(const CheckDump& check) {
  return run_check(check);
}

int carry_out(const MakeProbe& probe) {
  run_probe(probe);
  return 0;
}

int carry_out(const BreakLesson& broken) {
  run_break(broken);
  return 0;
}

int carry_out(const ListMistakes& list) {
  list_mistakes(list);
  return 0;
}

int carry_out(const MakeWorksheet& worksheet) {
  run_worksheet(worksheet);
  return 0;
}

int carry_out(const TakeTour& tour) {
  return take_tour(tour) ? 0 : 1;
}

int carry_out(const ListLessons&) {
  std::string text;
  for (const auto* lesson : lessons::all_lessons())
    text += fmt::format("{:<18} {}\n", lesson->name, lesson->title);
  write_to_stdout(text);
  return 0;
}

int carry_out(const NewLesson& lesson) {
  write_new_lesson(lesson);
  return 0;
}

int carry_out(const CheckLesson& check) {
  return check_lesson(check) ? 0 : 1;
}

int carry_out(const MakeBook& make) {
  run_book(make);
  return 0;
}

int carry_out(const PrintManual& manual) {
  write_to_stdout(manual_page(manual));
  return 0;
}

int carry_out(const PrintText& print) {
  write_to_stdout(print.text);
  return 0;
}

}  // namespace

int carry_out(const Command& command) {
  return std::visit([](const auto& one) { return carry_out(one); }, command);
}

}  // namespace lab
