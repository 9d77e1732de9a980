#include "page/svg/figure.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <sstream>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "trace/entry.hpp"

namespace attn::svg {

namespace {

/// Axes whose places have no order that a line could follow.
bool is_of_features(const std::string& axis) {
  constexpr std::array axes = {"d_model", "d_k", "d_v", "d_a", "d_ff", "hidden", "feature", "pair", "column"};
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Axis axis_of(const Event& event, std::size_t axis, std::size_t sample) {
  Axis result{event.axes[axis], {}};
  for (std::size_t i = 0; i < event.tensor->shape[axis]; ++i)
    result.labels.push_back(!event.labels[axis].empty() ? event.labels[axis].of(sample)[i]
                                                        : fmt::format("{}", i));
  return result;
}

Matrix matrix_of(const Event& event, std::size_t index, std::size_t sample) {
  const auto& shape = event.tensor->shape;
  const std::size_t rank = shape.size();
  Matrix matrix{.kind = event.tensor->dtype == Dtype::boolean ? Matrix::Kind::mask
                        : event.distribution                  ? Matrix::Kind::shares
                                                              : Matrix::Kind::numbers};
  matrix.rows = rank > 1 ? axis_of(event, rank - 2, sample) : Axis{"", {""}};
  matrix.columns = axis_of(event, rank - 1, sample);
  const std::size_t count = matrix.rows.size() * matrix.columns.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double value = event.tensor->at(index * count + i);
    matrix.values.push_back(value);
    matrix.hidden.push_back(matrix.kind == Matrix::Kind::numbers ? value == -INFINITY
                            : value != 0.0                       ? false
                            : matrix.kind == Matrix::Kind::mask
                                ? true
                                : is_hidden(event, index_at(index * count + i, shape)));
  }
  return matrix;
}

Matrix row_of(const Matrix& matrix, std::size_t row) {
  const auto columns = static_cast<std::ptrdiff_t>(matrix.columns.size());
  const auto begin = static_cast<std::ptrdiff_t>(row) * columns, end = begin + columns;
  return {matrix.kind,
          {"", {""}},
          matrix.columns,
          {matrix.values.begin() + begin, matrix.values.begin() + end},
          {matrix.hidden.begin() + begin, matrix.hidden.begin() + end}};
}

/// The curves along the last axis, or along the first where the last one has features: of many a few.
Curves curves_along(const Event& event, std::optional<std::size_t> head) {
  constexpr std::size_t most_lines = 8;
  auto turned = event;
  std::vector<double> values;
  const auto& shape = event.tensor->shape;
  if (shape.size() == 2 && is_of_features(event.axes[1])) {
    for (std::size_t j = 0; j < shape[1]; ++j)
      for (std::size_t i = 0; i < shape[0]; ++i) values.push_back(event.tensor->at(i * shape[1] + j));
    turned.tensor = TensorView{Dtype::float64, {shape[1], shape[0]}, values.data()};
    std::swap(turned.axes[0], turned.axes[1]);
    std::swap(turned.labels[0], turned.labels[1]);
  }
  auto curves = curves_of(turned);
  if (head) curves.lines = {curves.lines[*head]};
  for (auto& line : curves.lines)  // a token needs no word before it
    if (turned.axes.size() > 1 && !turned.labels[0].empty()) line.name.erase(0, turned.axes[0].size() + 1);
  const std::size_t count = curves.lines.size();
  if (count <= most_lines) return curves;
  for (std::size_t i = 0; i < most_lines; ++i)
    curves.lines[i] = curves.lines[i * (count - 1) / (most_lines - 1)];
  curves.lines.resize(most_lines);
  curves.value_name += fmt::format(", {} of {} lines", most_lines, count);
  return curves;
}

std::size_t axes_before_tables(const Event& event) {
  return std::max<std::size_t>(event.axes.size(), 2) - 2;
}

/// "head 0" of a place along the axes before the tables.
std::string place_of(const Event& event, const Index& at) {
  std::string words;
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    words += fmt::format("{}{} {}", axis > 0 ? ", " : "", event.axes[axis], at[axis]);
  return words;
}

/// "dot" of dot/weights beside general/weights: the id without the end that all have.
std::string what_differs(const std::string& id, const std::vector<std::string>& all) {
  auto slash = id.find('/');
  while (slash != id.npos && !std::all_of(all.begin(), all.end(), [&](const auto& other) {
           return other.ends_with(id.substr(slash));
         }))
    slash = id.find('/', slash + 1);
  auto name = id.substr(0, slash);
  std::replace(name.begin(), name.end(), '=', ' ');
  return name;
}

std::string with_place(const std::string& words, const std::string& place) {
  return words + (words.empty() || place.empty() ? "" : ", ") + place;
}

/// "max weight" of "max weight raw" and "max weight scaled".
std::string common_words(const std::string& one, const std::string& other) {
  const auto end = std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first;
  const std::string common(one.begin(), end);
  return common == other ? common : common.substr(0, common.find_last_of(' ') + 1);
}

/// Some places along an axis; from the end where they are below 0.
struct Places {
  long first, last;
};

/// A line of marks in its parts; places are nothing where they stand for any.
struct Pointer {
  std::string id{}, words{};
  std::vector<std::optional<Places>> places{};
  std::optional<double> value{};
};

double number_in_mark(std::string_view text) {
  if (const auto number = parse_number(trimmed(text, " "))) return *number;
  throw Error(fmt::format(
      "\"{}\" is no number; valid in a mark: ID[0, 2]: WORDS, ID[0..1]: WORDS, ID = 0.5: WORDS", text));
}

std::optional<Places> places_in_mark(std::string_view text) {
  constexpr std::string_view to = "..";
  if (trimmed(text, " ") == "*") return std::nullopt;
  const auto end = text.find(to);
  const auto first = std::lround(number_in_mark(text.substr(0, end)));
  return Places{first, end == text.npos ? first : std::lround(number_in_mark(text.substr(end + to.size())))};
}

/// "weights[0, *]: words", "weights = 0.5: words" or "weights: words".
Pointer mark_in_line(const std::string& line) {
  constexpr std::string_view before_words = ": ", before_value = " = ";
  const auto end = std::min(line.find(before_words), line.ends_with(':') ? line.size() - 1 : line.size());
  Pointer pointer{line.substr(0, end), line.substr(std::min(end + before_words.size(), line.size()))};
  if (const auto at = pointer.id.find(before_value); at != pointer.id.npos) {
    pointer.value = number_in_mark(std::string_view(pointer.id).substr(at + before_value.size()));
    pointer.id.resize(at);
  }
  const auto open = pointer.id.rfind('[');
  if (open == pointer.id.npos || !pointer.id.ends_with(']')) return pointer;
  std::istringstream places(pointer.id.substr(open + 1, pointer.id.size() - open - 2));
  for (std::string place; std::getline(places, place, ',');) pointer.places.push_back(places_in_mark(place));
  pointer.id.resize(open);
  return pointer;
}

/// The sizes of the axes that a panel has.
Shape panel_shape(const Panel& panel) {
  if (const auto* matrix = std::get_if<Matrix>(&panel.content))
    return matrix->rows.name.empty() ? Shape{matrix->columns.size()}
                                     : Shape{matrix->rows.size(), matrix->columns.size()};
  const auto* curves = std::get_if<Curves>(&panel.content);
  if (curves == nullptr) return {};
  const bool is_one = curves->lines.size() == 1 && curves->lines[0].name.empty();
  return is_one ? Shape{curves->positions.size()} : Shape{curves->lines.size(), curves->positions.size()};
}

/// Whether the panel has what is pointed at.
bool put_mark(Figure& figure, const Pointer& pointer) {
  auto& panel = figure.panel;
  const auto& places = pointer.places;
  const std::size_t before = figure.at.size();
  if (pointer.value) return panel.marks.push_back({{}, {}, pointer.value, pointer.words}), true;
  for (std::size_t i = 0; i < std::min(places.size(), before); ++i)
    if (places[i] && places[i]->first != static_cast<long>(figure.at[i])) return false;
  if (places.size() <= before) return panel.remarks.push_back(pointer.words), true;
  const auto shape = panel_shape(panel);
  if (places.size() > before + shape.size()) return false;
  std::vector<std::optional<std::size_t>> first(2), last(2);
  for (std::size_t axis = 0; axis + before < places.size(); ++axis)
    if (const auto& place = places[before + axis]) {
      const auto size = static_cast<long>(shape[axis]);
      if (std::max(place->first, place->last) >= size || std::min(place->first, place->last) < -size)
        return false;
      first[axis] = static_cast<std::size_t>((place->first + size) % size);
      last[axis] = static_cast<std::size_t>((place->last + size) % size);
    }
  if (shape.size() == 1) std::swap(first[0], first[1]);
  return panel.marks.push_back({first[0], first[1], {}, pointer.words, last[0]}), true;
}

}  // namespace

bool is_usual(const Event& event) {
  const bool is_mask =
      event.tensor->dtype == Dtype::boolean && event.axes.size() >= 2 && event.axes.back() == "key";
  return event.distribution || event.curve || is_mask;
}

const Kind& usual_kind(const Event& event) {
  const auto& shape = event.tensor->shape;
  if (event.curve && shape.size() <= 2) return lines;
  const bool is_row = shape.size() == 1 || (event.distribution && shape[shape.size() - 2] == 1);
  return is_row && (!event.labels.back().empty() || shape.back() <= most_bars) ? bars : heatmap;
}

bool fits(const Kind& kind, const Event& event) {
  const bool has_words_on_both_sides = event.distribution && event.axes.size() >= 2;
  if (&kind == &colours) return event.tensor->shape.back() == 3;
  return &kind == &arcs ? has_words_on_both_sides : &kind == &lines ? event.axes.size() <= 2 : true;
}

std::optional<std::size_t> axis_of_heads(const Event& event) {
  const auto head = std::find(event.axes.begin(), event.axes.end(), "head");
  const auto axis = static_cast<std::size_t>(head - event.axes.begin());
  return axis + 1 < event.axes.size() ? std::optional(axis) : std::nullopt;
}

std::vector<Figure> figures_of(const Event& event, const Figure& figure, std::optional<std::size_t> head) {
  std::vector<Figure> figures;
  const auto push = [&](std::variant<Matrix, Curves, std::string> content, const std::string& place,
                        const Index& at) {
    figures.push_back(figure);
    figures.back().panel.content = std::move(content);
    figures.back().place = place;
    figures.back().at = at;
  };
  const auto heads = axis_of_heads(event);
  if (figure.kind == &lines) return push(curves_along(event, heads ? head : std::nullopt), "", {}), figures;
  const auto& shape = event.tensor->shape;
  const Shape before(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axes_before_tables(event)));
  for (std::size_t index = 0; index < element_count(before); ++index) {
    const auto at = index_at(index, before);
    if (head && heads && at[*heads] != *head) continue;
    const auto matrix = matrix_of(event, index, !at.empty() && event.axes[0] == "batch" ? at[0] : 0);
    const auto place = place_of(event, at);
    if (figure.kind != &bars) {
      push(matrix, place, at);
      continue;
    }
    for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
      const auto &axis = matrix.rows.name, &label = matrix.rows.labels[row];
      auto of_row = at;
      if (shape.size() > 1) of_row.push_back(row);
      push(row_of(matrix, row),
           matrix.rows.size() == 1 ? place
                                   : with_place(place, label.starts_with(axis) ? label : axis + " " + label),
           of_row);
    }
  }
  return figures;
}

