#include "lab/tour.hpp"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "attn/text/width.hpp"
#include "lab/output.hpp"
#include "lab/pager.hpp"
#include "lab/run_lesson.hpp"

namespace lab {

namespace {

using lessons::Lesson;

std::string contents(const TakeTour& tour) {
  const auto& sentence = tour.options.sentence;
  auto text =
      sentence.empty() ? std::string("The tour\n\n") : fmt::format("The tour: \"{}\"\n\n", sentence.front());
  const auto& all = lessons::all_lessons();
  constexpr std::size_t columns = 80;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto start = fmt::format("{:>2} {:<17} ", i + 1, all[i]->name);
    const std::string margin(start.size(), ' ');
    for (const auto& line : attn::wrap(all[i]->title, columns - margin.size())) {
      text += start + line + '\n';
      start = margin;
    }
  }
  return text;
}

void take_sentences(lessons::Options& options, const Lesson& lesson, const TakeTour& tour) {
  options.sentence.clear();
  options.source.clear();
  options.target.clear();
  if (lesson.uses("sentence")) {
    options.sentence = tour.options.sentence;
  } else if (lesson.uses("source")) {
    options.source = tour.options.sentence;
    options.target = tour.options.target;
  }
}

/// The lesson with its defaults, on the tour's sentences where there are some.
RunLesson stop_at(const Lesson& lesson, const TakeTour& tour) {
  RunLesson run{.lesson = &lesson, .options = lesson.defaults, .presentation = tour.presentation};
  auto& options = run.options;
  if (!tour.options.sentence.empty()) take_sentences(options, lesson, tour);
  options.seed = tour.options.seed;
  options.rng = tour.options.rng;
  options.draws = tour.options.draws;
  options.typed = tour.options.typed;
  options.dtype = tour.options.dtype;
  return run;
}

/// The terminal hands over each key at once and shows none, for as long as this lives. What was typed ahead
/// is dropped, and so is the rest of a key that sends several characters.
class KeyByKey {
 public:
  KeyByKey() {
    tcgetattr(STDIN_FILENO, &before_);
    auto settings = before_;
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    settings.c_cc[VMIN] = 1;
    settings.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings);
  }
  ~KeyByKey() { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_); }
  KeyByKey(const KeyByKey&) = delete;
  KeyByKey& operator=(const KeyByKey&) = delete;

  /// Nothing at the end of the input.
  std::optional<char> next() const {
    char key = 0;
    return ::read(STDIN_FILENO, &key, 1) == 1 ? std::optional(key) : std::nullopt;
  }

 private:
  termios before_{};
};

bool leaves(char key) {
  constexpr char control_c = 3, control_d = 4;
  return key == 'q' || key == 'Q' || key == control_c || key == control_d;
}

/// Whether the reader wants to go on; an end of input is a no.
bool wants_to_go_on(std::size_t next) {
  const auto& all = lessons::all_lessons();
  const KeyByKey terminal;
  write_to_stdout(
      fmt::format("\n— any key: {}, {} of {} · q: leave the tour —", all[next]->name, next + 1, all.size()));
  const auto key = terminal.next();
  write_to_stdout("\r\x1B[K");
  return key && !leaves(*key);
}

bool is_read_by_a_person(const TakeTour& tour) {
  return isatty(STDIN_FILENO) == 1 && stdout_is_terminal() && !tour.presentation.output;
}

bool go_page_by_page(const TakeTour& tour) {
  const auto& all = lessons::all_lessons();
  bool all_claims_hold = true;
  show(contents(tour), tour.presentation.paging);
  for (auto i = tour.first; i < all.size() && wants_to_go_on(i); ++i) {
    const auto page = run_lesson(stop_at(*all[i], tour));
    show(page.text, tour.presentation.paging);
    all_claims_hold = all_claims_hold && page.all_claims_hold;
  }
  return all_claims_hold;
}

bool go_at_once(const TakeTour& tour) {
  const auto& all = lessons::all_lessons();
  bool all_claims_hold = true;
  auto text = contents(tour);
  for (auto i = tour.first; i < all.size(); ++i) {
    const auto page = run_lesson(stop_at(*all[i], tour));
    text += "\n\n" + page.text;
    all_claims_hold = all_claims_hold && page.all_claims_hold;
  }
  if (tour.presentation.output)
    write_to_file(*tour.presentation.output, text);
  else
    show(text, tour.presentation.paging);
  return all_claims_hold;
}

}  // namespace

bool take_tour(const TakeTour& tour) {
  return is_read_by_a_person(tour) ? go_page_by_page(tour) : go_at_once(tour);
}

}  // namespace lab
