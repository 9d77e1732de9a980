#include "page/svg/svg.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "trace/entry.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

using svg::Drawing;
using svg::Matrix;
using svg::Room;

constexpr double margin = 24.0, widest = 920.0, usual_ratio = 0.71;
constexpr double gap = 28.0;
constexpr double narrowest_text = 584.0;
constexpr std::size_t most_panels = 400, most_numbers = 4'000'000, most_lines = 8;
constexpr double smallest_of_usual_scale = 0.25;  // where no share is larger, the scale ends at the largest

bool is_mask(const Event& event) {
  return event.tensor->dtype == Dtype::boolean && event.axes.size() >= 2 && event.axes.back() == "key";
}

/// Axes whose places have no order that a line could follow.
bool is_of_features(const std::string& axis) {
  constexpr std::array axes = {"d_model", "d_k", "d_v", "d_a", "d_ff", "hidden", "feature", "pair"};
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

svg::Axis axis_of(const Event& event, std::size_t axis, std::size_t sample) {
  svg::Axis result{event.axes[axis], {}};
  for (std::size_t i = 0; i < event.tensor->shape[axis]; ++i)
    result.labels.push_back(!event.labels[axis].empty() ? event.labels[axis].of(sample)[i]
                                                        : fmt::format("{}", i));
  return result;
}

/// In a long row what follows a hidden key with 0 is hidden, too: to ask for every one takes long.
void hide_keys(Matrix& matrix, const Event& event, std::size_t first) {
  constexpr std::size_t most_asked = 64;
  const std::size_t columns = matrix.columns.size();
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    const bool goes_on = columns > most_asked && i % columns > 0 && matrix.values[i - 1] == 0.0;
    if (matrix.values[i] == 0.0)
      matrix.hidden[i] =
          goes_on ? matrix.hidden[i - 1] : is_hidden(event, index_at(first + i, event.tensor->shape));
  }
}

Matrix matrix_of(const Event& event, std::size_t index, std::size_t sample) {
  const auto& shape = event.tensor->shape;
  const std::size_t rank = shape.size();
  Matrix matrix{.kind = event.tensor->dtype == Dtype::boolean ? Matrix::Kind::mask
                        : event.distribution                  ? Matrix::Kind::shares
                                                              : Matrix::Kind::numbers};
  matrix.rows = rank > 1 ? axis_of(event, rank - 2, sample) : svg::Axis{"", {""}};
  matrix.columns = axis_of(event, rank - 1, sample);
  const std::size_t count = matrix.rows.size() * matrix.columns.size();
  for (std::size_t i = 0; i < count; ++i) matrix.values.push_back(event.tensor->at(index * count + i));
  matrix.hidden.assign(count, false);
  if (matrix.kind == Matrix::Kind::shares) return hide_keys(matrix, event, index * count), matrix;
  for (std::size_t i = 0; i < count; ++i)
    matrix.hidden[i] = matrix.values[i] == (matrix.kind == Matrix::Kind::mask ? 0.0 : -INFINITY);
  return matrix;
}

