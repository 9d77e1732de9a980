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
#include "page/html/markup.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diff/diff.hpp"
#include "trace/number.hpp"

namespace lab {

namespace {

using attn::Error;

constexpr std::size_t break_width = 80;
constexpr std::size_t most_shown = 7;  // rows and columns of a matrix

using Steps = std::vector<attn::Prediction>;
using Labels = std::map<std::string, std::vector<attn::AxisLabels>>;

std::string in_words(std::string_view words) {
  return attn::paragraph(words, break_width, 2);
}

/// Keeps the claims of a run.
class Claims : public attn::Sink {
 public:
  void receive(const attn::Event& event) override {
    if (!event.measurement) return;
    std::string start = event.measurement->holds() ? "  passes   " : "  notices  ";
    for (const auto& line : attn::wrap(event.measurement->claim, break_width - start.size())) {
      text_ += start + line + '\n';
      start.assign(start.size(), ' ');
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// How two tensors of one shape differ.
struct Differences {
  std::optional<std::size_t> first{};  ///< place
  double largest = 0.0;
  bool has_lost_finite_numbers = false;  ///< one of `wrong` is not finite, and another than the right one
};

Differences differences_of(const attn::Prediction& wrong, const attn::Prediction& right) {
  Differences all;
  for (std::size_t i = 0; i < wrong.expected.size(); ++i) {
    const double difference = attn::difference(wrong.expected[i], right.expected[i]);
    if (difference == 0.0) continue;
    if (!all.first) all.first = i;
    all.largest = std::max(all.largest, difference);
    all.has_lost_finite_numbers = all.has_lost_finite_numbers || !std::isfinite(wrong.expected[i]);
  }
  return all;
}

bool has_other_shape(const attn::Prediction& wrong, const attn::Prediction& right) {
  return wrong.expected_shape != right.expected_shape;
}

std::string change_in_words(const attn::Prediction& wrong, const attn::Prediction& right) {
  if (has_other_shape(wrong, right))
    return fmt::format("has the shape ({}) and not ({})", attn::to_string(wrong.expected_shape),
                       attn::to_string(right.expected_shape));
  const auto differences = differences_of(wrong, right);
  if (!differences.first) return "stays";
  if (std::isinf(differences.largest))
    return differences.has_lost_finite_numbers ? "changes to numbers that are not finite"
                                               : "changes to finite numbers from others that are not";
  return fmt::format("changes by up to {:.2g}", differences.largest);
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
  for (const auto& id : ids)
    if (id == name) return id;
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

std::string table_of_changes(const Steps& wrong, const Steps& right) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < right.size(); ++i)
    rows.push_back({right[i].id, change_in_words(wrong[i], right[i])});
  return attn::format_columns(rows);
}

/// Four digits, of a large number as 1e+09; NaN whatever its sign.
std::string entry(double number) {
  constexpr double large = 1e3;
  if (std::isnan(number)) return "nan";
  return std::abs(number) < large ? fmt::format("{:.4f}", number) : fmt::format("{:.4g}", number);
}

/// What the first rows or columns of a matrix are called: tokens, or numbers.
std::vector<std::string> names_along(const attn::Prediction& step, std::size_t axis, std::size_t sample,
                                     const Labels& labels) {
  const auto& shape = step.expected_shape;
  const auto found = labels.find(step.id);
  const bool has_names = found != labels.end() && shape == step.shape && axis < found->second.size() &&
                         !found->second[axis].empty();
  std::vector<std::string> names = has_names ? found->second[axis].of(sample) : std::vector<std::string>();
  for (auto i = names.size(); i < shape[axis]; ++i) names.push_back(fmt::format("{}", i));
  names.resize(std::min(shape[axis], most_shown));
  return names;
}

/// The name of an axis of the step, the batch axis included.
std::string axis_name(const attn::Prediction& step, std::size_t axis) {
  const auto outer = step.shape.size() - step.axes.size();
  if (step.expected_shape != step.shape) return "";
  return axis < outer ? "sample" : step.axes[axis - outer];
}

/// One matrix of a tensor, the one in which the element at `offset` stands, with its first rows and columns.
std::string printed_matrix(const attn::Prediction& step, std::size_t offset, const Labels& labels) {
  constexpr std::size_t narrowest = 8;
  const auto& shape = step.expected_shape;
  if (shape.empty()) return fmt::format("    {}\n", entry(step.expected[0]));
  const auto columns = shape.back(), rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const auto begin = offset / (rows * columns) * (rows * columns);
  const auto sample = shape.size() < 3 ? 0 : offset / (attn::element_count(shape) / shape[0]);
  const auto column_names = names_along(step, shape.size() - 1, sample, labels);
  auto row_names =
      shape.size() < 2 ? std::vector<std::string>{""} : names_along(step, shape.size() - 2, sample, labels);
  row_names.insert(row_names.begin(), shape.size() < 2 ? "" : axis_name(step, shape.size() - 2));
  std::size_t width = 0;
  for (const auto& name : row_names) width = std::max(width, attn::display_width(name));
  std::string text;
  for (std::size_t line = 0; line < row_names.size(); ++line) {
    text += "    " + attn::pad_right(row_names[line], width);
    for (std::size_t column = 0; column < column_names.size(); ++column) {
      const auto& name = column_names[column];
      const auto number = begin + (line == 0 ? 0 : line - 1) * columns + column;
      text += ' ' + attn::pad_left(line == 0 ? name : entry(step.expected[number]),
                                   std::max(narrowest, attn::display_width(name)));
    }
    text += columns > most_shown ? "  …\n" : "\n";
  }
  return rows > most_shown ? text + "     …\n" : text;
}

/// ", sample 0, head 1": where that matrix stands. The first axis is the batch.
std::string place_of_matrix(const attn::Prediction& step, std::size_t offset) {
  std::string text;
  const auto& shape = step.expected_shape;
  for (std::size_t axis = shape.size(); axis-- > 0; offset /= shape[axis])
    if (axis + 2 < shape.size() && shape.size() == step.axes.size() + 1)
      text = fmt::format(", {} {}", axis == 0 ? "sample" : step.axes[axis - 1], offset % shape[axis]) + text;
  return text;
}

std::string printed(const attn::Prediction& step, std::size_t offset, const char* which,
                    const Labels& labels) {
  return fmt::format("\n{}{}, {}\n{}", step.id, place_of_matrix(step, offset), which,
                     printed_matrix(step, offset, labels));
}

/// The step, right and with the mistake.
std::string beside_each_other(const attn::Prediction& wrong, const attn::Prediction& right,
                              const Labels& labels) {
  const auto offset = has_other_shape(wrong, right) ? 0 : differences_of(wrong, right).first.value_or(0);
  return printed(right, offset, "right", labels) + printed(wrong, offset, "with the mistake", labels);
}

/// The place of the first step that changes; that of none is their number.
std::size_t first_change(const Steps& wrong, const Steps& right) {
  std::size_t first = 0;
  while (first < right.size() && !has_other_shape(wrong[first], right[first]) &&
         !differences_of(wrong[first], right[first]).first)
    ++first;
  return first;
}

std::string what_changes(const Steps& wrong, const Steps& right, const Labels& labels) {
  const auto text = "\nWhat changes\n" + table_of_changes(wrong, right);
  const auto first = first_change(wrong, right);
  if (first == right.size())
    return text + in_words("Nothing changes: on these dimensions the mistake hides.");
  return text + beside_each_other(wrong[first], right[first], labels);
}

std::string what_is_claimed(const std::string& id, const lessons::Plan& plan) {
  Claims claims;
  lessons::run(*plan.lesson, plan, claims, attn::made_on_purpose({id}));
  return "\nWhich of the lesson's checks notice it (what a check computes again is right)\n" + claims.text();
}

/// What is known of the mistake.
std::string known(const attn::CataloguedMistake& mistake) {
  std::string text;
  for (const auto& [title, words] : {std::pair("Why the usual tests pass", mistake.unchanged),
                                     {"Why a model may train with it", mistake.training},
                                     {"How to find it", mistake.teacher}})
    if (!words.empty()) text += fmt::format("\n{}\n{}", title, in_words(words));
  return text;
}

/// Passes a run on, with the tensors of other steps in the place of its own.
class Substitute : public attn::Sink {
 public:
  Substitute(attn::Sink& next, const Steps& steps) : next_(next), steps_(steps) {}

  void receive(const attn::Event& event) override {
    const auto* const step = attn::find_by_id(steps_, event.id);
    if (step == nullptr) return next_.receive(event);
    const auto tensor = step->tensor();
    auto changed = event;
    auto shape = tensor.shape();
    if (step->shape.size() > event.tensor->shape.size()) shape.erase(shape.begin());  // of a batch of one
    if (shape != event.tensor->shape) changed.labels.assign(shape.size(), attn::AxisLabels{});
    changed.axes.resize(shape.size());
    changed.tensor = attn::TensorView{tensor.dtype(), shape, tensor.view().data};
    next_.receive(changed);
  }

 private:
  attn::Sink& next_;
  const Steps& steps_;
};

std::optional<std::string> tensors_of(const std::string& path, const Steps& steps,
                                      const lessons::Plan& plan) {
  return tensor_file(path, plan.header(), [&](attn::Sink& file) {
    Substitute substitute(file, steps);
    lessons::run(*plan.lesson, plan, substitute);
  });
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
  else if (const auto tensors = tensors_of(path, steps, plan))
    write_to_file(path, *tensors);
  else
    throw Error(
        fmt::format("--output {} ends in no format; valid: .npz, .json, .safetensors for the tensors, .txt, "
                    ".html for the page",
                    path));
}

}  // namespace

void run_break(const BreakLesson& broken) {
  const auto& lesson = *broken.lesson;
  const auto plan = lessons::plan_of_probe(lesson, broken.options);
  const auto id = find_variant(broken.mistake, lessons::mistakes_of(plan), lesson);
  const auto right = lessons::steps_with({}, plan), wrong = lessons::steps_with({id}, plan);
  const auto* mistake = attn::find_mistake(id);
  auto text = fmt::format("break {} {}\n", lesson.name, attn::id_without_variant(id));
  if (mistake != nullptr) text += in_words(fmt::format("What is done: {}.", mistake->name));
  text += what_changes(wrong, right, labels_of(plan));
  const auto first = first_change(wrong, right);
  if (first == right.size() || !has_other_shape(wrong[first], right[first]))
    text += what_is_claimed(id, plan);
  if (mistake != nullptr) text += known(*mistake);
  if (broken.output) write(*broken.output, wrong, plan, text);
  show(text, broken.paging);
}

std::vector<std::string> mistakes_of_probe(const lessons::Lesson& lesson) {
  const auto probed = lessons::lesson_of_probe(lesson);
  auto ids =
      attn::ids_without_variants(lessons::mistakes_of(lessons::plan_of_probe(*probed, probed->defaults)));
  std::erase_if(ids, [](const std::string& id) { return attn::find_mistake(id) == nullptr; });
  return ids;
}

void list_mistakes(const ListMistakes& list) {
  std::string text;
  const auto listed = list.lesson == nullptr ? lessons_of("break") : std::vector{list.lesson};
  for (const auto* lesson : listed) {
    auto ids = mistakes_of_probe(*lesson);
    std::size_t widest = 0;
    for (const auto& id : ids) widest = std::max(widest, id.size());
    std::vector<std::vector<std::string>> rows;
    for (auto& id : ids)
      for (const auto& line : attn::wrap(attn::find_mistake(id)->name, break_width - widest - 4))
        rows.push_back({std::exchange(id, ""), line});
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", lesson->name, attn::format_columns(rows));
  }
  show(text, list.paging);
}

}  // namespace lab
