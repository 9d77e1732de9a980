#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "attn/text/width.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/json/json.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

/// The mistakes, those of the same numbers as one: "scale-d-k (scale-twice is the same)".
std::vector<std::string> names_of_mistakes(const StepVerdict& step) {
  std::vector<std::string> names;
  for (const auto& group : mistakes_of_same_numbers(step.mistakes)) {
    names.push_back(group.front());
    for (auto other = group.begin() + 1; other != group.end(); ++other)
      names.back() += fmt::format(" ({} is the same)", *other);
  }
  return names;
}

/// "no-scale", "one of: no-scale, scale-d-k", "two mistakes: no-scale, gqa-tile".
std::string mistakes_in_words(const StepVerdict& step) {
  const auto different = names_of_mistakes(step);
  const auto names = fmt::format("{}", fmt::join(different, ", "));
  if (step.made_together) return (different.size() == 2 ? "two mistakes: " : "two of: ") + names;
  return (different.size() == 1 ? "" : "one of: ") + names;
}

std::string conventions_in_words(const StepVerdict& step) {
  return fmt::format("a different convention: {}", fmt::join(ids_without_variants(step.conventions), ", "));
}

/// "Q and K", or of more than three "5 steps".
std::string few_listed(const std::vector<std::string>& ids, std::string_view of_many) {
  constexpr std::size_t most_named = 3;
  return ids.size() > most_named ? fmt::format(fmt::runtime(of_many), ids.size()) : listed(ids, "and");
}

/// ", given your weights and the same mistake in V_heads" of a step that follows from wrong ones.
std::string given_in_words(const StepVerdict& step) {
  std::vector<std::string> given;
  if (!step.given.empty()) given.push_back("your " + few_listed(step.given, "tensors before it"));
  if (!step.same_mistake_in.empty())
    given.push_back("the same mistake in " + few_listed(step.same_mistake_in, "{} steps of yours"));
  return given.empty() ? "" : ", given " + listed(given, "and");
}

/// "1e-12", "1e-09", then each power of ten: a bound that another machine's rounding does not change.
std::string bound_in_words(double difference) {
  constexpr double rounding_of_machines = 1e-9;
  double bound = 1e-12;
  while (bound < difference && std::isfinite(difference))
    bound *= bound < rounding_of_machines ? 1000.0 : 10.0;
  return fmt::format("{:.0e}", bound);
}

/// "wrong: scale-d-model", as far as the hint goes.
std::string verdict_in_words(const StepVerdict& step, Hint hint, bool by_hand) {
  switch (step.finding) {
    case Finding::right:
      return step.blanks == 0 ? "right" + given_in_words(step)
                              : fmt::format("right so far, {} left empty", step.blanks);
    case Finding::rounding:
      return fmt::format("right, but for rounding by less than {}{}", bound_in_words(step.largest_difference),
                         given_in_words(step));
    case Finding::form:
      return "another form";
    case Finding::convention:
      return conventions_in_words(step);
    case Finding::shape:
      return fmt::format("a wrong shape: ({}) and not ({})", to_string(step.shape),
                         to_string(step.right_shape));
    case Finding::not_judged:
      return step.misshapen.empty() ? "not judged: it needs " + listed(step.needs, "and")
                                    : fmt::format("not judged: it follows from your {}, of another shape",
                                                  listed(step.misshapen, "and"));
    case Finding::wrong:
      break;
  }
  if (hint == Hint::where) return "wrong";
  if (const auto entries = element_count(step.right_shape);
      by_hand && step.mistakes.empty() && step.different < entries)
    return fmt::format("wrong in {} of {} entries", step.different, entries);
  if (step.mistakes.empty() && !step.formula.empty() && hint >= Hint::name)
    return fmt::format("wrong: your numbers are those of {}", step.formula);
  if (step.mistakes.empty()) return "wrong: no mistake of the catalogue gives these numbers";
  if (hint == Hint::family) return "wrong: a mistake of the family " + families_of(step);
  if (step.in_part) return "wrong: perhaps " + mistakes_in_words(step);
  const auto beside = step.conventions.empty() ? "" : ", beside " + conventions_in_words(step);
  return (names_of_mistakes(step).size() == 1 ? "wrong: " : "wrong, ") + mistakes_in_words(step) + beside;
}