/// The curves along the last axis, or along the first where the last one has features: of many a few.
Curves curves_along(const Event& event) {
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

const svg::Kind& usual_kind(const Event& event) {
  constexpr std::size_t most_bars = 16;
  const auto& shape = event.tensor->shape;
  if (event.curve && shape.size() <= 2) return svg::lines;
  const bool is_row = shape.size() == 1 || (event.distribution && shape[shape.size() - 2] == 1);
  return is_row && (!event.labels.back().empty() || shape.back() <= most_bars) ? svg::bars : svg::heatmap;
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

/// "head 0" of a place along axes before the last two.
std::string place_of(const Event& event, std::size_t index, std::size_t axes) {
  std::string words;
  for (std::size_t axis = axes; axis-- > 0; index /= event.tensor->shape[axis])
    words = fmt::format("{} {}", event.axes[axis], index % event.tensor->shape[axis]) +
            (words.empty() ? "" : ", ") + words;
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

/// `"the cat sat"`, and what stands behind it in a batch.
std::string sentence_of(const Header& header, std::string_view name) {
  for (const auto& [member, value] : header.config)
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value);
        texts != nullptr && member == name && !texts->empty())
      return quoted(shorten(texts->front(), 120)) +
             (texts->size() > 1 ? fmt::format(" and {} more", texts->size() - 1) : "");
  return "";
}

std::string origin_of(const Header& header, bool weights_by_hand) {
  const auto model = header.text("model"), origin = header.text(origin_of_numbers);
  std::string seed;
  for (const auto& [name, value] : header.config)
    if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr && name == "seed")
      seed = fmt::format("seed {}", *number);
  if (!model.empty() && model != "none")
    return fmt::format("{} model {}", weights_by_hand ? "hand-made" : "trained", model) +
           (origin.empty() ? "" : fmt::format("; {}{}", seed, origin.substr(origin.rfind(" draws"))));
  return origin.empty() ? "" : fmt::format("{}, {}", origin, seed);
}

std::string subtitle_of(const Header& header, bool weights_by_hand) {
  std::vector<std::string> parts = {"attnlab " + header.lesson};
  const auto source = sentence_of(header, "source"), target = sentence_of(header, "target");
  for (const auto& part : {sentence_of(header, "sentence"), source.empty() ? target : source + " → " + target,
                           origin_of(header, weights_by_hand)})
    if (!part.empty()) parts.push_back(part);
  return fmt::format("{}", fmt::join(parts, " · "));
}

/// The largest share, or of many rows one that half of them do not exceed: the first few words of a long
/// sentence have few others to look at.
double usual_largest_share(const Matrix& matrix) {
  constexpr std::size_t most_rows_of_all = 40;
  const std::size_t columns = matrix.columns.size();
  std::vector<double> largest;
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    if (i % columns == 0) largest.push_back(0.0);
    if (std::isfinite(matrix.values[i])) largest.back() = std::max(largest.back(), matrix.values[i]);
  }
  std::sort(largest.begin(), largest.end());
  return largest.size() <= most_rows_of_all ? largest.back() : largest[largest.size() / 2];
}

/// What rows, columns and the scale are, in words.
std::string explanation(const svg::Kind& kind, const svg::Panel& panel, const svg::Look& look) {
  if (!std::holds_alternative<Matrix>(panel.content)) return "";
  const auto& matrix = std::get<Matrix>(panel.content);
  const auto &row = matrix.rows.name, &column = matrix.columns.name;
  const bool are_shares = matrix.kind == Matrix::Kind::shares;
  if (matrix.kind == Matrix::Kind::mask)
    return fmt::format("Rows: {}. Columns: {}. A dark cell: the one may see the other.", row, column);
  const auto what = !are_shares ? fmt::format("a number of {}", last_of_path(panel.id))
                    : column == "key" || column == "source" ? "a share of attention"
                                                            : "a share";
  auto words = kind.name == svg::arcs.name
                   ? fmt::format("The thicker the line from a {} to a {}, the larger the share.", row, column)
               : kind.name == svg::bars.name
                   ? fmt::format("A bar: {}, one for each {}.", what, column)
                   : (row.empty() ? "" : fmt::format("Rows: {}. ", row)) +
                         fmt::format("Columns: {}. Cell: {}", column, what) +
                         (are_shares && !row.empty() ? "; those of a row sum to 1." : ".");
  if (look.has_negative) words += " Blue is above 0, orange below.";
  if (are_shares && look.scale < 1.0)
    words += fmt::format(" The scale ends at {:g}, not at 1{}.", look.scale,
                         look.scale < look.largest ? ", and what is larger has its colour" : "");
  return words;
}

Drawing lines_of_text(const std::string& words, double width, double size, std::string_view style) {
  Drawing drawing;
  const auto columns = static_cast<std::size_t>(width / (0.56 * size));
  for (const auto& line : wrap(words, std::max<std::size_t>(columns, 20))) {
    drawing.elements += svg::text(0, drawing.height + size, line, svg::Anchor::start, style);
    drawing.height += 1.4 * size;
    drawing.width = std::max(drawing.width, svg::text_width(line, size));
  }
  return drawing;
}

