#pragma once

#include <optional>
#include <string>
#include <vector>

#include "page/curve.hpp"
#include "page/picture.hpp"
#include "page/svg/panel.hpp"
#include "trace/event.hpp"

namespace attn {

enum class PictureTheme { light, dark, automatic };

/// What a picture shows of a trace, and how.
struct PictureStyle {
  struct Size {
    double width = 0.0;              ///< of the whole, in pixels
    std::optional<double> height{};  ///< where not given it follows from what is drawn
  };
  const svg::Kind* kind = nullptr;  ///< where not given it follows from the tensor
  Picture picture{};
  bool takes_all = false;  ///< every tensor that comes, and not what the lesson's picture shows
  std::optional<std::string> title{};
  std::optional<std::size_t> head{};  ///< nothing but this head
  bool is_bare = false;               ///< without title, caption and what they say
  PictureTheme theme = PictureTheme::light;
  std::optional<bool> numbers{};           ///< in cells; where not given, as long as they are readable
  std::optional<bool> is_scale_largest{};  ///< the scale of shares ends at the largest, and not at 1
  std::optional<Size> size{};
  bool weights_by_hand = false;  ///< those of the model that the header names
};

/// The picture of a trace as one SVG document: what the lesson's picture names, or where the run has nothing
/// of it each table of attention weights, each mask and each curve. Panels with the same axes stand in a
/// grid, share a scale and a legend. The note of Trace::picture says what is to be seen in it, and its marks
/// point at that. It is safe in a page: every rule is scoped, text is text, nothing is fetched or run.
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

  /// What is not in the document though it was asked for, or would usually be: a sentence for each.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  void add(const Event& event, const Picture::Part& part, std::size_t order);
  void require_something() const;
  bool is_of_lesson() const;
  bool is_as_named() const;
  std::string title() const;
  svg::Drawing page(const std::vector<svg::Panels>& blocks, const svg::Room& room) const;
  svg::Drawing page_with_words(const std::vector<svg::Panels>& blocks) const;

  Header header_;
  PictureStyle style_;
  std::string subtitle_, title_, sentence_, marks_;
  std::vector<svg::Panel> panels_;
  std::vector<svg::Matrix> tables_;             ///< of the last tensor, which may be drawn several times
  std::vector<std::string> titles_, drawable_;  ///< of the tensors drawn; ids of those that could be
  std::vector<std::string> remarks_;
  std::size_t heads_ = 0, numbers_ = 0;
  bool has_named_ = false;   ///< something that the lesson's picture names, or --steps
  bool leaves_out_ = false;  ///< some of what it names
};

}  // namespace attn
