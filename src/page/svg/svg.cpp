#include "page/svg/svg.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "page/svg/grid.hpp"
#include "trace/entry.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

using svg::Block;
using svg::Drawing;
using svg::Figure;
using svg::Matrix;
using svg::Room;

// At this width letters of 13 have 10 pixels in a column of 680; at this height 20 on a slide of 1,080.
constexpr double margin = 24.0, widest = 880.0, usual_height = 495.0, highest = 660.0;
constexpr double width_of_slide = 960.0, pixels_of_slide = 1600.0;
constexpr std::size_t most_panels = 400, most_numbers = 4'000'000;

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
  std::vector<std::string> parts;
  const auto source = sentence_of(header, "source"), target = sentence_of(header, "target");
  const auto* const arrow = source.empty() || target.empty() ? "" : " → ";
  for (const auto& part :
       {sentence_of(header, "sentence"), source + arrow + target, origin_of(header, weights_by_hand)})
    if (!part.empty()) parts.push_back(part);
  return fmt::format("{}", fmt::join(parts, " · "));
}

}  // namespace

SvgRenderer::SvgRenderer(Header header, PictureStyle style)
    : header_(std::move(header)),
      style_(std::move(style)),
      subtitle_(subtitle_of(header_, style_.weights_by_hand)) {}

/// As often as the tensor is named.
std::vector<Figure> SvgRenderer::named(const Event& event) const {
  if (style_.takes_all) return {Figure{.panel = {event.id}}};
  std::vector<Figure> figures;
  const auto& parts = style_.picture.parts;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (::fnmatch(parts[i].id.c_str(), event.id.c_str(), 0) == 0 &&
        (figures.empty() || style_.kind == nullptr))
      figures.push_back({.panel = {event.id, parts[i].caption},
                         .kind = svg::kind_named(parts[i].kind),
                         .order = i,
                         .is_together = parts[i].kind == "together",
                         .is_palette = parts[i].kind == "palette",
                         .begins_column = parts[i].begins_column});
  return figures;
}

void SvgRenderer::receive(const Event& event) {
  if (event.marks) {
    title_ = event.title, sentence_ = event.note, marks_ = *event.marks;
    std::replace(sentence_.begin(), sentence_.end(), '\n', ' ');
  }
  if (style_.kind == &svg::flow) {
    if (event.kind != Kind::note || last_of_path(event.id) != "flow") return;
    titles_.push_back("How " + header_.lesson + " is computed");
    figures_.push_back({.panel = {event.id, "", event.formula}, .kind = &svg::flow});
    return;
  }
  if (!event.tensor || event.tensor->data == nullptr || event.tensor->shape.empty()) return;
  drawable_.push_back(event.id);
  const auto figures = named(event);
  for (const auto& figure : figures)
    add(event, figure, style_.takes_all ? Picture::Part() : style_.picture.parts[figure.order]);
  if (figures.empty() && svg::is_usual(event) && !has_named_)
    add(event, Figure{.panel = {event.id}}, Picture::Part());
}

void SvgRenderer::add(const Event& event, Figure figure, const Picture::Part& part) {
  if (style_.kind != nullptr) figure.kind = style_.kind;
  if (figure.kind == nullptr) figure.kind = &svg::usual_kind(event);
  if (!svg::fits(*figure.kind, event)) {
    leaves_out_ = leaves_out_ || !part.id.empty();
    if (!style_.takes_all) return;
    throw Error(fmt::format("--picture {} draws {}; {} is {}; valid: {}", figure.kind->name,
                            figure.kind == &svg::arcs ? "the attention of words" : "vectors and matrices",
                            event.id, named_shape(event),
                            figure.kind == &svg::arcs
                                ? "--steps with weights, or --picture heatmap, bars or lines"
                                : "--picture heatmap or bars"));
  }
  if ((!part.id.empty() || style_.takes_all) && !std::exchange(has_named_, true))
    figures_.clear(), titles_.clear();
  titles_.push_back(event.distribution && event.axes.back() == "key" ? "Who looks at whom"
                    : event.distribution && event.axes.back() == "source"
                        ? "Which source word each step looks at"
                    : event.title.empty() ? event.id
                                          : event.title);
  const auto heads = svg::axis_of_heads(event);
  if (heads) heads_ = std::max(heads_, event.tensor->shape[*heads]);
  if (style_.head && (!heads || *style_.head >= event.tensor->shape[*heads])) return;
  numbers_ += element_count(event.tensor->shape);
  if (numbers_ <= most_numbers)
    for (auto& one : svg::figures_of(event, figure, style_.head ? style_.head : part.index)) {
      if (part.index) one.place.clear();
      figures_.push_back(std::move(one));
    }
  if (figures_.size() > most_panels || numbers_ > most_numbers)
    throw Error(
        fmt::format("a picture of {} and what stands before it would have more than {} tables or {} numbers; "
                    "valid: --steps with fewer, or --head",
                    event.id, most_panels, most_numbers));
}

void SvgRenderer::add(const std::string& caption, Curves curves) {
  titles_.push_back(caption);
  figures_.push_back({.panel = {caption, caption, std::move(curves)}, .kind = &svg::lines});
}

/// Whether it shows what the lesson's picture names, as the lesson names it.
bool SvgRenderer::is_of_lesson() const {
  return !style_.takes_all && has_named_ && !leaves_out_;
}

