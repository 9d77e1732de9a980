#include <fmt/format.h>
#include <fmt/ranges.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "lab/ranks.hpp"
#include "lessons/documents/cpp_program.hpp"
#include "lessons/workbench/own_inputs.hpp"
#include "page/html/html.hpp"
#include "page/svg/svg.hpp"
#include "page/text/plain.hpp"
#include "page/text/text.hpp"
#include "trace/archives.hpp"
#include "trace/filter.hpp"
#include "trace/json/json.hpp"
#include "trace/program.hpp"

namespace lab {

namespace {

constexpr std::size_t widest_page = 120;  // columns, unless more are asked for: longer lines are hard to read

Format format_of(const Presentation& presentation) {
  if (!presentation.format && presentation.output) require_writable(*presentation.output);
  return format_asked_for(presentation.format, presentation.output, formats());
}

bool is_picture(Format format) {
  return format == Format::svg || format == Format::png || format == Format::pdf;
}

/// Whether it holds the inputs and code that computes all else.
bool is_script(Format format) {
  return format == Format::python || format == Format::cpp;
}

/// Archives hold numbers, and neither they nor pixels are text for a terminal.
void check(const Presentation& shown, Format format) {
  using attn::Error;
  const auto& name = formats()[static_cast<std::size_t>(format)].first;
  const bool is_archive = format == Format::npz || format == Format::safetensors;
  if (shown.shapes && is_archive)
    throw Error(fmt::format("--shapes leaves no numbers to store as {}; valid: --format text or json", name));
  if ((is_archive || format == Format::png || format == Format::pdf) && !shown.output && stdout_is_terminal())
    throw Error(
        fmt::format("--format {0} is no text for a terminal; valid: --output FILE.{0}, or a pipe", name));
  if (is_script(format) && shown.shapes)
    throw Error(
        fmt::format("--shapes leaves out what the {} of --format {} computes with; valid: without --shapes",
                    format == Format::cpp ? "program" : "script", name));
  if (shown.style.brief && format != Format::html)
    throw Error("--brief shortens a page of HTML; valid: with --format html");
  if (!shown.of_picture.empty() && !is_picture(format))
    throw Error(
        fmt::format("--{} is of a picture; valid: with --format svg, png or pdf, or --output FILE.svg",
                    shown.of_picture));
  if (!shown.explain.empty() && (format != Format::text || shown.shapes || !shown.steps.empty()))
    throw Error(
        "--explain shows entries as text and nothing else; valid: --format text, no --steps, no --shapes");
}

bool is_colored(const Presentation& presentation) {
  if (presentation.style.plain) return false;
  if (presentation.color != Color::automatic) return presentation.color == Color::always;
  return !presentation.output && stdout_is_terminal() && environment("NO_COLOR").value_or("").empty() &&
         !terminal_is_dumb();
}

attn::Header header_of(const RunLesson& run, const lessons::Plan& plan) {
  auto header = plan.header();
  const auto& shown = run.presentation;
  const auto list = [](const auto& texts) { return texts.empty() ? attn::ConfigValue{} : texts; };
  header.config.emplace_back("steps", list(shown.steps));
  header.config.emplace_back("explain", list(shown.explain));
  header.config.emplace_back("shapes", shown.shapes);
  header.config.emplace_back("precision", std::int64_t{shown.style.precision});
  header.config.emplace_back("full", shown.style.full);
  header.config.emplace_back("all", shown.style.all);
  if (shown.style.precision == attn::PageStyle().precision) header.usual.insert("precision");
  return header;
}

std::size_t width_of(const Presentation& presentation) {
  if (presentation.width) return *presentation.width;
  const auto screen = presentation.output ? std::nullopt : screen_of_stdout();
  return screen ? std::min(screen->columns, widest_page) : attn::PageStyle{}.width;
}

bool weights_are_by_hand(const lessons::Plan& plan) {
  const auto& trained = plan.lesson->trained;
  return trained && trained->hand_made != nullptr && plan.options.model == trained->task;
}

attn::PageStyle style_of(const Presentation& presentation, const lessons::Plan& plan) {
  auto style = presentation.style;
  style.all = style.all || !presentation.steps.empty();
  style.color = is_colored(presentation);
  style.width = width_of(presentation);
  style.weights_by_hand = weights_are_by_hand(plan);
  return style;
}

attn::PictureStyle picture_style_of(const Presentation& presentation, const lessons::Plan& plan) {
  auto style = presentation.picture;
  style.picture = plan.lesson->picture;
  style.takes_all = !presentation.steps.empty();
  style.weights_by_hand = weights_are_by_hand(plan);
  return style;
}

/// Runs the lesson into the sink, through the filter that --steps and --shapes ask for, unless its numbers
/// would make a text that is too long to be of use; a script needs every input and all code, whatever it
/// asserts. Returns whether every claim held.
bool run_into(attn::Sink& sink, const RunLesson& run, const lessons::Plan& plan) {
  using Always = attn::Filter::Always;
  constexpr std::size_t most_numbers = 5'000'000;  // of about 20 bytes
  const auto& shown = run.presentation;
  const auto format = format_of(shown);
  const bool makes_script = is_script(format);
  const bool is_limited = (format == Format::json || makes_script) && !shown.style.full && !shown.shapes;
  std::size_t numbers = 0;
  attn::EachEvent limited([&](const attn::Event& event) {
    if (event.tensor && (event.kind == attn::Kind::input || !makes_script))
      numbers += attn::element_count(event.tensor->shape);
    if (is_limited && numbers > most_numbers)
      throw attn::Error(
          fmt::format("{} would be a text of more than 100 MB: {} and what stands before it "
                      "have {} numbers; valid: --format npz, fewer --steps, or --full",
                      makes_script ? "the program" : "JSON", event.id, numbers));
    sink.receive(event);
  });
  ProgressOfRun progress(limited, run.lesson->name);
  attn::Filter filter(progress, shown.steps, shown.shapes,
                      makes_script ? Always::all_but_steps : Always::nothing);
  const bool all_claims_hold = lessons::run(*run.lesson, plan, filter);
  filter.require_all_seen();
  return all_claims_hold;
}

template <class Renderer>
Page render(const RunLesson& run, const lessons::Plan& plan, Renderer&& renderer) {
  const bool all_claims_hold = run_into(renderer, run, plan);
  return {renderer.finish(), all_claims_hold};
}

Page explain(const RunLesson& run, const lessons::Plan& plan) {
  const auto style = style_of(run.presentation, plan);
  auto page = render(run, plan,
                     attn::Explanation(run.presentation.explain, style.precision, style.width, style.full));
  if (const auto origin = plan.header().text(attn::origin_of_numbers); origin.starts_with("drawn"))
    page.text += "\nAll numbers come from inputs that were " + origin + ".\n";
  if (style.plain) page.text = attn::in_ascii(page.text);
  return page;
}

/// A picture, as SVG or as what is made of that.
Page draw(const RunLesson& run, const lessons::Plan& plan, const attn::Header& header, Format format) {
  attn::SvgRenderer renderer(header, picture_style_of(run.presentation, plan));
  auto page = render(run, plan, renderer);
  for (const auto& remark : renderer.remarks()) fmt::print(stderr, "attnlab: {}\n", remark);
  if (format == Format::svg) return page;
  const bool is_dark = run.presentation.picture.theme == attn::PictureTheme::dark;
  const auto paper = attn::svg::palette(is_dark ? attn::svg::Theme::dark : attn::svg::Theme::light).paper;
  page.text = converted(page.text, format == Format::png ? "png" : "pdf", attn::svg::hex(paper),
                        !run.presentation.picture.size);
  return page;
}

/// The options of the run; a script or a program has its own language, whatever the page shows.
lessons::Options options_of(const RunLesson& run) {
  auto options = run.options;
  if (format_of(run.presentation) == Format::python) options.code = "numpy";
  if (format_of(run.presentation) != Format::cpp) return options;
  if (!run.lesson->uses("code")) {
    std::vector<std::string_view> valid;
    for (const auto* lesson : lessons::all_lessons())
      if (lesson->uses("code")) valid.push_back(lesson->name);
    throw attn::Error(
        fmt::format("--format cpp: {} has no code in xtensor yet; valid: --format python, or the lessons {}",
                    run.lesson->name, fmt::join(valid, ", ")));
  }
  options.code = "xtensor";
  return options;
}

/// Under mpirun there are as many ranks as it started.
lessons::Plan plan_of(const RunLesson& run) {
  auto* const others = network();
  auto options = options_of(run);
  if (others == nullptr) return lessons::make_plan(*run.lesson, options);
  if (options.is_typed("ranks") && options.ranks != others->ranks())
    throw attn::Error(fmt::format("--ranks {}, but mpirun started {}; valid: --ranks {}, or without it",
                                  *options.ranks, others->ranks(), others->ranks()));
  options.ranks = others->ranks();
  auto plan = lessons::make_plan(*run.lesson, options);
  plan.network = others;
  return plan;
}

/// A picture does not say that the number of heads is assumed; somebody has to.
void tell_assumed_heads(const lessons::Plan& plan, Format format) {
  if (!is_picture(format)) return;
  for (const auto& remark : plan.remarks)
    if (remark.starts_with("heads = ")) fmt::print(stderr, "attnlab: {}\n", remark);
}

using lessons::Lesson;

std::string contents(const RunLesson& tour) {
  const auto& sentence = tour.options.sentence;
  auto text =
      sentence.empty() ? std::string("The tour\n\n") : fmt::format("The tour: \"{}\"\n\n", sentence.front());
  const auto& all = lessons::all_lessons();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto start = fmt::format("{:>2} {:<17} ", i + 1, all[i]->name);
    text += attn::hanging(start, attn::wrap(all[i]->title, 80 - start.size()), start.size());
  }
  return text;
}

/// The lesson with its defaults, on the tour's sentences where there are some.
RunLesson stop_at(const Lesson& lesson, const RunLesson& tour) {
  RunLesson run{.lesson = &lesson, .options = lesson.defaults, .presentation = tour.presentation};
  auto& options = run.options;
  if (!tour.options.sentence.empty()) {
    const bool has_two = !lesson.uses("sentence") && lesson.uses("source");
    options.sentence = lesson.uses("sentence") ? tour.options.sentence : std::vector<std::string>();
    options.source = has_two ? tour.options.sentence : std::vector<std::string>();
    options.target = has_two ? tour.options.target : std::vector<std::string>();
  }
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

/// Whether the reader wants to go on; an end of input is a no.
bool wants_to_go_on(std::size_t next) {
  constexpr std::string_view leaving = "qQ\x03\x04";  // Ctrl-C and Ctrl-D among them
  const auto& all = lessons::all_lessons();
  const KeyByKey terminal;
  write_to_stdout(
      fmt::format("\n— any key: {}, {} of {} · q: leave the tour —", all[next]->name, next + 1, all.size()));
  const auto key = terminal.next();
  write_to_stdout("\r\x1B[K");
  return key && leaving.find(*key) == leaving.npos;
}

}  // namespace

const Choices<Format>& formats() {
  static const Choices<Format> all = {{"text", Format::text},     {"json", Format::json},
                                      {"npz", Format::npz},       {"safetensors", Format::safetensors},
                                      {"svg", Format::svg},       {"png", Format::png},
                                      {"pdf", Format::pdf},       {"html", Format::html},
                                      {"python", Format::python}, {"cpp", Format::cpp}};
  return all;
}

bool run_lesson_into(const RunLesson& run, const std::function<attn::Sink&(const attn::Header&)>& sink_for) {
  const auto plan = plan_of(run);
  return run_into(sink_for(header_of(run, plan)), run, plan);
}

std::string run_lesson_body(const RunLesson& run) {
  const auto plan = plan_of(run);
  attn::HtmlRenderer renderer(header_of(run, plan), style_of(run.presentation, plan));
  run_into(renderer, run, plan);
  return renderer.finish_body();
}

Page run_lesson(const RunLesson& run) {
  const auto format = format_of(run.presentation);
  check(run.presentation, format);
  if (!run.options.input.empty())
    lessons::require_possible_ids(*run.lesson, run.options, run.presentation.steps);
  const auto plan = plan_of(run);
  tell_assumed_heads(plan, format);
  const auto header = header_of(run, plan);
  switch (format) {
    case Format::json:
      return render(run, plan, attn::JsonWriter(header));
    case Format::npz:
      return render(run, plan, attn::NpzWriter(header));
    case Format::safetensors:
      return render(run, plan, attn::SafetensorsWriter(header));
    case Format::python:
      return render(run, plan, attn::PythonScript(header));
    case Format::cpp:
      return render(run, plan, lessons::CppProgram(header));
    case Format::html:
      return render(run, plan, attn::HtmlRenderer(header, style_of(run.presentation, plan)));
    case Format::svg:
    case Format::png:
    case Format::pdf:
      return draw(run, plan, header, format);
    default:
      if (!run.presentation.explain.empty()) return explain(run, plan);
      return render(run, plan, attn::TextRenderer(header, style_of(run.presentation, plan)));
  }
}

bool take_tour(const RunLesson& tour, std::size_t first) {
  const bool is_read_by_a_person =
      isatty(STDIN_FILENO) == 1 && stdout_is_terminal() && !tour.presentation.output;
  const auto& all = lessons::all_lessons();
  bool all_claims_hold = true;
  auto text = contents(tour);
  if (is_read_by_a_person) show(text, tour.presentation.paging);
  for (auto i = first; i < all.size() && (!is_read_by_a_person || wants_to_go_on(i)); ++i) {
    const auto page = run_lesson(stop_at(*all[i], tour));
    all_claims_hold = all_claims_hold && page.all_claims_hold;
    if (is_read_by_a_person)
      show(page.text, tour.presentation.paging);
    else
      text += "\n\n" + page.text;
  }
  if (!is_read_by_a_person) write_or_show(text, tour.presentation.output, tour.presentation.paging);
  return all_claims_hold;
}

}  // namespace lab
