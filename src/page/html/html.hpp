#pragma once

#include <string>

#include "page/builder.hpp"
#include "page/html/workings.hpp"
#include "page/page.hpp"
#include "trace/event.hpp"

namespace attn {

/// What a page of HTML shows of a trace.
struct HtmlStyle {
  int precision = 4;  ///< digits after the decimal point
  bool full = false;  ///< never elide a large tensor
  bool all = false;   ///< everything unfolded, in the order of the computation; else what belongs on the page
  bool brief = false;            ///< without what is folded and how each number came about
  bool weights_by_hand = false;  ///< those of the model that the header names; else they were trained
};

/// A trace as one HTML file that needs no other: the page with real tables, formulas in MathML, the flow as a
/// drawing, and what the page leaves out folded below it. A script, the only one that its
/// Content-Security-Policy lets run, shows how the cell that a reader points at came about. Without it the
/// page reads as a page. The markup is also well-formed XML.
class HtmlRenderer : public Sink {
 public:
  HtmlRenderer(const Header& header, const HtmlStyle& style);
  void receive(const Event& event) override { builder_.receive(event); }

  /// The document. Leaves the renderer empty.
  std::string finish();

  /// What stands in the document's body, but for the script. Leaves the renderer empty.
  std::string finish_body();

 private:
  HtmlStyle style_;
  html::Workings workings_;
  page::Builder builder_;
  std::string lesson_, title_;
};

}  // namespace attn
