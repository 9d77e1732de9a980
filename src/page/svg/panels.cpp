#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <sstream>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "page/svg/panel.hpp"
#include "trace/entry.hpp"

namespace attn::svg {

namespace {

constexpr std::size_t longest_label = 32;

Axis axis_of(const Event& event, std::size_t axis, std::size_t sample) {
  Axis result{event.axes[axis], {}};
  for (std::size_t i = 0; i < event.tensor->shape[axis]; ++i)
    result.labels.push_back(event.labels[axis].empty()
                                ? fmt::format("{}", i)
                                : shorten(event.labels[axis].of(sample)[i], longest_label));
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
    const bool can_be_hidden = value == 0.0 && matrix.kind != Matrix::Kind::numbers;
    const bool is_mask = matrix.kind == Matrix::Kind::mask;
    matrix.values.push_back(can_be_hidden && (is_mask || is_hidden(event, index_at(index * count + i, shape)))
                                ? Matrix::hidden
                                : value);
  }
  return matrix;
}

Matrix row_of(const Matrix& matrix, std::size_t row) {
  const auto columns = static_cast<std::ptrdiff_t>(matrix.columns.size());
  const auto begin = matrix.values.begin() + static_cast<std::ptrdiff_t>(row) * columns;
  return {matrix.kind, {"", {""}}, matrix.columns, {begin, begin + columns}};
}

/// Each row as one cell of the colour that its red, green and blue are, each from 0 to 1.
Matrix patches_of(const Matrix& matrix) {
  Matrix result{.rows = matrix.rows, .columns = {"", {""}}};
  for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
    const auto part = [&](std::size_t j) { return std::clamp(matrix.values[3 * row + j], 0.0, 1.0); };
    const double red = part(0), green = part(1), blue = part(2);
    result.values.push_back(1.0);
    result.words.push_back(fmt::format("{:.2f}, {:.2f}, {:.2f}", red, green, blue));
    result.paints.push_back(paint({255 * red, 255 * green, 255 * blue}));
  }
  return result;
}

/// The curves along the last axis; of a matrix along its columns, where its rows are no curves. Of many a
/// few.
Curves curves_along(const Event& event, std::optional<std::size_t> head) {
  constexpr std::size_t most_lines = 8;
  const bool by_column = event.axes.size() == 2 && !event.curve && !event.distribution;
  const std::size_t names = by_column ? 1 : 0;
  auto curves = curves_of(event, by_column);
  if (head) curves.lines = {curves.lines[*head]};
  for (auto& line : curves.lines)  // a token needs no word before it
    if (event.axes.size() > 1 && !event.labels[names].empty())
      line.name.erase(0, event.axes[names].size() + 1);
  const std::size_t count = curves.lines.size();
  if (count <= most_lines) return curves;
  for (std::size_t i = 0; i < most_lines; ++i)
    curves.lines[i] = curves.lines[i * (count - 1) / (most_lines - 1)];
  curves.lines.resize(most_lines);
  curves.value_name += fmt::format(", {} of {} lines", most_lines, count);
  return curves;
}

/// "head 0" of a place along the axes before the tables.
std::string place_of(const Event& event, const Index& at) {
  std::string words;
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    words = joined(words, fmt::format("{} {}", event.axes[axis], at[axis]));
  return words;
}

/// "dot" of dot/weights beside general/weights: the id without the end that all have.
std::string what_differs(const std::string& id, const std::vector<std::string>& all) {
  auto slash = id.find('/');
  while (slash != id.npos &&
         !all_of(all, [&](const auto& other) { return other.ends_with(id.substr(slash)); }))
    slash = id.find('/', slash + 1);
  auto name = id.substr(0, slash);
  std::replace(name.begin(), name.end(), '=', ' ');
  return name;
}

/// "max weight" of "max weight raw" and "max weight scaled".
std::string common_words(const std::string& one, const std::string& other) {
  const auto end = std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first;
  const std::string common(one.begin(), end);
  return common == other ? common : common.substr(0, common.find_last_of(' ') + 1);
}

/// A line of marks in its parts.
struct Pointer {
  std::string id{}, words{};
  std::vector<std::optional<std::pair<long, long>>> places{};  ///< the first and the last, or any
  std::optional<double> value{};
};

