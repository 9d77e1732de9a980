#include "trace/diagnosis/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attn/text/width.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/json/values.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

/// "no-scale or scale-d-k", "no-scale and gqa-tile".
std::string joined_ids(const StepVerdict& step) {
  return fmt::format("{}",
                     fmt::join(ids_without_variants(step.mistakes), step.made_together ? " and " : " or "));
}

std::string families_of(const StepVerdict& step) {
  std::vector<std::string> families;
  for (const auto& id : ids_without_variants(step.mistakes))
    if (const auto* mistake = find_mistake(id))
      if (const std::string family(mistake->family);
          std::find(families.begin(), families.end(), family) == families.end())
        families.push_back(family);
  return fmt::format("{}", fmt::join(families, " or "));
}

/// "wrong: scale-d-model", as far as the hint goes.
std::string verdict_in_words(const StepVerdict& step, Hint hint) {
  switch (step.finding) {
    case Finding::right:
      return "right";
    case Finding::rounding:
      return "right, but for rounding";
    case Finding::convention:
      return "a different convention: " + id_without_variant(step.convention);
    case Finding::shape:
      return fmt::format("a wrong shape: ({}) and not ({})", to_string(step.shape),
                         to_string(step.right_shape));
    case Finding::wrong:
      break;
  }
  if (hint == Hint::where) return "wrong";
  if (step.mistakes.empty()) return "wrong: no mistake of the catalogue gives these numbers";
  if (hint == Hint::family) return "wrong: a mistake of the family " + families_of(step);
  if (step.made_together) return "wrong, two mistakes: " + joined_ids(step);
  if (ids_without_variants(step.mistakes).size() > 1)
    return "wrong, one of: " + fmt::format("{}", fmt::join(ids_without_variants(step.mistakes), ", "));
  return "wrong: " + joined_ids(step);
}

/// "[sample 0, sat, cat]".
std::string place_in_words(const StepVerdict& step, const ReportSettings& settings) {
  const auto labels = settings.labels.find(step.id);
  const auto& index = *step.first_difference;
  const bool has_batch = index.size() > step.axes.size();
  std::vector<std::string> places;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    if (has_batch && axis == 0) {
      if (step.right_shape[0] > 1) places.push_back(fmt::format("sample {}", index[0]));
      continue;
    }
    const auto& name = step.axes[axis - (has_batch ? 1 : 0)];
    std::string place = fmt::format("{} {}", name, index[axis]);
    if (labels != settings.labels.end() && axis < labels->second.size() && !labels->second[axis].empty()) {
      const auto& of_axis = labels->second[axis];
      const auto names = of_axis.of(has_batch ? index[0] : 0);
      if (index[axis] < names.size())
        place = fmt::format("{} {} ({})", name, index[axis], names[index[axis]]);
    }
    places.push_back(place);
  }
  return fmt::format("[{}]", fmt::join(places, ", "));
}

void add_paragraph(std::string& text, const std::string& words, std::size_t width) {
  for (const auto& line : wrap(words, width - 4)) text += "    " + line + '\n';
}

std::string number_in_words(double number, int precision) {
  return fmt::format("{:.{}g}", number, precision);
}

void add_evidence(std::string& text, const StepVerdict& step, const ReportSettings& settings) {
  if (!step.first_difference) return;
  const auto precision = settings.precision;
  add_paragraph(text,
                fmt::format("First different at {}: yours is {}{}. The largest difference is {}.",
                            place_in_words(step, settings), number_in_words(step.theirs, precision),
                            settings.reveals ? ", right is " + number_in_words(step.right, precision) : "",
                            number_in_words(step.largest_difference, 2)),
                settings.width);
  const bool is_named = !step.mistakes.empty() || !step.convention.empty();
  if (is_named)
    add_paragraph(text,
                  step.step_of_mistake == step.id
                      ? fmt::format("Made on purpose, it gives your tensor to within {}.",
                                    number_in_words(step.unexplained, 2))
                      : fmt::format("Made on purpose in {}, which your file does not have, it gives your "
                                    "tensor to within {}.",
                                    step.step_of_mistake, number_in_words(step.unexplained, 2)),
                  settings.width);
}

void add_teaching(std::string& text, const StepVerdict& step, const ReportSettings& settings) {
  for (const auto& id : ids_without_variants(step.mistakes)) {
    const auto* mistake = find_mistake(id);
    if (mistake == nullptr) continue;
    add_paragraph(text, fmt::format("{}: {}. {}", id, mistake->name, mistake->teacher), settings.width);
  }
  if (const auto* convention = find_mistake(id_without_variant(step.convention)))
    add_paragraph(text, fmt::format("{}: {}. {}", convention->id, convention->name, convention->conversion),
                  settings.width);
}

