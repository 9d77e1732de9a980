#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/width.hpp"
#include "lab/check/check.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "lessons/workbench/exercises.hpp"
#include "page/builder.hpp"
#include "page/html/markup.hpp"
#include "page/text/plain.hpp"
#include "page/text/text.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diff/diff.hpp"
#include "trace/entry.hpp"
#include "trace/number.hpp"

namespace lab {

namespace {

using attn::Error;

using Steps = std::vector<attn::Prediction>;
using Labels = std::map<std::string, std::vector<attn::AxisLabels>>;

bool has_other_shape(const attn::Prediction& wrong, const attn::Prediction& right) {
  return wrong.expected_shape != right.expected_shape;
}

/// How two tensors of one shape differ.
attn::ElementDiff changes_between(const attn::Prediction& wrong, const attn::Prediction& right) {
  return attn::compare_elements(wrong.tensor().view(), right.tensor().view(), {});
}

/// Empty where nothing changes.
std::string change_in_words(const attn::Prediction& wrong, const attn::Prediction& right) {
  if (has_other_shape(wrong, right))
    return fmt::format("has the shape ({}) and not ({})", attn::to_string(wrong.expected_shape),
                       attn::to_string(right.expected_shape));
  const auto changes = changes_between(wrong, right);
  if (changes.beyond == 0) return "";
  if (!std::isinf(changes.max_absolute)) return fmt::format("changes by up to {:.2g}", changes.max_absolute);
  for (std::size_t i = 0; i < wrong.expected.size(); ++i)
    if (!std::isfinite(wrong.expected[i]) && !attn::is_near(wrong.expected[i], right.expected[i], 0.0))
      return "changes to numbers that are not finite";
  return "changes to finite numbers from others that are not";
}

/// What a run has to have for the mistake's formulas; one of them may be misspelt.
std::string needs_of(const std::string& id) {
  std::string text;
  for (const auto& [step, formulas] : attn::formulas_of_mistakes())
    for (const auto& formula : formulas)
      if (attn::id_without_variant(formula.id) == id)
        text += fmt::format(" Its formula of {} needs {}.", step, fmt::join(formula.names, ", "));
  return text;
}

/// The whole id, with the variant, that stands for the mistake in these steps.
std::string find_variant(const std::string& name, const std::vector<std::string>& ids,
                         const lessons::Lesson& lesson) {
  if (attn::contains(ids, name)) return name;
  for (const auto& id : ids)
    if (attn::id_without_variant(id) == name) return id;
  const auto valid = attn::ids_without_variants(ids);
  if (const auto* mistake = attn::find_mistake(name))
    throw Error(
        fmt::format("{} cannot make the mistake \"{}\" on these options; valid: {}.{}", lesson.name, name,
                    fmt::join(valid, ", "),
                    mistake->unchanged.empty() ? needs_of(name) : " It hides here: " + mistake->unchanged));
  throw Error(fmt::format("there is no mistake \"{}\"; {}", name, attn::valid_instead_of(name, valid)));
}

/// The matrix of a step in which the element at `offset` stands, as pages have it. The first axis of the
/// step is the batch.
std::string printed(const attn::Prediction& step, std::size_t offset, const char* which,
                    const Labels& labels) {
  constexpr int precision = 4;
  constexpr std::size_t most_cells = 60;
  const auto tensor = step.tensor();
  const auto& shape = tensor.shape();
  if (shape.empty())
    return fmt::format("\n{}, {}\n    {}\n", step.id, which, attn::scalar_text(tensor.view(), precision));
  const auto outer = shape.size() - std::min<std::size_t>(shape.size(), 2);
  const auto at = attn::index_at(offset, shape);
  const auto sample = outer > 0 ? at[0] : 0;
  const bool has_axes = shape.size() == step.axes.size() + 1;
  const auto name_of = [&](std::size_t axis) { return axis == 0 ? "sample" : step.axes[axis - 1]; };
  std::string place;
  for (std::size_t axis = 0; has_axes && axis < outer; ++axis)
    place += fmt::format(", {} {}", name_of(axis), at[axis]);
  attn::Event event{.kind = attn::Kind::step, .id = step.id};
  const auto* const known = shape == step.shape ? attn::value_in(labels, step.id) : nullptr;
  attn::Shape matrix;
  for (auto axis = outer; axis < shape.size(); ++axis) {
    matrix.push_back(shape[axis]);
    event.axes.push_back(shape == step.shape ? name_of(axis) : axis == outer ? "row" : "column");
    const auto* const labels_here = known != nullptr && axis < known->size() ? &(*known)[axis] : nullptr;
    const bool has_labels =
        labels_here != nullptr && !labels_here->empty() && labels_here->of(sample).size() == shape[axis];
    event.labels.push_back(has_labels ? attn::AxisLabels{{labels_here->of(sample)}} : attn::AxisLabels{});
  }
  const auto count = attn::element_count(matrix);
  const auto shown = attn::strided(tensor, matrix, attn::strides_of(matrix), offset / count * count);
  event.tensor = shown.view();
  return fmt::format(
      "\n{}{}, {}\n{}", step.id, place, which,
      attn::format_table(step.id, attn::page::table_of(event, precision, most_cells), {}).lines);
}

std::string what_is_claimed(const std::string& id, const lessons::Plan& plan) {
  std::string text = "\nWhich of the lesson's checks notice it (what a check computes again is right)\n";
  attn::EachEvent claims([&](const attn::Event& event) {
    if (!event.measurement) return;
    const std::string start = event.measurement->holds() ? "  passes   " : "  notices  ";
    const auto lines = attn::wrap(event.measurement->claim, attn::usual_width - start.size());
    text += attn::hanging(start, lines, start.size());
  });
  lessons::run(*plan.lesson, plan, claims, attn::made_on_purpose({id}));
  return text;
}

/// What is known of the mistake.
std::string known(const attn::CataloguedMistake& mistake) {
  std::string text;
  for (const auto& [title, words] : {std::pair("Why the usual tests pass", mistake.unchanged),
                                     {"Why a model may train with it", mistake.training},
                                     {"How to find it", mistake.teacher}})
    if (!words.empty()) text += fmt::format("\n{}\n{}", title, attn::paragraph(words));
  return text;
}

/// Passes an event on, with the tensor of another step of its id in the place of its own.
void pass_on(const attn::Event& event, const Steps& steps, attn::Sink& next) {
  const auto* const step = attn::find_by_id(steps, event.id);
  if (step == nullptr) return next.receive(event);
  const auto tensor = step->tensor();
  auto changed = event;
  auto shape = tensor.shape();
  if (step->shape.size() > event.tensor->shape.size()) shape.erase(shape.begin());  // of a batch of one
  if (shape != event.tensor->shape) changed.labels.assign(shape.size(), attn::AxisLabels{});
  changed.axes.resize(shape.size());
  changed.tensor = attn::TensorView{tensor.dtype(), shape, tensor.view().data};
  next.receive(changed);
}

/// The page as a document that a browser shows and prints.
std::string as_html(const std::string& page) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{}</title>\n<pre>{}</pre></html>\n",
      attn::html::escaped(page.substr(0, page.find('\n'))), attn::html::escaped(page));
}