/// "[sample 0, sat, cat]".
std::string place_in_words(const StepVerdict& step, const ReportSettings& settings) {
  const auto* const labels = value_in(settings.labels, step.id);
  const auto& index = *step.first_difference;
  const bool has_batch = index.size() > step.axes.size();
  std::vector<std::string> places;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    if (has_batch && axis == 0) {
      if (step.right_shape[0] > 1) places.push_back(fmt::format("sample {}", index[0]));
      continue;
    }
    places.push_back(fmt::format("{} {}", step.axes[axis - has_batch], index[axis]));
    if (labels == nullptr) continue;
    const auto& of_axis = (*labels)[axis + labels->size() - index.size()];
    if (of_axis.empty()) continue;
    if (const auto& names = of_axis.of(has_batch ? index[0] : 0); index[axis] < names.size())
      places.back() += fmt::format(" ({})", names[index[axis]]);
  }
  return fmt::format("[{}]", fmt::join(places, ", "));
}

/// "3", "3 and 5", "3 to 6"; empty of all, and of many with others between them.
std::string indices_in_words(const std::set<std::size_t>& indices, std::size_t length) {
  constexpr std::size_t most_named = 3;
  const auto first = *indices.begin(), last = *indices.rbegin();
  if (indices.size() == length) return "";
  if (indices.size() > 2 && last - first + 1 == indices.size()) return fmt::format("{} to {}", first, last);
  std::vector<std::string> names;
  for (const auto index : indices) names.push_back(std::to_string(index));
  return names.size() > most_named ? "" : listed(names, "and");
}

/// "12 of 98 entries differ, all in sample 1, head 0. First different"
std::string extent_in_words(const StepVerdict& step) {
  const auto entries = element_count(step.right_shape);
  if (entries < 2) return "Different";
  if (step.different == entries) return "Every entry differs. First different";
  if (step.different == 1)
    return fmt::format("1 of {} entries {}, the one", entries,
                       step.finding == Finding::wrong ? "is wrong" : "differs");
  std::vector<std::string> places;
  const bool has_batch = step.right_shape.size() > step.axes.size();
  for (std::size_t axis = 0; axis < step.differs_at.size(); ++axis)
    if (const auto indices = indices_in_words(step.differs_at[axis], step.right_shape[axis]);
        !indices.empty())
      places.push_back(
          fmt::format("{} {}", has_batch && axis == 0 ? "sample" : step.axes[axis - has_batch], indices));
  return fmt::format("{} of {} entries differ{}. First different", step.different, entries,
                     places.empty() ? "" : fmt::format(", all in {}", fmt::join(places, ", ")));
}

std::string number_in_words(double number, int precision) {
  return std::isnan(number) ? "nan" : fmt::format("{:.{}g}", number, precision);
}

/// A paragraph beneath the step that it is about.
std::string beneath(const std::string& words) {
  return paragraph(words, usual_width, 4);
}

/// How well the mistake explains the numbers.
std::string evidence_in_words(const StepVerdict& step, bool by_hand) {
  if (step.in_part) return "Made in some places, it gives those of your numbers that are wrong.";
  auto elsewhere = step.made_in;
  const std::string_view here = std::erase(elsewhere, step.id) > 0 ? "here and " : "";
  const auto where = elsewhere.empty() ? ""
                                       : fmt::format(" {}in {}, which your file does not have", here,
                                                     few_listed(elsewhere, "{} steps"));
  const auto to_within = by_hand ? "your numbers, as far as you wrote their digits"
                                 : fmt::format("your tensor to within {}", bound_in_words(step.unexplained));
  return fmt::format("Made on purpose{}, it gives {}.", where, to_within);
}

void add_evidence(std::string& text, const StepVerdict& step, bool by_hand, const ReportSettings& settings) {
  if (!step.first_difference) return;
  constexpr int precision = 4;
  text += beneath(fmt::format("{} at {}: yours is {}{}. The {}difference is {}.", extent_in_words(step),
                              place_in_words(step, settings), number_in_words(step.theirs, precision),
                              settings.reveals ? ", right is " + number_in_words(step.right, precision) : "",
                              step.different == 1 ? "" : "largest ",
                              number_in_words(step.largest_difference, 2)));
  if (step.nans > 0 && step.finding == Finding::wrong)
    text += beneath(fmt::format("{} of your entries {} nan, and should be none.", step.nans,
                                step.nans == 1 ? "is" : "are"));
  if (step.mistakes.empty() && step.conventions.empty()) {
    if (!step.lacking.empty() && !by_hand)
      text += beneath(fmt::format("Save {} too: each step is checked by itself, from yours before it.",
                                  listed(step.lacking, "and")));
    return;
  }
  text += beneath(evidence_in_words(step, by_hand));
  if (const auto* const apart = value_in(settings.told_apart, step.id)) text += beneath(*apart);
}