/// Whether one panel's labels can stand for those of all.
bool share_labels(const std::vector<const svg::Panel*>& panels) {
  const auto* first = std::get_if<Matrix>(&panels[0]->content);
  return first != nullptr && std::all_of(panels.begin(), panels.end(), [&](const svg::Panel* panel) {
           const auto& matrix = std::get<Matrix>(panel->content);
           return matrix.rows == first->rows && matrix.columns == first->columns;
         });
}

/// Panels beside each other, in as many columns as give each the most room.
class Grid {
 public:
  Grid(const std::vector<const svg::Panel*>& panels, const svg::Kind& kind, const Room& room)
      : panels_(panels), kind_(kind), room_(room), shares_labels_(share_labels(panels)), widest_(panels[0]) {
    for (const auto* panel : panels) {
      wish_ = larger(wish_, kind.wish(*panel));
      caption_width_ = std::max(caption_width_, svg::text_width(panel->caption, 1.12 * 15));
    }
    const auto beside = [&](const svg::Panel* panel) { return kind.beside(*panel, wish_).width; };
    if (!shares_labels_)
      widest_ = *std::max_element(panels.begin(), panels.end(),
                                  [&](const auto* a, const auto* b) { return beside(a) < beside(b); });
  }

  /// In so many columns, unless others give much more room; 0 stands for any number.
  std::size_t columns(std::size_t wanted) const {
    std::size_t best = std::max<std::size_t>(
        1, std::min(panels_.size(), static_cast<std::size_t>(room_.width / (caption_width_ + gap))));
    for (std::size_t columns = best; columns > 0; --columns)
      if (const double gain = fit(columns) / fit(best);
          gain > 1.02 || (gain > 0.93 && unfilled(columns) < unfilled(best)))
        best = columns;
    return wanted > 0 && fit(wanted) > 0.45 * fit(best) ? wanted : best;
  }

  Drawing draw(const svg::Look& look, std::size_t columns) const {
    const auto room = room_of_one(columns);
    std::vector<Drawing> drawings;
    std::vector<double> widths(columns, 0.0);
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      const svg::Shown shown{!shares_labels_ || i % columns == 0, !shares_labels_ || i < columns};
      drawings.push_back(kind_.draw(*panels_[i], look, room, shown));
      auto& [elements, width, height, left] = drawings.back();
      width = std::max(width, left + svg::text_width(panels_[i]->caption, 1.12 * 15));
      widths[i % columns] = std::max(widths[i % columns], width);
    }
    Drawing all;
    double x = 0.0, y = 0.0;
    for (std::size_t i = 0; i < drawings.size(); ++i) {
      if (i > 0 && i % columns == 0) x = 0.0, y = all.height + gap;
      const auto& caption = panels_[i]->caption;
      const auto& [elements, width, height, left] = drawings[i];
      all.elements +=
          svg::at(x, y,
                  (caption.empty() ? "" : svg::text(left, 15, caption, svg::Anchor::start, "caption")) +
                      svg::at(0, caption_height(), elements));
      all.width = std::max(all.width, x + width);
      all.height = std::max(all.height, y + caption_height() + height);
      x += widths[i % columns] + gap;
    }
    return all;
  }

 private:
  static Room larger(const Room& a, const Room& b) {
    return {std::max(a.width, b.width), std::max(a.height, b.height)};
  }

  double caption_height() const { return caption_width_ > 0.0 ? 26.0 : 0.0; }
  std::size_t rows(std::size_t columns) const { return (panels_.size() + columns - 1) / columns; }
  std::size_t unfilled(std::size_t columns) const { return rows(columns) * columns - panels_.size(); }

  /// The labels' room depends on that of the panels, and the other way round.
  Room room_of_one(std::size_t columns) const {
    const auto across = static_cast<double>(columns), down = static_cast<double>(rows(columns));
    Room one = wish_;
    for (int i = 0; i < 3; ++i) {
      const auto beside = kind_.beside(*widest_, one);
      one = {(room_.width - gap * (across - 1) - beside.width * (shares_labels_ ? 1.0 : across)) / across,
             (room_.height - gap * (down - 1) - caption_height() * down -
              beside.height * (shares_labels_ ? 1.0 : down)) /
                 down};
    }
    return one;
  }

  double fit(std::size_t columns) const {
    const auto one = room_of_one(columns);
    return std::max(0.01, std::min({1.0, one.width / wish_.width, one.height / wish_.height}));
  }

  const std::vector<const svg::Panel*>& panels_;
  const svg::Kind& kind_;
  Room room_, wish_{1.0, 1.0};
  bool shares_labels_;
  const svg::Panel* widest_;  ///< whose labels take the most room
  double caption_width_ = 0.0;
};

