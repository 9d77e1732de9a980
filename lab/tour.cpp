#include "lab/tour.hpp"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "lab/output.hpp"
#include "lab/run_lesson.hpp"

namespace lab {

namespace {

using lessons::Lesson;

std::string contents(const TakeTour& tour) {
  auto text = fmt::format("The tour: \"{}\"\n\n", tour.options.sentence.front());
  const auto& all = lessons::all_lessons();
  for (std::size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{:>4}  {:<18} {}\n", i + 1, all[i]->name, all[i]->title);
  return text;
}

/// The lesson with its defaults, on the tour's sentences.
RunLesson stop_at(const Lesson& lesson, const TakeTour& tour) {
  RunLesson run{.lesson = &lesson, .options = lesson.defaults, .presentation = tour.presentation};
  auto& options = run.options;
  options.sentence.clear();
  options.source.clear();
  options.target.clear();
  if (lesson.uses("sentence")) {
    options.sentence = tour.options.sentence;
  } else if (lesson.uses("source")) {
    options.source = tour.options.sentence;
    options.target = tour.options.target;
  }
  options.seed = tour.options.seed;
  options.rng = tour.options.rng;
  options.dtype = tour.options.dtype;
  return run;
}

/// The terminal hands over each key at once and shows none, for as long as this lives.
class KeyByKey {
 public:
  KeyByKey() {
    tcgetattr(STDIN_FILENO, &before_);
    auto settings = before_;
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  }
  ~KeyByKey() { tcsetattr(STDIN_FILENO, TCSANOW, &before_); }
  KeyByKey(const KeyByKey&) = delete;
  KeyByKey& operator=(const KeyByKey&) = delete;

 private:
  termios before_{};
};

/// Whether the reader wants to go on; an end of input is a no.
bool wants_to_go_on(const Lesson& next) {
  write_to_stdout(fmt::format("\n— any key: {} · q: leave the tour —", next.name));
  char key = 'q';
  const KeyByKey terminal;
  const bool was_read = ::read(STDIN_FILENO, &key, 1) == 1;
  write_to_stdout("\r\x1B[K");
  return was_read && key != 'q' && key != 'Q';
}

}  // namespace

bool take_tour(const TakeTour& tour) {
  const bool is_read_by_a_person =
      isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && !tour.presentation.output;
  bool all_claims_hold = true;
  auto text = contents(tour);
  for (const auto* lesson : lessons::all_lessons()) {
    if (is_read_by_a_person) {
      write_to_stdout(std::exchange(text, {}));
      if (!wants_to_go_on(*lesson)) return all_claims_hold;
    }
    const auto page = run_lesson(stop_at(*lesson, tour));
    all_claims_hold = all_claims_hold && page.all_claims_hold;
    text += (is_read_by_a_person ? "" : "\n\n") + page.text;
  }
  if (tour.presentation.output)
    write_to_file(*tour.presentation.output, text);
  else
    write_to_stdout(text);
  return all_claims_hold;
}

}  // namespace lab
