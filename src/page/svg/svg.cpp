#include "page/svg/svg.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "page/html/markup.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

using svg::Drawing;
using svg::Panel;
using svg::Panels;
using svg::Room;

// At this width letters of 13 have 10 pixels in a column of 680; at this height 20 on a slide of 1,080.
constexpr double margin = 24.0, widest = 880.0, usual_height = 495.0, highest = 660.0;
constexpr double width_of_slide = 960.0, pixels_of_slide = 1600.0;
constexpr std::size_t most_panels = 400, most_numbers = 4'000'000;

/// `"the cat sat"`, and what stands behind it in a batch.
std::string sentence_of(const Header& header, std::string_view name) {
  const auto* const texts = header.find<std::vector<std::string>>(name);
  if (texts == nullptr || texts->empty()) return "";
  return quoted(shorten(texts->front(), 120)) +
         (texts->size() > 1 ? fmt::format(" and {} more", texts->size() - 1) : "");
}

std::string origin_of(const Header& header, bool weights_by_hand) {
  const auto model = header.text("model"), origin = header.text(origin_of_numbers);
  const auto* const number = header.find<std::int64_t>("seed");
  const auto seed = number == nullptr ? "" : fmt::format("seed {}", *number);
  if (!model.empty() && model != "none")
    return fmt::format("{} model {}", weights_by_hand ? "hand-made" : "trained", model) +
           (origin.empty() ? "" : fmt::format("; {}{}", seed, origin.substr(origin.rfind(" draws"))));
  return origin.empty() ? "" : fmt::format("{}, {}", origin, seed);
}

/// Queries of one sentence and keys of another are called as these.
void name_sentences(const Header& header, svg::Matrix* matrix) {
  if (matrix == nullptr || header.find<std::vector<std::string>>("target") == nullptr) return;
  auto &rows = matrix->rows, &columns = matrix->columns;
  if (rows.name != "query" || columns.name != "key" || rows.labels == columns.labels) return;
  rows.name = "target";
  columns.name = "source";
}

std::string subtitle_of(const Header& header, bool weights_by_hand) {
  std::vector<std::string> parts;
  const auto source = sentence_of(header, "source"), target = sentence_of(header, "target");
  const auto* const arrow = source.empty() || target.empty() ? "" : " → ";
  for (const auto& part :
       {sentence_of(header, "sentence"), source + arrow + target, origin_of(header, weights_by_hand)})
    if (!part.empty()) parts.push_back(part);
  return fmt::format("{}", fmt::join(parts, " · "));
}

/// Whether a picture shows the tensor where nobody names others: weights, masks and curves.
bool is_usual(const Event& event) {
  const bool is_mask =
      event.tensor->dtype == Dtype::boolean && event.axes.size() >= 2 && event.axes.back() == "key";
  return event.distribution || event.curve || is_mask;
}

/// The kind that fits the tensor, where nobody names another.
const svg::Kind& usual_kind(const Event& event) {
  const auto& shape = event.tensor->shape;
  if (event.curve && shape.size() <= 2) return svg::lines;
  const bool is_row = shape.size() == 1 || (event.distribution && shape[shape.size() - 2] == 1);
  return is_row && (!event.labels.back().empty() || shape.back() <= svg::most_bars) ? svg::bars
                                                                                    : svg::heatmap;
}

/// Whether a tensor can be drawn so.
bool fits(const svg::Kind& kind, const Event& event) {
  const bool has_words_on_both_sides = event.distribution && event.axes.size() >= 2;
  if (&kind == &svg::colours || &kind == &svg::bar_palette) return event.tensor->shape.back() == 3;
  return &kind == &svg::arcs ? has_words_on_both_sides : &kind == &svg::lines ? event.axes.size() <= 2 : true;
}

}  // namespace

SvgRenderer::SvgRenderer(Header header, PictureStyle style)
    : header_(std::move(header)),
      style_(std::move(style)),
      subtitle_(subtitle_of(header_, style_.weights_by_hand)) {}

void SvgRenderer::receive(const Event& event) {
  if (event.marks) {
    title_ = event.title, sentence_ = event.note, marks_ = *event.marks;
    std::replace(sentence_.begin(), sentence_.end(), '\n', ' ');
  }
  if (style_.kind == &svg::flow) {
    if (event.kind != Kind::note || last_of_path(event.id) != "flow") return;
    titles_.push_back("How " + header_.lesson + " is computed");
    panels_.push_back({.id = event.id, .content = event.formula, .kind = &svg::flow});
    return;
  }
  if (!event.tensor || event.tensor->data == nullptr || event.tensor->shape.empty()) return;
  drawable_.push_back(event.id);
  tables_.clear();
  if (style_.takes_all) return add(event, {}, 0);
  const auto& parts = style_.picture.parts;
  bool is_named = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (::fnmatch(parts[i].id.c_str(), event.id.c_str(), 0) != 0) continue;
    if (!is_named || style_.kind == nullptr) add(event, parts[i], i);
    is_named = true;
  }
  if (!is_named && is_usual(event) && !has_named_) add(event, {}, 0);
}