void put_below(Drawing& above, double distance, const Drawing& drawing) {
  if (drawing.elements.empty()) return;
  above.elements += svg::at(0, above.height + distance, drawing.elements);
  above.height += distance + drawing.height;
  above.width = std::max(above.width, drawing.width);
}

}  // namespace

SvgRenderer::SvgRenderer(Header header, PictureStyle style)
    : header_(std::move(header)),
      style_(std::move(style)),
      subtitle_(subtitle_of(header_, style_.weights_by_hand)) {}

/// None where nobody names the tensor.
std::optional<SvgRenderer::Figure> SvgRenderer::named(const Event& event) const {
  const auto& figures = style_.picture.figures;
  for (std::size_t i = 0; i < figures.size() && !style_.takes_all; ++i)
    if (::fnmatch(figures[i].first.c_str(), event.id.c_str(), 0) == 0)
      return Figure{.panel = {event.id, figures[i].second, {}}, .order = i};
  return style_.takes_all ? std::optional(Figure{.panel = {event.id, "", {}}}) : std::nullopt;
}

void SvgRenderer::receive(const Event& event) {
  if (style_.kind == &svg::flow && event.kind == Kind::note && last_of_path(event.id) == "flow") {
    titles_.push_back("How " + header_.lesson + " is computed");
    figures_.push_back({{event.id, "", event.formula}, &svg::flow, 0, titles_.size()});
  }
  if (style_.kind == &svg::flow) return;
  if (!event.tensor || event.tensor->data == nullptr || event.tensor->shape.empty()) return;
  drawable_.push_back(event.id);
  auto figure = named(event);
  const bool is_usual = event.distribution || event.curve || is_mask(event);
  if (!figure && (!is_usual || has_named_)) return;
  const auto& kind = style_.kind != nullptr ? *style_.kind : usual_kind(event);
  const bool has_words_on_both_sides = event.distribution && event.axes.size() >= 2;
  const bool fits = kind.name == svg::arcs.name    ? has_words_on_both_sides
                    : kind.name == svg::lines.name ? event.axes.size() <= 2
                                                   : true;
  if (!fits && !style_.takes_all) return;
  if (figure && !std::exchange(has_named_, true)) figures_.clear(), titles_.clear();
  if (!figure) figure = Figure{.panel = {event.id, "", {}}};
  if (!fits && kind.name == svg::arcs.name)
    throw Error(
        fmt::format("--picture arcs draws the attention of words; {} is {}; valid: --steps with weights, or "
                    "--picture heatmap, bars or lines",
                    event.id, named_shape(event)));
  if (!fits)
    throw Error(
        fmt::format("--picture lines draws vectors and matrices; {} is {}; valid: --picture heatmap or bars",
                    event.id, named_shape(event)));
  titles_.push_back(event.distribution && event.axes.back() == "key" ? "Who looks at whom"
                    : event.distribution && event.axes.back() == "source"
                        ? "Which source word each step looks at"
                    : event.title.empty() ? event.id
                                          : event.title);
  figure->kind = &kind;
  figure->tensor = titles_.size();
  add_panels(event, *figure);
}

