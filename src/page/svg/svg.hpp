#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "page/curve.hpp"
#include "page/picture.hpp"
#include "page/svg/panel.hpp"
#include "trace/event.hpp"

namespace attn {

enum class PictureTheme { light, dark, automatic };

/// What a picture shows of a trace, and how.
struct PictureStyle {
  const svg::Kind* kind = nullptr;  ///< where not given it follows from the tensor
  Picture picture{};
  bool takes_all = false;  ///< every tensor that comes, and not what the lesson's picture shows
  std::optional<std::string> title{};
  std::optional<std::size_t> head{};  ///< nothing but this head
  bool is_bare = false;               ///< without title, caption and what they say
  PictureTheme theme = PictureTheme::light;
  std::optional<bool> numbers{};           ///< in cells; where not given, as long as they are readable
  std::optional<bool> is_scale_largest{};  ///< the scale of shares ends at the largest, and not at 1
  std::optional<std::pair<double, double>> size{};  ///< of the whole, in pixels
  bool weights_by_hand = false;                     ///< those of the model that the header names
};

/// The picture of a trace as one SVG document: what the lesson's picture names, or where the run has nothing
/// of it each table of attention weights, each mask and each curve. Panels of one kind stand in a grid, share
/// a scale and a legend. It is safe in a page: every rule is scoped, text is text, nothing is fetched or run.
class SvgRenderer : public Sink {
 public:
  explicit SvgRenderer(Header header, PictureStyle style = {});
  void receive(const Event& event) override;

  /// Curves beside what came before.
  void add(const std::string& caption, Curves curves);

  /// A line below the title, in the place of where the numbers come from.
  void say(const std::string& line) { subtitle_ = line; }

  /// The document. Throws Error where the trace had nothing to draw, or not the head that was asked for.
  /// Leaves the renderer empty.
  std::string finish();

 private:
  struct Figure {
    svg::Panel panel{};
    const svg::Kind* kind = nullptr;
    std::size_t order = 0;   ///< in the lesson's picture
    std::size_t tensor = 0;  ///< of which it is a part, counted
    std::string place{};     ///< "head 0"
  };
  struct Block {
    std::vector<const Figure*> figures{};
    svg::Look look{};
    std::size_t columns = 0;  ///< of its grid; 0 where any number will do
  };

  std::optional<Figure> named(const Event& event) const;
  void add_panels(const Event& event, const Figure& figure);
  void settle_lines();
  void settle_captions();
  std::vector<Block> blocks() const;
  std::string title() const;
  svg::Drawing draw(const Block& block, const svg::Room& room, double words) const;
  svg::Drawing body(std::vector<Block> blocks, svg::Theme theme) const;

  Header header_;
  PictureStyle style_;
  std::string subtitle_;
  std::vector<Figure> figures_;
  std::vector<std::string> titles_, drawable_;  ///< of the tensors drawn; ids of those that could be
  std::size_t heads_ = 0, numbers_ = 0;
  bool has_named_ = false;  ///< something that the lesson's picture names, or --steps
};

}  // namespace attn