std::string teaching_on(const std::vector<std::string>& ids, std::string CataloguedMistake::*said) {
  std::string text;
  for (const auto& id : ids_without_variants(ids))
    if (const auto* one = find_mistake(id))
      text += beneath(fmt::format("{}: {}. {}", id, one->name, one->*said));
  return text;
}

bool is_first_of(const Diagnosis& diagnosis, const StepVerdict& step) {
  if (step.mistakes.empty() && step.conventions.empty()) return true;
  for (const auto& other : diagnosis.steps)
    if (other.mistakes == step.mistakes && other.conventions == step.conventions) return other.id == step.id;
  return true;
}

std::string summary(const Diagnosis& diagnosis, bool by_hand) {
  const auto count = [&](auto is_one) {
    return std::count_if(diagnosis.steps.begin(), diagnosis.steps.end(), is_one);
  };
  const auto all = std::ssize(diagnosis.steps);
  const auto wrong = count([](const StepVerdict& step) { return step.is_wrong(); });
  if (wrong == 0 && by_hand && !diagnosis.is_complete())
    return fmt::format("What is filled in is right, and {} blank{} empty.", diagnosis.blanks,
                       diagnosis.blanks == 1 ? " is" : "s are");
  const auto open = count([](const StepVerdict& step) { return step.finding == Finding::not_judged; });
  if (wrong == 0 && open > 0)
    return fmt::format(
        "Right: {} of {} steps. The others cannot be judged without the inputs that they need.", all - open,
        all);
  if (wrong == 0) return all == 1 ? "The step is right." : fmt::format("All {} steps are right.", all);
  const bool follows_from_inputs =
      any_of(diagnosis.steps, [](const StepVerdict& step) { return !step.not_from.empty(); });
  return fmt::format("Wrong: {} of {} step{}{}.", wrong, all, all == 1 ? "" : "s",
                     follows_from_inputs ? ""
                     : by_hand           ? ", each computed from your own numbers before it"
                                         : ", each computed from your own tensors before it");
}

/// "The numbers have no more digits than", or some of them where others are kept wider than half precision.
std::string_view words_before_type(const Dump& dump) {
  if (any_of(dump.tensors, [&](const auto& one) { return one.second.dtype() == dump.arithmetic; }))
    return "The numbers are";
  const bool is_half = dump.arithmetic == Dtype::float16 || dump.arithmetic == Dtype::bfloat16;
  for (const auto& [id, tensor] : dump.tensors)
    for (std::size_t i = 0; is_half && is_floating(tensor.dtype()) && i < element_count(tensor.shape()); ++i)
      if (const double x = tensor.view().at(i); std::isfinite(x) && round_to(dump.arithmetic, x) != x)
        return "Some numbers have no more digits than";
  return "The numbers have no more digits than";
}

/// What the file is, and how it was read.
std::string heading(const Dump& dump, const ReportSettings& settings) {
  auto text = fmt::format("check {}: {}{}\n", settings.lesson, settings.dump,
                          settings.probe.empty() ? "" : ", computed from the inputs of " + settings.probe);
  if (dump.decimals)
    text += fmt::format("  The numbers are rounded to {} decimals.\n", *dump.decimals);
  else if (dump.arithmetic != Dtype::float64)
    text += fmt::format("  {} {}.\n", words_before_type(dump), name_of(dump.arithmetic));
  for (const auto& remark : in_few_lines(dump.assumptions)) text += paragraph(remark);
  if (!dump.unknown.empty())
    text += paragraph(fmt::format("Unknown here, and left out: {}.", fmt::join(dump.unknown, ", ")));
  return text;
}