void SvgRenderer::add_panels(const Event& event, const Figure& figure) {
  const auto& shape = event.tensor->shape;
  const auto push = [&](std::variant<Matrix, Curves, std::string> content, const std::string& place) {
    figures_.push_back(figure);
    figures_.back().panel.content = std::move(content);
    figures_.back().place = place;
  };
  if (figure.kind->name == svg::lines.name) return push(curves_along(event), "");
  const std::size_t before = shape.size() > 2 ? shape.size() - 2 : 0;
  std::size_t count = 1, heads_axis = before;
  for (std::size_t axis = 0; axis < before; ++axis) {
    count *= shape[axis];
    if (event.axes[axis] == "head") heads_axis = axis;
  }
  if (heads_axis < before) heads_ = std::max(heads_, shape[heads_axis]);
  numbers_ += element_count(shape);
  for (std::size_t index = 0; index < count && figures_.size() <= most_panels && numbers_ <= most_numbers;
       ++index) {
    const auto at =
        index_at(index, Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(before)));
    if (style_.head && (heads_axis == before || at[heads_axis] != *style_.head)) continue;
    const auto matrix = matrix_of(event, index, before > 0 && event.axes[0] == "batch" ? at[0] : 0);
    const auto place = place_of(event, index, before);
    if (figure.kind->name != svg::bars.name) {
      push(matrix, place);
      continue;
    }
    for (std::size_t row = 0; row < matrix.rows.size(); ++row)
      push(row_of(matrix, row),
           place + (place.empty() || matrix.rows.name.empty() ? "" : ", ") +
               (matrix.rows.name.empty() ? "" : matrix.rows.name + " " + matrix.rows.labels[row]));
  }
  if (figures_.size() > most_panels || numbers_ > most_numbers)
    throw Error(
        fmt::format("a picture of {} and what stands before it would have more than {} tables or {} numbers; "
                    "valid: --steps with fewer, or --head",
                    event.id, most_panels, most_numbers));
}

void SvgRenderer::add(const std::string& caption, Curves curves) {
  titles_.push_back(caption);
  figures_.push_back({{caption, caption, std::move(curves)}, &svg::lines, 0, titles_.size()});
}

/// Lines of one name look alike in all panels.
void SvgRenderer::settle_lines() {
  std::vector<std::string> names;
  for (auto& figure : figures_)
    if (auto* const curves = std::get_if<Curves>(&figure.panel.content))
      for (auto& line : curves->lines) {
        const auto known = std::find(names.begin(), names.end(), line.name);
        line.style = static_cast<std::size_t>(known - names.begin());
        if (known == names.end()) names.push_back(line.name);
      }
}

/// A caption says what tells a panel from the others: the tensor where there are several, and the place in
/// it.
void SvgRenderer::settle_captions() {
  std::stable_sort(figures_.begin(), figures_.end(),
                   [](const Figure& a, const Figure& b) { return a.order < b.order; });
  std::vector<std::string> ids;
  for (const auto& figure : figures_) ids.push_back(figure.panel.id);
  const bool are_several = std::set<std::string>(ids.begin(), ids.end()).size() > 1;
  for (auto& [panel, kind, order, tensor, place] : figures_) {
    if (panel.caption.empty() && are_several) panel.caption = what_differs(panel.id, ids);
    panel.caption += (panel.caption.empty() || place.empty() ? "" : ", ") + place;
  }
  if (figures_.size() == 1 && figures_[0].kind != &svg::lines) figures_[0].panel.caption.clear();
}

