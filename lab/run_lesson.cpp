#include "lab/run_lesson.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "attn/error.hpp"
#include "attn/render/json.hpp"
#include "attn/render/svg.hpp"
#include "attn/render/text.hpp"
#include "attn/trace/filter.hpp"
#include "lab/threads.hpp"

namespace lab {

namespace {

/// Runs with fewer elements have no product that goes to BLAS.
constexpr double elements_worth_threads = 1e5;

Format format_of(const Presentation& presentation) {
  if (presentation.format) return *presentation.format;
  if (!presentation.output) return Format::text;
  const auto ending = std::filesystem::path(*presentation.output).extension().string();
  if (ending == ".json") return Format::json;
  if (ending == ".svg") return Format::svg;
  for (const char* unknown : {".npz", ".html"})
    if (ending == unknown)
      throw attn::Error(
          fmt::format("--output {} asks for the format {}, which is not there; valid: .txt, .json, .svg, or "
                      "--format text, json or svg",
                      *presentation.output, ending));
  return Format::text;
}

bool environment_has(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool is_colored(const Presentation& presentation) {
  if (presentation.color != Color::automatic) return presentation.color == Color::always;
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return !presentation.output && isatty(STDOUT_FILENO) == 1 && !environment_has("NO_COLOR") && !is_dumb;
}

attn::Header header_of(const RunLesson& run, const lessons::Plan& plan) {
  auto header = plan.header(*run.lesson);
  const auto& shown = run.presentation;
  header.config.emplace_back("steps",
                             shown.steps.empty() ? attn::ConfigValue{} : attn::ConfigValue{shown.steps});
  header.config.emplace_back("shapes", shown.shapes);
  header.config.emplace_back("precision", std::int64_t{shown.precision});
  header.config.emplace_back("full", shown.full);
  return header;
}

attn::TextStyle style_of(const Presentation& presentation) {
  attn::TextStyle style;
  style.precision = presentation.precision;
  style.full = presentation.full;
  style.color = is_colored(presentation);
  return style;
}

/// Runs the lesson into the renderer, through the filter that --steps and --shapes ask for.
template <class Renderer>
Page render(const RunLesson& run, const lessons::Plan& plan, Renderer renderer) {
  attn::Filter filter(renderer, run.presentation.steps, run.presentation.shapes);
  const bool all_claims_hold = lessons::run(*run.lesson, plan, filter);
  filter.require_all_seen();
  return {renderer.finish(), all_claims_hold};
}

}  // namespace

Page run_lesson(const RunLesson& run) {
  const auto format = format_of(run.presentation);
  const auto plan = lessons::make_plan(*run.lesson, run.options);
  if (run.lesson->element_count(plan) > elements_worth_threads) start_blas_threads();
  const auto header = header_of(run, plan);
  switch (format) {
    case Format::json:
      return render(run, plan, attn::JsonRenderer(header));
    case Format::svg:
      return render(run, plan, attn::SvgRenderer(header));
    default:
      return render(run, plan, attn::TextRenderer(header, style_of(run.presentation)));
  }
}

}  // namespace lab