bool SvgRenderer::is_as_named() const {
  return is_of_lesson() && style_.kind == nullptr && !style_.head && !style_.title;
}

/// What is to be seen; empty where only the lesson's own picture shows it.
std::string SvgRenderer::sentence() const {
  return is_as_named() ? sentence_ : "";
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
Drawing SvgRenderer::page(const std::vector<Block>& blocks, const Room& room) const {
  const auto seen = style_.is_bare ? "" : sentence();
  const double width = room.width - 2 * margin;
  Drawing all, origin;
  if (!style_.is_bare) {
    all = svg::lines_of_text(title(), width, 26.0, "title");
    svg::put_below(all, 1, svg::lines_of_text(seen.empty() ? subtitle_ : seen, width, 16.0, "words"));
    if (!seen.empty()) origin = svg::lines_of_text(subtitle_, width, svg::font_size, "muted");
  }
  const double above_body = style_.is_bare ? 0.0 : 14.0;
  const double height = room.height - 2 * margin - all.height - above_body;
  const auto body = draw(blocks, {width, height}, origin);
  const double spare = style_.size && style_.size->height ? std::max(0.0, (height - body.height) / 2) : 0.0;
  svg::put_below(all, above_body + spare, svg::in_the_middle(body, style_.is_bare ? body.width : width));
  return {svg::at(margin, margin, all.elements), all.width + 2 * margin, all.height + 2 * margin, 0.0,
          all.lacks_words};
}

/// Where words lack room, the page is as high as letters can still be read on a slide, then as large as
/// --size.
Drawing SvgRenderer::page_with_words(std::vector<Block>& blocks, svg::Theme theme) {
  for (auto& block : blocks) block.look.theme = theme, block.look.numbers = style_.numbers;
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

void SvgRenderer::remark_on(const std::vector<Block>& blocks, bool lacks_words) {
  remarks_.clear();
  std::size_t panels = 0, most_words = 0;
  bool lacks_numbers = false;
  for (const auto& block : blocks)
    for (const auto* figure : block.figures)
      if (const auto* matrix = std::get_if<Matrix>(&figure->panel.content)) {
        panels = std::max(panels, block.figures.size());
        most_words = std::max({most_words, matrix->rows.size(), matrix->columns.size()});
        lacks_numbers = lacks_numbers || (figure->kind == &svg::heatmap && !svg::can_have_numbers(*matrix));
      }
  if (style_.numbers == true && lacks_numbers)
    remarks_.push_back("--numbers on: masks, and tables of more than 1,600 cells, have none in a picture");
  const auto side = 100 * std::ceil((14.0 * static_cast<double>(most_words) + 400) *
                                    std::ceil(std::sqrt(static_cast<double>(panels))) / 100);
  if (lacks_words)
    remarks_.push_back(fmt::format("{} words have no room to be written; valid: fewer of them{}", most_words,
                                   side > 10000 ? "" : fmt::format(", or --size {0}x{0}", side)));
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
  if (!figures_.empty()) return;
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
  std::vector<std::string> without_place;
  if (is_as_named()) without_place = svg::put_marks(figures_, marks_);
  svg::settle_captions(figures_);
  svg::join_tables(figures_);
  svg::colour_bars(figures_);
  svg::join_curves(figures_);
  auto blocks = svg::blocks_of(figures_, style_.is_scale_largest);
  const bool is_automatic = style_.theme == PictureTheme::automatic;
  std::string bodies, view;
  double width = 0.0, height = 0.0;
  for (const auto theme : {svg::Theme::light, svg::Theme::dark}) {
    if (!is_automatic && (theme == svg::Theme::dark) != (style_.theme == PictureTheme::dark)) continue;
    const auto page = page_with_words(blocks, theme);
    remark_on(blocks, page.lacks_words);
    width = style_.size ? style_.size->width : page.width;
    height = style_.size ? style_.size->height.value_or(width * page.height / page.width) : page.height;
    const double unit = std::max(page.width / width, page.height / height);
    const double across = width * unit, down = height * unit;
    const double left = (page.width - across) / 2, top = (page.height - down) / 2;
    const auto box = fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", svg::px(left), svg::px(top),
                                 svg::px(across), svg::px(down));
    view = fmt::format("{} {} {} {}", svg::px(left), svg::px(top), svg::px(across), svg::px(down));
    bodies += fmt::format("<g class=\"{}\">\n<rect {} class=\"attn-paper\"/>\n{}</g>\n", svg::class_of(theme),
                          box, page.elements);
  }
  for (const auto& line : without_place)
    remarks_.push_back(fmt::format("the picture has no place for \"{}\"", line));
  auto description = sentence() + (sentence().empty() ? "" : " ") + "attnlab " + header_.lesson +
                     (subtitle_.empty() ? "" : " · ") + subtitle_ + ".";
  for (const auto& block : blocks) description += " " + explanation(block);
  const auto document = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"{}\" role=\"img\" "
      "class=\"attn-picture{}\">\n<title>{}</title>\n<desc>{}</desc>\n{}{}</svg>\n",
      svg::px(width), svg::px(height), view, is_automatic ? " attn-auto" : "", svg::escaped(title()),
      svg::escaped(description), svg::style_sheet(is_automatic), bodies);
  figures_.clear();
  return document;
}

}  // namespace attn
