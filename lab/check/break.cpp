#include "lab/check/break.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/width.hpp"
#include "lab/output.hpp"
#include "lessons/workbench/probe.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/report.hpp"
#include "trace/json/json.hpp"
#include "trace/npz/npz.hpp"
#include "trace/safetensors.hpp"

namespace lab {

namespace {

using attn::Error;

constexpr std::size_t break_width = 80;
constexpr std::size_t most_shown = 7;  // rows and columns of a matrix

/// Keeps the steps and the claims of a run.
class Keeper : public attn::Sink {
 public:
  struct Step {
    std::string id;
    std::vector<std::string> axes;
    attn::AnyTensor tensor;
  };
  struct Claim {
    std::string words;
    bool holds;
  };

  void receive(const attn::Event& event) override {
    if (event.kind == attn::Kind::step)
      steps.push_back({event.id, event.axes, attn::AnyTensor(*event.tensor)});
    if (event.measurement) claims.push_back({event.measurement->claim, event.measurement->holds()});
  }

  std::vector<Step> steps;
  std::vector<Claim> claims;
};

/// The largest difference between two tensors; infinite where one number is finite and the other is not, none
/// where their shapes differ.
std::optional<double> largest_difference(const attn::AnyTensor& a, const attn::AnyTensor& b) {
  if (a.shape() != b.shape()) return std::nullopt;
  double largest = 0.0;
  for (std::size_t i = 0; i < attn::element_count(a.shape()); ++i) {
    const double x = a.view().at(i), y = b.view().at(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double difference = std::abs(x - y);
    largest =
        std::max(largest, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
  }
  return largest;
}

std::vector<std::string> mistakes_of(const lessons::Lesson& lesson, const lessons::Plan& plan) {
  std::vector<std::string> ids;
  lessons::run_watched(lesson, plan, [&](const attn::Tapped& tapped) {
    for (const auto& mistake : tapped.mistakes)
      if (std::find(ids.begin(), ids.end(), mistake.id()) == ids.end()) ids.push_back(mistake.id());
  });
  return ids;
}

std::string wrapped_paragraph(std::string_view words) {
  std::string text;
  for (const auto& line : attn::wrap(words, break_width - 2)) text += "  " + line + '\n';
  return text;
}

/// The whole id, with the variant, that stands for the mistake in these steps.
std::string find_variant(const std::string& name, const std::vector<std::string>& ids,
                         const lessons::Lesson& lesson) {
  for (const auto& id : ids)
    if (id == name) return id;
  for (const auto& id : ids)
    if (attn::id_without_variant(id) == name) return id;
  const auto valid = attn::ids_without_variants(ids);
  throw Error(fmt::format("{} cannot make the mistake \"{}\" on these options; did you mean {}? valid: {}",
                          lesson.name, name, attn::nearest(name, valid), fmt::join(valid, ", ")));
}

std::string table_of_changes(const Keeper& right, const Keeper& broken) {
  std::size_t widest = 0;
  for (const auto& step : right.steps) widest = std::max(widest, attn::display_width(step.id));
  std::string text;
  for (std::size_t i = 0; i < right.steps.size() && i < broken.steps.size(); ++i) {
    const auto difference = largest_difference(right.steps[i].tensor, broken.steps[i].tensor);
    text += fmt::format("  {}  {}\n", attn::pad_right(right.steps[i].id, widest),
                        !difference               ? "has another shape"
                        : *difference == 0.0      ? "stays"
                        : std::isinf(*difference) ? "changes to numbers that are not finite"
                                                  : fmt::format("changes by up to {:.2g}", *difference));
  }
  return text;
}

std::string claims_that_hold(const Keeper& broken) {
  std::string text;
  for (const auto& claim : broken.claims)
    text += fmt::format("  {}  {}\n", claim.holds ? "holds " : "broken", claim.words);
  return text;
}

/// One matrix of a tensor, the one in which the element at `offset` stands, with its first rows and columns.
std::string printed_matrix(const Keeper::Step& step, std::size_t offset) {
  const auto& shape = step.tensor.shape();
  const auto columns = shape.empty() ? 1 : shape.back();
  const auto rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const auto begin = offset / (rows * columns) * (rows * columns);
  std::string text;
  for (std::size_t row = 0; row < std::min(rows, most_shown); ++row) {
    text += "    ";
    for (std::size_t column = 0; column < std::min(columns, most_shown); ++column)
      text += fmt::format(" {:8.4f}", step.tensor.view().at(begin + row * columns + column));
    text += columns > most_shown ? "  …\n" : "\n";
  }
  return rows > most_shown ? text + "     …\n" : text;
}

/// "sample 0, head 1": where that matrix stands.
std::string place_of_matrix(const Keeper::Step& step, std::size_t offset) {
  std::vector<std::string> places;
  const auto& shape = step.tensor.shape();
  for (std::size_t axis = shape.size(); axis-- > 0; offset /= shape[axis])
    if (axis + 2 < shape.size())
      places.insert(places.begin(), fmt::format("{} {}", step.axes[axis], offset % shape[axis]));
  return places.empty() ? "" : fmt::format(", {}", fmt::join(places, ", "));
}

std::size_t first_difference(const attn::AnyTensor& a, const attn::AnyTensor& b) {
  for (std::size_t i = 0; i < attn::element_count(a.shape()); ++i) {
    const double x = a.view().at(i), y = b.view().at(i);
    if (!(x == y || (std::isnan(x) && std::isnan(y)))) return i;
  }
  return 0;
}

/// The first step that changes, right and with the mistake.
std::string beside_each_other(const Keeper& right, const Keeper& broken, const std::string& id) {
  const auto is_it = [&](const Keeper::Step& step) { return step.id == id; };
  const auto a = *std::find_if(right.steps.begin(), right.steps.end(), is_it);
  const auto b = *std::find_if(broken.steps.begin(), broken.steps.end(), is_it);
  const auto offset = first_difference(a.tensor, b.tensor);
  return fmt::format("\n{}{}, right\n{}\n{}{}, with the mistake\n{}", id, place_of_matrix(a, offset),
                     printed_matrix(a, offset), id, place_of_matrix(b, offset), printed_matrix(b, offset));
}

std::string first_change(const Keeper& right, const Keeper& broken) {
  for (std::size_t i = 0; i < right.steps.size() && i < broken.steps.size(); ++i)
    if (largest_difference(right.steps[i].tensor, broken.steps[i].tensor).value_or(1.0) != 0.0)
      return right.steps[i].id;
  return "";
}

template <class Writer>
std::string file_of(const lessons::Lesson& lesson, const lessons::Plan& plan, const attn::Watch& watch) {
  Writer writer(plan.header());
  lessons::run(lesson, plan, writer, watch);
  return writer.finish();
}

void write_broken(const std::string& path, const lessons::Lesson& lesson, const lessons::Plan& plan,
                  const attn::Watch& watch) {
  const auto ending = std::filesystem::path(path).extension().string();
  if (ending == ".npz")
    write_to_file(path, file_of<attn::NpzWriter>(lesson, plan, watch));
  else if (ending == ".json")
    write_to_file(path, file_of<attn::JsonWriter>(lesson, plan, watch));
  else if (ending == ".safetensors")
    write_to_file(path, file_of<attn::SafetensorsWriter>(lesson, plan, watch));
  else
    throw Error(
        fmt::format("--output {} ends in no format of tensors; valid: .npz, .json, .safetensors", path));
}

}  // namespace

void run_break(const BreakLesson& broken) {
  const auto& lesson = *broken.lesson;
  const auto plan = lessons::plan_of_probe(lesson, broken.options);
  const auto id = find_variant(broken.mistake, mistakes_of(lesson, plan), lesson);
  const auto watch = attn::made_on_purpose({id});
  Keeper right, wrong;
  lessons::run(lesson, plan, right);
  lessons::run(lesson, plan, wrong, watch);
  if (broken.output) write_broken(*broken.output, lesson, plan, watch);
  const auto name = attn::id_without_variant(id);
  const auto* mistake = attn::find_mistake(name);
  auto text = fmt::format("break {} {}\n", lesson.name, name);
  if (mistake != nullptr) text += wrapped_paragraph(fmt::format("What is done: {}.", mistake->name));
  const auto first = first_change(right, wrong);
  text += "\nWhat changes\n" + table_of_changes(right, wrong);
  text += first.empty() ? wrapped_paragraph("Nothing changes: on these dimensions the mistake hides.")
                        : beside_each_other(right, wrong, first);
  text += "\nWhat the lesson claims, with the mistake in it\n" + claims_that_hold(wrong);
  if (mistake != nullptr) {
    text += fmt::format("\nWhy the usual tests pass\n{}", wrapped_paragraph(mistake->unchanged));
    text += fmt::format("\nWhy a model may train with it\n{}", wrapped_paragraph(mistake->training));
    text += fmt::format("\nHow to find it\n{}", wrapped_paragraph(mistake->teacher));
  }
  show(text, broken.paging);
}

void list_mistakes(const ListMistakes& list) {
  std::string text;
  for (const auto* lesson : lessons::all_lessons()) {
    if (!lesson->probe || (list.lesson && *list.lesson != lesson->name)) continue;
    const auto probed = lessons::lesson_of_probe(*lesson);
    const auto ids =
        attn::ids_without_variants(mistakes_of(*probed, lessons::plan_of_probe(*probed, probed->defaults)));
    std::size_t widest = 0;
    for (const auto& id : ids) widest = std::max(widest, id.size());
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", lesson->name);
    for (const auto& id : ids) {
      const auto* mistake = attn::find_mistake(id);
      if (mistake == nullptr) continue;
      const auto lines = attn::wrap(mistake->name, break_width - widest - 4);
      for (std::size_t i = 0; i < lines.size(); ++i)
        text += fmt::format("  {}  {}\n", attn::pad_right(i == 0 ? id : "", widest), lines[i]);
    }
  }
  show(text, list.paging);
}

}  // namespace lab