/// The tensors with the mistake or, as .txt or .html, the page.
void write(const std::string& path, const Steps& steps, const lessons::Plan& plan, const std::string& page) {
  const auto ending = std::filesystem::path(path).extension().string();
  if (ending == ".txt" || ending == ".html")
    write_to_file(path, ending == ".txt" ? page : as_html(page));
  else if (const auto tensors = tensor_file(path, plan.header(), [&](attn::Sink& file) {
             attn::EachEvent changed([&](const attn::Event& event) { pass_on(event, steps, file); });
             lessons::run(*plan.lesson, plan, changed);
           }))
    write_to_file(path, *tensors);
  else
    throw Error(
        fmt::format("--output {} ends in no format; valid: .npz, .json, .safetensors for the tensors, .txt, "
                    ".html for the page",
                    path));
}

}  // namespace

int run_break(const BreakLesson& broken) {
  const auto& lesson = *broken.lesson;
  const auto plan = lessons::plan_of_probe(lesson, broken.options);
  const auto id = find_variant(broken.mistake, lessons::mistakes_of(plan), lesson);
  const auto right = lessons::steps_with({}, plan), wrong = lessons::steps_with({id}, plan);
  const auto* mistake = attn::find_mistake(id);
  auto text = fmt::format("break {} {}\n", lesson.name, attn::id_without_variant(id));
  if (mistake != nullptr) text += attn::paragraph(fmt::format("What is done: {}.", mistake->name));
  std::vector<std::vector<std::string>> rows;
  std::optional<std::size_t> first;  // that changes
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto change = change_in_words(wrong[i], right[i]);
    rows.push_back({right[i].id, change.empty() ? "stays" : change});
    if (!change.empty() && !first) first = i;
  }
  text += "\nWhat changes\n" + attn::format_columns(rows);
  const bool has_same_shape = !first || !has_other_shape(wrong[*first], right[*first]);
  if (first) {
    const auto offset = has_same_shape ? changes_between(wrong[*first], right[*first]).first : 0;
    const auto labels = labels_of(plan);
    text += printed(right[*first], offset, "right", labels) +
            printed(wrong[*first], offset, "with the mistake", labels);
  } else {
    text += attn::paragraph("Nothing changes: on these dimensions the mistake hides.");
  }
  if (has_same_shape) text += what_is_claimed(id, plan);
  if (mistake != nullptr) text += known(*mistake);
  if (broken.output) write(*broken.output, wrong, plan, text);
  show(text, broken.paging);
  return 0;
}

std::vector<std::string> mistakes_of_probe(const lessons::Lesson& lesson) {
  const auto probed = lessons::lesson_of_probe(lesson);
  auto ids =
      attn::ids_without_variants(lessons::mistakes_of(lessons::plan_of_probe(*probed, probed->defaults)));
  std::erase_if(ids, [](const std::string& id) { return attn::find_mistake(id) == nullptr; });
  return ids;
}

int list_mistakes(const lessons::Lesson* lesson) {
  std::string text;
  for (const auto* listed : lesson == nullptr ? lessons_of("break") : std::vector{lesson}) {
    auto ids = mistakes_of_probe(*listed);
    std::size_t widest = 0;
    for (const auto& id : ids) widest = std::max(widest, id.size());
    std::vector<std::vector<std::string>> rows;
    for (auto& id : ids)
      for (const auto& line : attn::wrap(attn::find_mistake(id)->name, attn::usual_width - widest - 4))
        rows.push_back({std::exchange(id, ""), line});
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", listed->name, attn::format_columns(rows));
  }
  show(text, Paging::automatic);
  return 0;
}

}  // namespace lab