double number_in_mark(std::string_view text) {
  if (const auto number = parse_number(trimmed(text, " "))) return *number;
  throw Error(fmt::format(
      "\"{}\" is no number; valid in a mark: ID[0, 2]: WORDS, ID[0..1]: WORDS, ID = 0.5: WORDS", text));
}

/// "weights[0, *]: words", "weights[-2..-1]: words", "weights = 0.5: words" or "weights: words".
Pointer pointer_in(const std::string& line) {
  static const std::regex form(R"((.+?)(?:\[([^\[\]]*)\])?(?: = (.*?))?:(?: (.*))?)");
  std::smatch match;
  if (!std::regex_match(line, match, form)) return {line};
  Pointer pointer{match[1], match[4]};
  if (match[3].matched) pointer.value = number_in_mark(match[3].str());
  std::istringstream places(match[2]);
  for (std::string place; std::getline(places, place, ',');) {
    const auto end = place.find("..");
    const auto last = end == place.npos ? place : place.substr(end + 2);
    pointer.places.emplace_back();
    if (trimmed(place, " ") != "*")
      pointer.places.back() = {std::lround(number_in_mark(place.substr(0, end))),
                               std::lround(number_in_mark(last))};
  }
  return pointer;
}

/// The sizes of the axes that a panel has.
Shape panel_shape(const Panel& panel) {
  if (const auto* matrix = panel.matrix())
    return matrix->rows.name.empty() ? Shape{matrix->columns.size()}
                                     : Shape{matrix->rows.size(), matrix->columns.size()};
  const auto* curves = std::get_if<Curves>(&panel.content);
  if (curves == nullptr) return {};
  return curves->is_one() ? Shape{curves->positions.size()}
                          : Shape{curves->lines.size(), curves->positions.size()};
}

/// Whether the panel has what is pointed at.
bool put_mark(Panel& panel, const Pointer& pointer) {
  const auto& places = pointer.places;
  const std::size_t before = panel.at.size();
  if (pointer.value) return panel.marks.push_back({{}, {}, pointer.value, pointer.words}), true;
  for (std::size_t i = 0; i < std::min(places.size(), before); ++i)
    if (places[i] && places[i]->first != static_cast<long>(panel.at[i])) return false;
  if (places.size() <= before) return panel.remarks.push_back(pointer.words), true;
  const auto shape = panel_shape(panel);
  if (places.size() > before + shape.size()) return false;
  std::optional<std::size_t> first[2], last[2];
  for (std::size_t axis = 0; axis + before < places.size(); ++axis)
    if (const auto& place = places[before + axis]) {
      const auto size = static_cast<long>(shape[axis]);
      if (std::max(place->first, place->second) >= size || std::min(place->first, place->second) < -size)
        return false;
      first[axis] = static_cast<std::size_t>((place->first + size) % size);
      last[axis] = static_cast<std::size_t>((place->second + size) % size);
    }
  if (shape.size() == 1) std::swap(first[0], first[1]);
  return panel.marks.push_back({first[0], first[1], {}, pointer.words, last[0]}), true;
}

/// Gives each panel the caption that tells it from the others: the tensor where there are several, and the
/// place in it.
void settle_captions(std::vector<Panel>& panels) {
  std::vector<std::string> ids;  // of those without a name
  for (const auto& panel : panels)
    if (panel.caption.empty()) ids.push_back(panel.id);
  const bool is_one = !ids.empty() && all_of(ids, [&](const std::string& id) { return id == ids[0]; });
  const bool are_one = all_of(panels, [&](const Panel& panel) { return panel.id == panels[0].id; });
  for (auto& panel : panels) {
    const bool is_known = are_one || (is_one && !panel.place.empty());
    if (panel.caption.empty() && !is_known) {
      panel.caption = what_differs(panel.id, ids);
      if (panel.caption == panel.id && !panel.remarks.empty()) {  // words say more than a whole id
        panel.caption = panel.remarks.front();
        panel.remarks.erase(panel.remarks.begin());
      }
    }
    panel.caption = joined(panel.caption, panel.place);
  }
  if (panels.size() == 1 && panels[0].kind != &lines) panels[0].caption.clear();
}