std::vector<std::string> put_marks(std::vector<Figure>& figures, const std::string& lines) {
  std::vector<std::string> without_place;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) {
    if (line.empty()) continue;
    const auto pointer = mark_in_line(line);
    bool has_place = false;
    for (auto& figure : figures)
      if (::fnmatch(pointer.id.c_str(), figure.panel.id.c_str(), 0) == 0)
        has_place = put_mark(figure, pointer) || has_place;
    if (!has_place) without_place.push_back(line);
  }
  return without_place;
}

namespace {

/// The numbers of a table in the places that had none.
void fill(Matrix& all, const Matrix& table, const std::string& name) {
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    if (table.hidden[i]) continue;
    all.values[i] = table.values[i];
    all.hidden[i] = false;
    all.parts[i] = all.part_names.size();
  }
  all.part_names.push_back(name);
}

/// A row of a stack below the others, called as its caption.
void add_row(Panel& all, Panel& panel) {
  auto& table = std::get<Matrix>(all.content);
  const auto& row = std::get<Matrix>(panel.content);
  for (auto& mark : panel.marks) {
    mark.row = table.rows.size();
    all.marks.push_back(mark);
  }
  table.values.insert(table.values.end(), row.values.begin(), row.values.end());
  table.hidden.insert(table.hidden.end(), row.hidden.begin(), row.hidden.end());
  table.rows.labels.push_back(panel.caption);
  table.part_names.push_back(panel.remarks.empty() ? "" : panel.remarks.front());
}

}  // namespace

