#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formula/sheet.hpp"

/// How a drawing of the steps follows from their formulas: a graph, its layout, and the layout in characters.
namespace document {

/// What a drawing shows of a run.
struct Flow {
  std::vector<std::string> results{};          ///< the steps that it leads to
  std::vector<std::string> sources{};          ///< tensors whose own formulas it leaves out
  std::map<std::string, std::string> words{};  ///< what a step is called there: "mask" for masked
  std::set<std::string> hidden{};              ///< steps that no page shows
};

/// Tensors, and what makes each of others.
struct Graph {
  struct Tensor {
    std::string name, shape{};  ///< "weights", "5×5"
    formula::Axes axes{};
    std::vector<std::size_t> from{};   ///< the tensors that it is made of, which stand before it
    std::vector<std::string> words{};  ///< what is done to them: "/ √8"; none where that is too long to say
    bool is_result = false, is_hidden = false;
  };

  std::vector<Tensor> tensors;
  std::vector<std::string> given;  ///< "W_Q [64×16]": what the words speak of
};

/// The graph of the results. What all samples share, masks, and what the other operand is made of anyway are
/// no tensors of it but stand in words: `W_Q`, `mask`, `+ X`.
Graph graph_of(const formula::Sheet& sheet, const Flow& flow);

/// Where texts and lines stand, in rows and columns of a terminal.
struct Layout {
  struct Text {
    std::size_t row, column;
    std::string text;                     ///< "weights [5×5]", "/ √8"
    std::optional<std::size_t> tensor{};  ///< of the graph, that it names
  };

  /// Along a row or a column, both ends included. It is an arrow where it leads from one text to the next.
  struct Line {
    std::size_t row, column, to_row, to_column;
    bool leaves_text = false, reaches_text = false;
  };

  std::vector<Text> texts;
  std::vector<Line> lines;
  std::size_t rows = 0, columns = 0;
};

/// From left to right: a tensor of which several are made branches, and those that make one join. A tensor
/// stands there as its words alone where it leads to one of the same axes and to nothing else. Where there
/// are more steps than columns they go on below, from the names that were reached, and no row is left
/// between.
Layout layout_of(const Graph& graph, std::size_t columns = 78);

/// The lines of the layout in box-drawing characters.
std::vector<std::string> drawn(const Layout& layout);

}  // namespace document