/// Whether the panel goes into the last one: bars to be stacked, numbers where that has none, lines over the
/// same positions.
bool goes_into(const Panel& last, const Panel& panel) {
  if (last.kind != panel.kind) return false;
  if (panel.kind == &stacks || panel.kind == &together)
    return last.matrix()->columns == panel.matrix()->columns &&
           (panel.kind == &stacks || last.matrix()->rows == panel.matrix()->rows);
  const auto *one = std::get_if<Curves>(&last.content), *other = std::get_if<Curves>(&panel.content);
  return one != nullptr && last.can_grow && other->is_one() && one->axis == other->axis &&
         one->positions == other->positions;
}

/// Makes the panel a row of the stacks, called as its caption.
void add_row(Panel& stacks, Panel& panel) {
  auto& all = *stacks.matrix();
  const auto& row = panel.matrix()->values;
  for (auto& mark : panel.marks) mark.row = all.rows.size();
  stacks.marks.insert(stacks.marks.end(), panel.marks.begin(), panel.marks.end());
  all.values.insert(all.values.end(), row.begin(), row.end());
  all.rows.labels.push_back(panel.caption);
  all.row_remarks.push_back(panel.remarks.empty() ? "" : panel.remarks.front());
}

/// The numbers of a table in the places that had none, with the paint of that part.
void fill(Matrix& all, const Panel& panel, std::size_t part) {
  const auto& values = panel.matrix()->values;
  all.words.resize(values.size());
  all.paints.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != Matrix::hidden)
      all.values[i] = values[i], all.words[i] = panel.caption, all.paints[i] = paint_of_part(part);
}

/// The line, called as its caption, and its marks.
void add_curve(Panel& plot, const Panel& panel) {
  auto& curves = std::get<Curves>(plot.content);
  const auto& other = std::get<Curves>(panel.content);
  for (auto& mark : plot.marks)
    if (mark.column && curves.lines.size() == 1) mark.row = 0;
  for (auto mark : panel.marks) {
    if (mark.column) mark.row = curves.lines.size();
    plot.marks.push_back(mark);
  }
  curves.lines.push_back(other.lines[0]);
  curves.lines.back().name = panel.caption;
  curves.value_name = common_words(curves.value_name, other.value_name);
  curves.vertical = scale_of_lines(curves.lines);
}

void join(std::vector<Panel>& panels) {
  std::vector<Panel> joined;
  std::size_t parts = 0;  // of the last one
  for (auto& panel : panels) {
    const bool is_new = joined.empty() || !goes_into(joined.back(), panel);
    if (is_new) {
      parts = 0;
      joined.push_back(panel);
      auto& last = joined.back();
      const auto* const table = panel.matrix();
      auto* const curves = std::get_if<Curves>(&last.content);
      last.can_grow = curves != nullptr && curves->is_one();
      if (last.can_grow) curves->lines[0].name = panel.caption;
      if (last.can_grow || panel.kind == &stacks || panel.kind == &together) last.caption.clear();
      if (panel.kind == &stacks)
        last.remarks.clear(), last.marks.clear(),
            last.content = Matrix{.kind = table->kind, .columns = table->columns};
    }
    if (panel.kind == &stacks) add_row(joined.back(), panel);
    if (panel.kind == &together) fill(*joined.back().matrix(), panel, parts++);
    if (panel.kind == &lines && !is_new) add_curve(joined.back(), panel);
  }
  panels = std::move(joined);
  for (auto& panel : panels)
    if (panel.kind == &together) panel.kind = &heatmap;
}

