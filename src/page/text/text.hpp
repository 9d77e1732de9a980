#pragma once

#include <string>

#include "page/builder.hpp"
#include "page/page.hpp"
#include "page/text/table.hpp"
#include "trace/event.hpp"

namespace attn {

/// A page as text for people and for diffs: byte-identical for the same run on every machine.
std::string text_of(const page::Page& page, const TextStyle& style);

/// A trace as such a text.
class TextRenderer : public Sink {
 public:
  TextRenderer(const Header& header, const TextStyle& style);
  void receive(const Event& event) override { builder_.receive(event); }

  /// The whole text so far, with the claims at its end. Leaves the renderer empty.
  std::string finish() { return text_of(builder_.finish(), style_); }

 private:
  TextStyle style_;
  page::Builder builder_;
};

}  // namespace attn