void join_tables(std::vector<Figure>& figures) {
  std::vector<Figure> joined;
  const Figure* last = nullptr;  // what may get more
  for (auto& figure : figures) {
    auto* const table = std::get_if<Matrix>(&figure.panel.content);
    const bool is_stack = figure.kind == &stacks, is_joined = is_stack || figure.is_together;
    const bool goes_on = is_joined && table != nullptr && last != nullptr &&
                         std::get<Matrix>(last->panel.content).columns == table->columns &&
                         (is_stack || std::get<Matrix>(last->panel.content).rows == table->rows);
    if (goes_on && is_stack) {
      add_row(joined.back().panel, figure.panel);
    } else if (goes_on) {
      fill(std::get<Matrix>(joined.back().panel.content), *table, figure.panel.caption);
    } else {
      joined.push_back(std::move(figure));
      last = is_joined && table != nullptr ? &joined.back() : nullptr;
      if (last == nullptr) continue;
      auto& first = joined.back().panel;
      if (is_stack) {
        auto row = std::exchange(first, {});
        const auto& matrix = std::get<Matrix>(row.content);
        first = {.id = row.id, .content = Matrix{.kind = matrix.kind, .columns = matrix.columns}};
        add_row(first, row);
      } else {
        auto& all = std::get<Matrix>(first.content);
        all.parts.assign(all.values.size(), 0);
        all.part_names = {first.caption};
      }
      first.caption.clear();
    }
  }
  figures = std::move(joined);
}