/// As the lesson's picture names the tensor, if it does.
void SvgRenderer::add(const Event& event, const Picture::Part& part, std::size_t order) {
  const auto* const of_part = svg::kind_named(part.kind);
  const auto& kind = style_.kind != nullptr ? *style_.kind
                     : of_part != nullptr   ? *of_part
                                            : usual_kind(event);
  if (!fits(kind, event)) {
    leaves_out_ = leaves_out_ || !part.id.empty();
    if (!style_.takes_all) return;
    const bool is_arcs = &kind == &svg::arcs;
    throw Error(fmt::format(
        "--picture {} draws {}; {} is {}; valid: {}", kind.name,
        is_arcs ? "the attention of words" : "vectors and matrices", event.id, named_shape(event),
        is_arcs ? "--steps with weights, or --picture heatmap, bars or lines" : "--picture heatmap or bars"));
  }
  if ((!part.id.empty() || style_.takes_all) && !std::exchange(has_named_, true))
    panels_.clear(), titles_.clear();
  titles_.push_back(event.distribution && event.axes.back() == "key" ? "Who looks at whom"
                    : event.distribution && event.axes.back() == "source"
                        ? "Which source word each step looks at"
                    : event.title.empty() ? event.id
                                          : event.title);
  const auto heads = svg::axis_of_heads(event);
  if (heads) heads_ = std::max(heads_, event.tensor->shape[*heads]);
  if (style_.head && (!heads || *style_.head >= event.tensor->shape[*heads])) return;
  numbers_ += element_count(event.tensor->shape);
  const Panel panel{.id = event.id,
                    .caption = part.caption,
                    .kind = &kind,
                    .order = order,
                    .begins_column = part.begins_column};
  if (numbers_ <= most_numbers)
    for (auto& one : svg::panels_of(event, tables_, panel, style_.head ? style_.head : part.index)) {
      if (part.index) one.place.clear();
      name_sentences(header_, one.matrix());
      panels_.push_back(std::move(one));
    }
  if (panels_.size() > most_panels || numbers_ > most_numbers)
    throw Error(
        fmt::format("a picture of {} and what stands before it would have more than {} tables or {} numbers; "
                    "valid: --steps with fewer, or --head",
                    event.id, most_panels, most_numbers));
}

void SvgRenderer::add(const std::string& caption, Curves curves) {
  titles_.push_back(caption);
  panels_.push_back({.id = caption, .caption = caption, .content = std::move(curves), .kind = &svg::lines});
}

/// Whether it shows what the lesson's picture names.
bool SvgRenderer::is_of_lesson() const {
  return !style_.takes_all && has_named_ && !leaves_out_;
}

/// The same as the lesson names it.
bool SvgRenderer::is_as_named() const {
  return is_of_lesson() && style_.kind == nullptr && !style_.head && !style_.title;
}

