#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "page/builder.hpp"
#include "trace/entry.hpp"

namespace attn {

/// A table as it is printed.
struct PrintedTable {
  std::string lines;
  std::vector<std::string> legends{};  ///< what its signs mean
};

/// A table as lines of text, indented by two columns. Rows of attention end with the key that has the largest
/// share of it; on a page that has no room for whole rows each lists its largest shares, and --full has them
/// all. A plain one has a sentence for each row instead: "weights: cat looks at the 0.53, on 0.19". `id` is
/// the tensor's.
PrintedTable format_table(const std::string& id, const page::Table& table, const PageStyle& style);

/// Colours of one cell, as indices of the palette of 256 colours that terminals share with xterm.
struct CellColor {
  int background = 0;
  int foreground = 0;
};

/// The colour of a share of attention: light blue for a little, dark blue for all of it, with black or white
/// digits, whichever is easier to read. None for a share of 0: what gets no attention stays unshaded.
std::optional<CellColor> cell_color(double share);

/// A page as text for people and for diffs: byte-identical for the same run on every machine.
std::string text_of(const page::Page& page, const PageStyle& style);

/// A trace as such a text.
class TextRenderer : public Sink {
 public:
  TextRenderer(const Header& header, const PageStyle& style) : style_(style), builder_(header, style) {}
  void receive(const Event& event) override { builder_.receive(event); }

  /// The whole text so far, with the claims at its end. Leaves the renderer empty.
  std::string finish() { return text_of(builder_.finish(), style_); }

 private:
  PageStyle style_;
  page::Builder builder_;
};

/// Entries of a trace, worked out term by term: which entries they are made of, and with which numbers.
class Explanation : public Sink {
 public:
  /// `wanted` are entries as a person writes them: "weights[sat, cat]", "output[2,0]", "loss". Throws Error
  /// where one is not of that form.
  Explanation(const std::vector<std::string>& wanted, int precision, std::size_t width, bool full = false);

  /// Throws Error where an entry of the event's tensor is wanted that it does not have.
  void receive(const Event& event) override;

  /// The explanations in the order in which they were asked for. Throws Error for the first that no input or
  /// step has been.
  std::string finish() const;

 private:
  struct Wanted {
    std::string id;
    std::vector<std::string> places{};
    std::string text{};  ///< empty until its tensor was seen
  };

  std::string explain(const Event& event, const Index& at) const;
  std::string equation(const std::string& start, const std::string& expression) const;

  std::vector<Wanted> wanted_;
  std::string in_terms(const Worked& worked, const std::function<std::string(const Worked&)>& term) const;

  int precision_;
  std::size_t width_;
  bool full_;  ///< all terms of a long sum
  EntryNames names_;
  std::vector<std::string> ids_;
};

/// Curves as a plot of Braille characters, two by four dots each, as `format_chart` has it, with what they go
/// over below it: four lines at most. Says where a scale is logarithmic.
std::string format_plot(const Curves& curves, std::size_t width);

/// All lines of the curves in one frame of Braille characters, indented by two columns, each with its name
/// where it ends. `tick_text` says how a value is written at the left.
std::string format_chart(const Curves& curves, const std::function<std::string(double)>& tick_text,
                         std::size_t width = 80);

}  // namespace attn
