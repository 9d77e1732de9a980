#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "page/builder.hpp"
#include "page/page.hpp"
#include "trace/event.hpp"

namespace attn::html {

/// How the cells of a page's tables come about, in the few bytes that its script composes each cell's
/// arithmetic from. The cells of a step mostly share one text, "$ · $ + $ · $", in which each $ is an entry
/// of some tensor whose place is linear in the place of the cell: X[i, 0], W[0, j], X[i, 1], W[1, j].
class Workings {
 public:
  /// Digits after the point as on the page.
  explicit Workings(int precision) : precision_(precision) {}

  /// Takes in a tensor of the page and how those of its cells come about. To be called during the event.
  void add(const Event& event, const std::vector<std::size_t>& cells, bool is_core);

  /// The number by which `json` knows a tensor.
  std::size_t number_of(const std::string& id);

  /// {"precision": 4, "texts": ["$ · $"], "names": [["the", "cat"]], "tensors": [{"id": "scores",
  /// "shape": [2, 2], "axes": [[0], []], "origin": "worked", "values": [0.5, …], "steps": [[text, cells,
  /// places, terms], …]}]}
  ///
  /// `values` are the elements that some cell is made of, with null for the others, or by offset where they
  /// are few. In `steps`, `cells` are offsets or 0 for all, `places` rows of a tensor's number and its
  /// strides along the axes of the cell, `terms` for each $ in turn a place and an offset. Steps that would
  /// make the text longer than `most_bytes` are left out, the core ones (of which the page tells) last.
  std::string json(std::size_t most_bytes) const;

 private:
  /// Cells that share a text and the tensors of its entries. `operands` holds for each cell the indices of
  /// the entries end to end; of a group that is complete for the first cell only, and `strides` what each
  /// grows by from one cell to the next along each axis of the cells.
  struct Group {
    std::size_t text;
    std::vector<std::size_t> tensors{}, ranks{};
    std::vector<Index> cells{};
    std::vector<std::vector<std::int64_t>> operands{}, strides{};
  };

  struct IndexHash {
    std::size_t operator()(const Index& at) const {
      std::size_t hash = 0;
      for (const auto place : at) hash = hash * 1'000'003 + place;
      return hash;
    }
  };

  struct Known {
    std::string id;
    std::optional<Shape> shape{};
    std::vector<std::vector<std::size_t>> axes{};  ///< of each the lists of names: none, one, one a sample
    bool is_whole = false;
    bool is_core = false;
    std::string origin = "unseen";  ///< input, worked, or none where no entry of a step is worked out
    std::vector<Group> groups{};
    std::unordered_map<Index, double, IndexHash> values{};
  };

  /// By tensor which of its elements are needed.
  using Needed = std::vector<std::vector<bool>>;

  std::string text_of(const Worked& worked) const;
  void add_groups(Known& step, Group group, std::size_t axis);
  Shape shape_of(const Known& tensor) const;
  /// As JSON, and how many more elements they need, which are marked.
  std::pair<std::string, std::size_t> groups_of(const Known& step, const std::vector<Shape>& shapes,
                                                Needed& needed) const;
  std::string values_of(const Known& tensor, const std::vector<bool>& needed, const Shape& shape) const;

  int precision_;
  std::vector<Known> tensors_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::unordered_map<std::string, std::size_t> texts_;     ///< with their numbers
  std::map<std::vector<std::string>, std::size_t> names_;  ///< the tokens along an axis, likewise
};

}  // namespace attn::html

namespace attn {

/// A trace as one HTML file that needs no other: the page with real tables, formulas in MathML, the flow as a
/// drawing, and what the page leaves out folded below it. A script, the only one that its
/// Content-Security-Policy lets run, shows how the cell that a reader points at came about. Without it the
/// page reads as a page. The markup is also well-formed XML.
class HtmlRenderer : public Sink {
 public:
  HtmlRenderer(const Header& header, const PageStyle& style);
  void receive(const Event& event) override { builder_.receive(event); }

  /// The document. Leaves the renderer empty.
  std::string finish();

  /// What stands in the document's body, but for the script. Leaves the renderer empty.
  std::string finish_body();

 private:
  PageStyle style_;
  html::Workings workings_;
  page::Builder builder_;
};

}  // namespace attn