/// Panels of one kind with the same axes share a block.
std::vector<SvgRenderer::Block> SvgRenderer::blocks() const {
  using Key = std::array<std::string, 4>;
  const auto key_of = [](const Figure& figure) {
    const auto* matrix = std::get_if<Matrix>(&figure.panel.content);
    if (matrix == nullptr) return Key{std::string(figure.kind->name)};
    return Key{std::string(figure.kind->name),
               matrix->kind == Matrix::Kind::shares ? "shares"
               : matrix->kind == Matrix::Kind::mask
                   ? "mask"
                   : std::string(last_of_path(figure.panel.id)) + " as numbers",
               matrix->rows.name, matrix->columns.name};
  };
  std::vector<Block> blocks;
  for (const auto& figure : figures_) {
    const bool goes_on = !blocks.empty() && key_of(*blocks.back().figures[0]) == key_of(figure);
    if (!goes_on) blocks.emplace_back();
    blocks.back().figures.push_back(&figure);
  }
  for (auto& [figures, look, columns] : blocks) {
    look.numbers = style_.numbers;
    look.largest = 0.0;
    double end = 0.0;
    bool are_shares = false;
    for (const auto* figure : figures)
      if (const auto* matrix = std::get_if<Matrix>(&figure->panel.content)) {
        look.largest = std::max(look.largest, matrix->largest());
        look.has_negative = look.has_negative || matrix->has_negative();
        are_shares = matrix->kind != Matrix::Kind::numbers;
        end = std::max(end, are_shares ? usual_largest_share(*matrix) : matrix->largest());
      }
    if (style_.is_scale_largest == true) end = look.largest;
    const bool ends_at_1 = are_shares && !(end < smallest_of_usual_scale || style_.is_scale_largest == true);
    look.scale = style_.is_scale_largest == false || ends_at_1 || end == 0.0 ? 1.0 : svg::round_up(end);
    const auto is_of_first = [first = figures[0]->tensor](const Figure* figure) {
      return figure->tensor == first;
    };
    const auto of_first = std::count_if(figures.begin(), figures.end(), is_of_first);
    const bool are_heads_of_layers = of_first > 1 && figures.size() % static_cast<std::size_t>(of_first) == 0;
    columns = are_heads_of_layers ? static_cast<std::size_t>(of_first) : 0;
  }
  return blocks;
}

