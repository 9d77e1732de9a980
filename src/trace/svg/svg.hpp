#pragma once

#include <string>

#include "trace/svg/svg_shapes.hpp"
#include "trace/event.hpp"

namespace attn {

/// The pictures of a trace as one SVG document: each step of attention weights as heatmaps with tokens on
/// both axes, all heads of a sample side by side, and each curve as a plot. Text is text, nothing is fetched
/// or run, and the colours follow the reader's light or dark scheme.
class SvgRenderer : public Sink {
 public:
  explicit SvgRenderer(const Header& header);
  void receive(const Event& event) override;

  /// Another figure, below the others, with a heading and a line under it.
  void draw(const std::string& heading, const std::string& line, const svg::Drawing& drawing);

  /// The document. Throws Error where the trace had neither weights nor a curve. Leaves the renderer empty.
  std::string finish();

 private:
  void place(const std::string& figure, double width, double height);

  std::string title_;
  std::string figures_;
  double width_ = 0.0;
  double height_ = 0.0;
};

}  // namespace attn