/// What is called as the rows of a palette or the parts of a joined table gets their colours, and bars that
/// are called as a line its own; lines of one name look alike.
void settle_paints(std::vector<Panel>& panels) {
  std::map<std::string, std::string> paints;
  std::vector<std::string> names;  // of lines
  for (auto& panel : panels) {
    const auto* const matrix = panel.matrix();
    const bool is_palette = panel.kind == &bar_palette;
    for (std::size_t i = 0; (is_palette || panel.kind == &heatmap) && i < matrix->words.size(); ++i)
      paints[is_palette ? matrix->rows.labels[i] : matrix->words[i]] = matrix->paints[i];
    auto* const curves = std::get_if<Curves>(&panel.content);
    for (std::size_t i = 0; curves != nullptr && i < curves->lines.size(); ++i) {
      const auto known = std::find(names.begin(), names.end(), curves->lines[i].name);
      curves->lines[i].style = static_cast<std::size_t>(known - names.begin());
      if (known == names.end()) names.push_back(curves->lines[i].name);
    }
  }
  std::erase_if(panels, [](const Panel& panel) { return panel.kind == &bar_palette; });
  for (auto& panel : panels) {
    if ((panel.kind != &heatmap && panel.kind != &bars) || !panel.matrix()->words.empty()) continue;
    auto& [kind, rows, columns, values, own, words, remarks] = *panel.matrix();
    const auto has_paint = [&](const std::string& label) { return paints.contains(label); };
    if (all_of(columns.labels, has_paint))
      for (std::size_t i = 0; i < values.size(); ++i)
        own.push_back(paints.at(columns.labels[i % columns.size()]));
    for (std::size_t i = 0; panel.kind == &bars && i < names.size(); ++i)
      if (!names[i].empty() && panel.caption.starts_with(names[i]))
        own.assign(values.size(), paint_of_line(i));
  }
}

}  // namespace

std::optional<std::size_t> axis_of_heads(const Event& event) {
  const auto head = std::find(event.axes.begin(), event.axes.end(), "head");
  const auto axis = static_cast<std::size_t>(head - event.axes.begin());
  return axis + 1 < event.axes.size() ? std::optional(axis) : std::nullopt;
}

std::vector<Panel> panels_of(const Event& event, std::vector<Matrix>& tables, const Panel& panel,
                             std::optional<std::size_t> head) {
  std::vector<Panel> panels;
  const auto push = [&](auto content, const std::string& place, const Index& at) {
    panels.push_back(panel);
    panels.back().content = std::move(content);
    panels.back().place = place;
    panels.back().at = at;
  };
  const auto heads = axis_of_heads(event);
  if (panel.kind == &lines) return push(curves_along(event, heads ? head : std::nullopt), "", {}), panels;
  const auto& shape = event.tensor->shape;
  const std::size_t axes = std::max<std::size_t>(shape.size(), 2) - 2;  // before those of a table
  const Shape before(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axes));
  for (std::size_t index = 0; index < element_count(before); ++index) {
    const auto at = index_at(index, before);
    if (tables.size() <= index)
      tables.push_back(matrix_of(event, index, !at.empty() && event.axes[0] == "batch" ? at[0] : 0));
    if (head && heads && at[*heads] != *head) continue;
    auto matrix = tables[index];
    const auto place = place_of(event, at);
    if (panel.kind == &colours || panel.kind == &bar_palette) matrix = patches_of(matrix);
    if (panel.kind != &bars) {
      push(std::move(matrix), place, at);
      continue;
    }
    for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
      const auto &axis = matrix.rows.name, &label = matrix.rows.labels[row];
      auto of_row = at;
      if (shape.size() > 1) of_row.push_back(row);
      push(row_of(matrix, row),
           matrix.rows.size() == 1 ? place
                                   : joined(place, label.starts_with(axis) ? label : axis + " " + label),
           of_row);
    }
  }
  return panels;
}

std::vector<std::string> put_marks(std::vector<Panel>& panels, const std::string& lines) {
  std::vector<std::string> without_place;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) {
    if (line.empty()) continue;
    const auto pointer = pointer_in(line);
    bool has_place = false;
    for (auto& panel : panels)
      if (::fnmatch(pointer.id.c_str(), panel.id.c_str(), 0) == 0)
        has_place = put_mark(panel, pointer) || has_place;
    if (!has_place) without_place.push_back(line);
  }
  return without_place;
}

void arrange(std::vector<Panel>& panels) {
  std::stable_sort(panels.begin(), panels.end(),
                   [](const Panel& a, const Panel& b) { return a.order < b.order; });
  settle_captions(panels);
  join(panels);
  settle_paints(panels);
}

}  // namespace attn::svg