std::string told(const Diagnosis& diagnosis, const StepVerdict& step, bool by_hand,
                 const ReportSettings& settings) {
  if (step.finding == Finding::form) return beneath(step.form);
  if (!step.not_from.empty())
    return beneath(
        fmt::format("It follows from the inputs, not from your {0}. What you {1} as {0} is not what {2}.",
                    listed(step.not_from, "and"), by_hand ? "wrote" : "saved",
                    by_hand ? "you went on with" : "your program used"));
  if (step.finding == Finding::right || step.finding == Finding::rounding ||
      step.finding == Finding::not_judged)
    return "";
  if (!is_first_of(diagnosis, step)) return beneath("The same as above.");
  std::string text;
  add_evidence(text, step, by_hand, settings);
  return text + teaching_on(step.mistakes, &CataloguedMistake::teacher) +
         teaching_on(step.conventions, &CataloguedMistake::conversion);
}

}  // namespace

std::string families_of(const StepVerdict& step) {
  std::vector<std::string> families;
  for (const auto& id : ids_without_variants(step.mistakes))
    if (const auto* mistake = find_mistake(id))
      if (!contains(families, mistake->family)) families.push_back(mistake->family);
  return fmt::format("{}", fmt::join(families, " or "));
}

std::string report_as_text(const Diagnosis& diagnosis, const Dump& dump, const ReportSettings& settings) {
  auto text = heading(dump, settings) + '\n';
  const bool by_hand = !dump.slacks.empty();
  std::size_t widest = 0;
  for (const auto& step : diagnosis.steps) widest = std::max(widest, display_width(step.id));
  for (const auto& step : diagnosis.steps) {
    text +=
        fmt::format("  {}  {}\n", pad_right(step.id, widest), verdict_in_words(step, settings.hint, by_hand));
    if (settings.hint == Hint::all) text += told(diagnosis, step, by_hand, settings);
  }
  if (!diagnosis.missing.empty() && settings.hint == Hint::all)
    text += '\n' + paragraph(fmt::format("{}: {}.", by_hand ? "Left empty" : "Not in your file",
                                         fmt::join(diagnosis.missing, ", ")));
  text += '\n' + summary(diagnosis, by_hand);
  if (diagnosis.is_right() && !dump.unknown.empty())
    text += dump.unknown.size() == 1
                ? " 1 tensor of the file is not checked."
                : fmt::format(" {} tensors of the file are not checked.", dump.unknown.size());
  return text + '\n';
}

std::string report_as_json(const Diagnosis& diagnosis, const Dump& dump, const ReportSettings& settings) {
  using Json = nlohmann::ordered_json;
  Json document = {{"schema", "attnlab.check/1"},
                   {"lesson", settings.lesson},
                   {"dump", settings.dump},
                   {"dtype", std::string(name_of(dump.arithmetic))}};
  if (dump.decimals) document["decimals"] = *dump.decimals;
  document["steps"] = Json::array();
  for (const auto& step : diagnosis.steps) {
    Json one = {{"id", step.id}, {"verdict", std::string(name_of(step.finding))}};
    const auto add = [&](const char* name, const Json& value) {
      if (!value.empty() && value != "" && value != false && value != 0) one[name] = value;
    };
    const bool has_family = settings.hint >= Hint::family, has_name = settings.hint >= Hint::name;
    add("family", has_family ? families_of(step) : "");
    one["mistakes"] = has_name ? ids_without_variants(step.mistakes) : std::vector<std::string>();
    add("formula", has_name ? step.formula : "");
    add("together", step.made_together);
    add("in_part", step.in_part);
    add("needs", step.needs);
    add("misshapen", step.misshapen);
    add("blanks", step.blanks);
    add("form", step.form);
    add("not_from", step.not_from);
    add("given", step.given);
    add("same_mistake_in", step.same_mistake_in);
    add("lacking", step.lacking);
    const auto conventions = ids_without_variants(step.conventions);
    one["convention"] = conventions.empty() ? Json() : Json(fmt::format("{}", fmt::join(conventions, "+")));
    if (step.first_difference) {
      one["different"] = step.different;
      one["nan"] = step.nans;
      one["first_difference"] = *step.first_difference;
    }
    document["steps"].push_back(one);
  }
  document["missing"] = diagnosis.missing;
  document["assumptions"] = dump.assumptions;
  document["unknown"] = dump.unknown;
  document["right"] = diagnosis.is_right();
  if (!dump.slacks.empty()) document["complete"] = diagnosis.is_complete();
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace attn