void colour_bars(std::vector<Figure>& figures) {
  for (const auto& palette : figures) {
    const auto* colours = palette.is_palette ? std::get_if<Matrix>(&palette.panel.content) : nullptr;
    for (auto& figure : figures)
      if (auto* matrix = std::get_if<Matrix>(&figure.panel.content);
          colours != nullptr && matrix != nullptr && figure.kind == &bars && matrix->columns == colours->rows)
        for (std::size_t i = 0; i < colours->rows.size(); ++i)
          matrix->colours.push_back(colour_of_row(*colours, i));
  }
  std::erase_if(figures, [](const Figure& figure) { return figure.is_palette; });
}

void join_curves(std::vector<Figure>& figures) {
  std::vector<Figure> joined;
  std::vector<std::string> names;
  bool is_open = false;  // the last of them may get more lines
  for (auto& figure : figures) {
    auto* const curves = std::get_if<Curves>(&figure.panel.content);
    const bool is_one = curves != nullptr && curves->lines.size() == 1 && curves->lines[0].name.empty();
    if (is_one) curves->lines[0].name = std::exchange(figure.panel.caption, "");
    if (curves != nullptr)
      for (auto& line : curves->lines) {
        const auto known = std::find(names.begin(), names.end(), line.name);
        line.style = static_cast<std::size_t>(known - names.begin());
        if (known == names.end()) names.push_back(line.name);
      }
    auto* const last = is_one && is_open ? std::get_if<Curves>(&joined.back().panel.content) : nullptr;
    is_open = is_one;
    if (last == nullptr || last->axis != curves->axis || last->positions != curves->positions) {
      joined.push_back(std::move(figure));
      continue;
    }
    for (auto& mark : joined.back().panel.marks)
      if (mark.column && last->lines.size() == 1) mark.row = 0;
    for (auto mark : figure.panel.marks) {
      if (mark.column) mark.row = last->lines.size();
      joined.back().panel.marks.push_back(mark);
    }
    last->lines.push_back(curves->lines[0]);
    last->value_name = common_words(last->value_name, curves->value_name);
    std::vector<double> all;
    for (const auto& line : last->lines) all.insert(all.end(), line.values.begin(), line.values.end());
    last->vertical = scale_of(all);
  }
  for (auto& figure : joined)
    for (std::size_t i = 0; figure.kind == &bars && i < names.size(); ++i)
      if (!names[i].empty() && figure.panel.caption.starts_with(names[i]))
        std::get<Matrix>(figure.panel.content).line = i;
  figures = std::move(joined);
}

void settle_captions(std::vector<Figure>& figures) {
  std::stable_sort(figures.begin(), figures.end(),
                   [](const Figure& a, const Figure& b) { return a.order < b.order; });
  std::set<std::string> all;
  std::vector<std::string> ids;  // of those without a name
  for (const auto& figure : figures) {
    all.insert(figure.panel.id);
    if (figure.panel.caption.empty()) ids.push_back(figure.panel.id);
  }
  const bool is_one = std::set<std::string>(ids.begin(), ids.end()).size() == 1;
  for (auto& figure : figures) {
    auto& panel = figure.panel;
    const auto& place = figure.place;
    const bool is_known = all.size() == 1 || (is_one && !place.empty());
    if (panel.caption.empty() && !is_known) {
      panel.caption = what_differs(panel.id, ids);
      if (panel.caption == panel.id && !panel.remarks.empty()) {  // words say more than a whole id
        panel.caption = panel.remarks.front();
        panel.remarks.erase(panel.remarks.begin());
      }
    }
    panel.caption = with_place(panel.caption, place);
  }
  if (figures.size() == 1 && figures[0].kind != &lines) figures[0].panel.caption.clear();
}

}  // namespace attn::svg