std::string SvgRenderer::title() const {
  if (style_.title) return *style_.title;
  auto title = !style_.takes_all && has_named_ ? style_.picture.title
               : titles_[0] == titles_.back()  ? titles_[0]
                                               : header_.title;
  if (title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return style_.head ? fmt::format("{}, head {}", title, *style_.head) : title;
}

/// A block's panels with what their colours mean below them.
Drawing SvgRenderer::draw(const Block& block, const Room& room, double words) const {
  const auto& kind = *block.figures[0]->kind;
  std::vector<const svg::Panel*> panels;
  bool has_hidden = false, has_nan = false;
  for (const auto* figure : block.figures) {
    panels.push_back(&figure->panel);
    if (const auto* matrix = std::get_if<Matrix>(&figure->panel.content))
      for (std::size_t i = 0; i < matrix->values.size(); ++i) {
        has_hidden = has_hidden || matrix->hidden[i];
        has_nan = has_nan || std::isnan(matrix->values[i]);
      }
  }
  const Grid grid(panels, kind, room);
  auto all = grid.draw(block.look, grid.columns(block.columns));
  if (const auto* matrix = std::get_if<Matrix>(&panels[0]->content))
    put_below(all, 16, svg::legend(kind, *matrix, block.look, has_hidden, has_nan));
  if (!style_.is_bare)
    put_below(all, 6,
              lines_of_text(explanation(kind, *panels[0], block.look), std::max(all.width, words),
                            svg::font_size, "muted"));
  return all;
}

/// Blocks of one panel stand beside each other, others below one another.
Drawing SvgRenderer::body(std::vector<Block> blocks, svg::Theme theme) const {
  constexpr std::size_t most_beside = 3;
  const double ratio =
      style_.size ? std::clamp(style_.size->second / style_.size->first, 0.3, 2.0) : usual_ratio;
  const double words = style_.is_bare ? 0.0 : 80.0, words_of_block = style_.is_bare ? 50.0 : 80.0;
  const auto count = static_cast<double>(blocks.size());
  const double across = widest - 2 * margin, down = widest * ratio - 2 * margin - words;
  const bool are_beside =
      blocks.size() <= most_beside && std::all_of(blocks.begin(), blocks.end(), [](const Block& one) {
        return one.figures.size() == 1 && one.figures[0]->kind->name != svg::lines.name;
      });
  const double of_block = (across - 2 * gap * (count - 1)) / count;
  const Room room = are_beside ? Room{of_block, down - words_of_block}
                               : Room{across, std::max(down / count - words_of_block, 170.0)};
  Drawing all;
  for (auto& block : blocks) {
    block.look.theme = theme;
    const auto drawing = draw(block, room, are_beside && count > 1 ? of_block : narrowest_text);
    if (!are_beside)
      put_below(all, all.height > 0.0 ? 22 : 0, drawing);
    else
      all = {all.elements + svg::at(all.width > 0.0 ? all.width + 2 * gap : 0.0, 0, drawing.elements),
             all.width + (all.width > 0.0 ? 2 * gap : 0.0) + drawing.width,
             std::max(all.height, drawing.height)};
  }
  Drawing page;
  if (!style_.is_bare) {
    const double width = std::max(all.width, narrowest_text);
    page = lines_of_text(title(), width, 20.0, "title");
    put_below(page, 2, lines_of_text(subtitle_, width, 14.0, "muted words"));
    page.height += 20;
  }
  put_below(page, 0, all);
  return {svg::at(margin, margin, page.elements), page.width + 2 * margin, page.height + 2 * margin};
}

std::string SvgRenderer::finish() {
  if (style_.head && (heads_ == 0 || *style_.head >= heads_))
    throw Error(
        heads_ == 0
            ? fmt::format("--head {}: nothing that is drawn here has heads; valid: --steps with a "
                          "tensor that has them, or no --head",
                          *style_.head)
            : fmt::format("--head {}: there are {} heads; valid: 0 to {}", *style_.head, heads_, heads_ - 1));
  if (figures_.empty() && style_.kind == &svg::flow)
    throw Error("--picture flow: the run draws no flow; valid: a lesson that has one, without --steps");
  if (figures_.empty())
    throw Error(fmt::format(
        "{}; valid: --steps with a tensor to draw: {}",
        style_.kind == nullptr
            ? "a picture shows attention weights, masks and curves, and this run has none"
            : fmt::format("--picture {}: no picture of this lesson can be drawn so", style_.kind->name),
        drawable_.empty() ? "none has numbers here" : fmt::format("{}", fmt::join(drawable_, ", "))));
  settle_captions();
  settle_lines();
  const auto all = blocks();
  const bool is_automatic = style_.theme == PictureTheme::automatic;
  std::string bodies, view;
  double width = 0.0, height = 0.0;
  for (const auto theme : {svg::Theme::light, svg::Theme::dark}) {
    if (!is_automatic && (theme == svg::Theme::dark) != (style_.theme == PictureTheme::dark)) continue;
    const auto page = body(all, theme);
    std::tie(width, height) = style_.size.value_or(std::pair(page.width, page.height));
    const double unit = std::max(page.width / width, page.height / height);
    const double across = width * unit, down = height * unit;
    const double left = (page.width - across) / 2, top = (page.height - down) / 2;
    view = fmt::format("{} {} {} {}", svg::px(left), svg::px(top), svg::px(across), svg::px(down));
    bodies += fmt::format(
        "<g class=\"{}\">\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
        "class=\"attn-paper\"/>\n{}</g>\n",
        svg::class_of(theme), svg::px(left), svg::px(top), svg::px(across), svg::px(down), page.elements);
  }
  std::string description = subtitle_ + ".";
  for (const auto& block : all)
    description += " " + explanation(*block.figures[0]->kind, block.figures[0]->panel, block.look);
  const auto document = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"{}\" role=\"img\" "
      "class=\"attn-picture{}\">\n<title>{}</title>\n<desc>{}</desc>\n{}{}</svg>\n",
      svg::px(width), svg::px(height), view, is_automatic ? " attn-auto" : "", svg::escaped(title()),
      svg::escaped(description), svg::style_sheet(is_automatic), bodies);
  figures_.clear();
  return document;
}

}  // namespace attn