std::string SvgRenderer::title() const {
  if (style_.title) return *style_.title;
  if (is_as_named() && !title_.empty()) return title_;
  auto title = is_of_lesson()                 ? style_.picture.title
               : titles_[0] == titles_.back() ? titles_[0]
                                              : header_.title;
  if (title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return style_.head ? fmt::format("{}, head {}", title, *style_.head) : title;
}

/// A page of at most that size, if nothing on it needs more.
Drawing SvgRenderer::page(const std::vector<Panels>& blocks, const Room& room) const {
  const double width = room.width - 2 * margin;
  Drawing all, origin, framed;
  if (!style_.is_bare) {
    all = svg::lines_of_text(title(), width, 26.0, "title");
    all.put_below(1, svg::lines_of_text(sentence_.empty() ? subtitle_ : sentence_, width, 16.0, "words"));
    if (!sentence_.empty()) origin = svg::lines_of_text(subtitle_, width, svg::font_size, "muted");
  }
  const double above_body = style_.is_bare ? 0.0 : 14.0;
  const double height = room.height - 2 * margin - all.height - above_body;
  const auto body = draw(blocks, {width, height}, origin);
  const double spare = style_.size && style_.size->height ? std::max(0.0, (height - body.height) / 2) : 0.0;
  all.put_below(above_body + spare, svg::in_the_middle(body, style_.is_bare ? body.width : width));
  framed.put(margin, margin, all);
  framed.width += margin;
  framed.height += margin;
  return framed;
}

/// Where words lack room, the page is as high as letters can still be read on a slide, then as large as
/// --size.
Drawing SvgRenderer::page_with_words(const std::vector<Panels>& blocks) const {
  std::vector<Room> rooms = {
      {widest, svg::stand_beside(blocks, widest - 2 * margin) ? usual_height : highest}, {widest, highest}};
  if (const auto& size = style_.size) {
    const auto height = [&](double width) {
      return size->height ? width * std::clamp(*size->height / size->width, 0.3, 2.0) : usual_height;
    };
    const double first = size->width < pixels_of_slide ? widest : width_of_slide;
    rooms = {{first, height(first)}};
    if (!size->height) rooms.push_back({widest, highest});
    if (size->width > widest) rooms.push_back({size->width, height(size->width)});
  }
  auto first = page(blocks, rooms[0]);
  for (std::size_t i = 1; i < rooms.size() && first.lacks_words; ++i)
    if (auto other = page(blocks, rooms[i]); !other.lacks_words) return other;
  return first;
}

/// Throws Error where nothing can be drawn.
void SvgRenderer::require_something() const {
  if (style_.head && (heads_ == 0 || *style_.head >= heads_))
    throw Error(
        heads_ == 0
            ? fmt::format("--head {}: nothing that is drawn here has heads; valid: --steps with a "
                          "tensor that has them, or no --head",
                          *style_.head)
            : fmt::format("--head {}: there are {} heads; valid: 0 to {}", *style_.head, heads_, heads_ - 1));
  if (!panels_.empty()) return;
  if (style_.kind == &svg::flow)
    throw Error("--picture flow: the run draws no flow; valid: a lesson that has one, without --steps");
  throw Error(fmt::format(
      "{}; valid: --steps with a tensor to draw: {}",
      style_.kind == nullptr
          ? "a picture shows attention weights, masks and curves, and this run has none"
          : fmt::format("--picture {}: no picture of this lesson can be drawn so", style_.kind->name),
      drawable_.empty() ? "none has numbers here" : fmt::format("{}", fmt::join(drawable_, ", "))));
}

std::string SvgRenderer::finish() {
  require_something();
  remarks_.clear();
  if (!is_as_named()) sentence_.clear(), marks_.clear();  // only the lesson's own picture shows it
  for (const auto& line : svg::put_marks(panels_, marks_))
    remarks_.push_back(fmt::format("the picture has no place for \"{}\"", line));
  svg::arrange(panels_);
  const auto blocks = svg::blocks_of(panels_, style_.is_scale_largest);
  using enum svg::Theme;
  const auto& [name, themes] =
      style_.theme == PictureTheme::automatic ? std::pair("attn-auto", std::vector{light, dark})
      : style_.theme == PictureTheme::dark    ? std::pair("attn-dark", std::vector{dark})
                                              : std::pair("attn-light", std::vector{light});
  for (auto& panel : panels_) panel.look.themes = themes, panel.look.numbers = style_.numbers;
  const auto page = page_with_words(blocks);
  if (style_.numbers == true && page.lacks_numbers)
    remarks_.push_back("--numbers on: masks, and tables of more than 1,600 cells, have none in a picture");
  if (page.lacks_words)
    remarks_.push_back("some words have no room; valid: fewer of them, or a larger --size");
  const double width = style_.size ? style_.size->width : page.width;
  const double height =
      style_.size ? style_.size->height.value_or(width * page.height / page.width) : page.height;
  const double unit = std::max(page.width / width, page.height / height);
  const double across = width * unit, down = height * unit;
  const double left = (page.width - across) / 2, top = (page.height - down) / 2;
  Drawing paper;
  paper.frame(left, top, across, down, "paper");
  auto description = fmt::format("{}{}attnlab {}{}{}.", sentence_, sentence_.empty() ? "" : " ",
                                 header_.lesson, subtitle_.empty() ? "" : " · ", subtitle_);
  for (const auto& block : blocks) description += " " + explanation(block);
  const auto document = html::filled("picture",
                                     svg::in_px("width=\"{}\" height=\"{}\" viewBox=\"{} {} {} {}\"", width,
                                                height, left, top, across, down),
                                     name, svg::escaped(title()), svg::escaped(description),
                                     svg::style_sheet(name), paper.elements, page.elements);
  panels_.clear();
  return document;
}

}  // namespace attn
