#pragma once

#include <optional>
#include <string>
#include <vector>

#include "page/svg/panel.hpp"
#include "trace/event.hpp"

namespace attn::svg {

/// A panel with what it shows, and where it comes from.
struct Figure {
  Panel panel{};
  const Kind* kind = nullptr;
  std::size_t order = 0;       ///< in the lesson's picture
  bool is_together = false;    ///< one with those before it
  bool is_palette = false;     ///< nothing but the colours of bars
  std::string place{};         ///< "head 0"
  Index at{};                  ///< the same along the axes before the panel's
  bool begins_column = false;  ///< beside what comes before
};

/// Whether a picture shows the tensor where nobody names others: weights, masks and curves.
bool is_usual(const Event& event);

/// The kind that fits the tensor, where nobody names another.
const Kind& usual_kind(const Event& event);

/// Throws Error where a tensor cannot be drawn so.
bool fits(const Kind& kind, const Event& event);

/// The axis along which the heads lie, where there are several tables; none elsewhere.
std::optional<std::size_t> axis_of_heads(const Event& event);

/// The panels of a tensor, each as `figure` but for what it shows and its place: one for each table, of bars
/// one for each row, of lines one for all. `head` picks one head of several.
std::vector<Figure> figures_of(const Event& event, const Figure& figure, std::optional<std::size_t> head);

/// Gives the panels their marks: each line is `ID: a line below the caption`, `ID[0, 2]: words` of a row, a
/// cell or a point, with `*` for any, or `ID = 0.5: words` of a value. Returns the lines that no panel has a
/// place for.
std::vector<std::string> put_marks(std::vector<Figure>& figures, const std::string& lines);

/// Joins tables that follow each other and have the same words: stacks, of which each gives a row, and tables
/// that the lesson's picture wants together, of which each has numbers where the others have none.
void join_tables(std::vector<Figure>& figures);

/// Gives bars the colours of a palette with the same names, and takes it away.
void colour_bars(std::vector<Figure>& figures);

/// Joins curves of one line each, one after the other, that are over the same positions: each becomes a line
/// of the first panel, called as its caption. Lines of one name look alike in all panels.
void join_curves(std::vector<Figure>& figures);

/// Gives each panel the caption that tells it from the others: the tensor where there are several, and the
/// place in it.
void settle_captions(std::vector<Figure>& figures);

}  // namespace attn::svg