bool is_first_of(const Diagnosis& diagnosis, const StepVerdict& step) {
  const auto same = std::find_if(diagnosis.steps.begin(), diagnosis.steps.end(), [&](const auto& other) {
    return other.mistakes == step.mistakes && other.convention == step.convention;
  });
  return same == diagnosis.steps.end() || same->id == step.id ||
         (step.mistakes.empty() && step.convention.empty());
}

std::string summary(const Diagnosis& diagnosis) {
  std::size_t wrong = 0;
  for (const auto& step : diagnosis.steps)
    if (step.finding == Finding::wrong || step.finding == Finding::shape) ++wrong;
  if (diagnosis.steps.empty()) return "There is no step of the lesson in it.";
  if (wrong == 0)
    return diagnosis.steps.size() == 1 ? "The step is right."
                                       : fmt::format("All {} steps are right.", diagnosis.steps.size());
  return fmt::format("Wrong: {} of {} step{}, each computed from your own tensors before it.", wrong,
                     diagnosis.steps.size(), diagnosis.steps.size() == 1 ? "" : "s");
}

}  // namespace

std::string id_without_variant(const std::string& id) {
  return id.substr(0, id.find(':'));
}

std::vector<std::string> ids_without_variants(const std::vector<std::string>& ids) {
  std::vector<std::string> short_ids;
  for (const auto& id : ids)
    if (const auto name = id_without_variant(id);
        std::find(short_ids.begin(), short_ids.end(), name) == short_ids.end())
      short_ids.push_back(name);
  return short_ids;
}

std::string report_as_text(const Diagnosis& diagnosis, const Dump& dump, const ReportSettings& settings) {
  auto text = fmt::format("check {}: {}{}\n", settings.lesson, settings.dump,
                          settings.probe.empty() ? "" : ", computed from the inputs of " + settings.probe);
  if (dump.arithmetic != Dtype::float64)
    text += fmt::format("  The numbers are {}.\n", name_of(dump.arithmetic));
  for (const auto& assumption : dump.assumptions)
    for (const auto& line : wrap(assumption, settings.width - 2)) text += "  " + line + '\n';
  if (!dump.unknown.empty())
    for (const auto& line :
         wrap(fmt::format("Unknown here, and left out: {}.", fmt::join(dump.unknown, ", ")),
              settings.width - 2))
      text += "  " + line + '\n';
  text += '\n';
  std::size_t widest = 0;
  for (const auto& step : diagnosis.steps) widest = std::max(widest, display_width(step.id));
  for (const auto& step : diagnosis.steps) {
    text += fmt::format("  {}  {}\n", pad_right(step.id, widest), verdict_in_words(step, settings.hint));
    const bool is_told = step.finding == Finding::convention ||
                         ((step.finding == Finding::wrong || step.finding == Finding::shape));
    if (!is_told || settings.hint != Hint::all) continue;
    if (!is_first_of(diagnosis, step)) {
      add_paragraph(text, "The same as above.", settings.width);
      continue;
    }
    add_evidence(text, step, settings);
    add_teaching(text, step, settings);
  }
  if (!diagnosis.missing.empty() && settings.hint == Hint::all) {
    text += '\n';
    for (const auto& line :
         wrap(fmt::format("Not in your file: {}.", fmt::join(diagnosis.missing, ", ")), settings.width - 2))
      text += "  " + line + '\n';
  }
  text += '\n' + summary(diagnosis) + '\n';
  return text;
}

std::string report_as_json(const Diagnosis& diagnosis, const Dump& dump, const ReportSettings& settings) {
  using Json = nlohmann::ordered_json;
  Json document = {{"schema", "attnlab.check/1"},
                   {"lesson", settings.lesson},
                   {"dump", settings.dump},
                   {"dtype", std::string(name_of(dump.arithmetic))}};
  document["steps"] = Json::array();
  for (const auto& step : diagnosis.steps) {
    Json one = {{"id", step.id}, {"verdict", std::string(name_of(step.finding))}};
    if (settings.hint >= Hint::family && !step.mistakes.empty()) one["family"] = families_of(step);
    one["mistakes"] =
        settings.hint >= Hint::name ? ids_without_variants(step.mistakes) : std::vector<std::string>();
    if (step.made_together) one["together"] = true;
    one["convention"] = step.convention.empty() ? Json() : Json(id_without_variant(step.convention));
    if (step.first_difference) one["first_difference"] = *step.first_difference;
    document["steps"].push_back(one);
  }
  document["missing"] = diagnosis.missing;
  document["assumptions"] = dump.assumptions;
  document["unknown"] = dump.unknown;
  document["right"] = diagnosis.is_right();
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace attn
