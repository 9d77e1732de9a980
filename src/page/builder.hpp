#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attn/tensor.hpp"
#include "page/page.hpp"
#include "trace/entry.hpp"
#include "trace/event.hpp"

namespace attn {

/// A tensor of rank 0 as one number, with `precision` digits after the point; of a truth "true" or "false".
std::string scalar_text(const TensorView& tensor, int precision);

/// What a page shows of a run, and how it looks.
struct PageStyle {
  int precision = 4;       ///< digits after the point
  bool full = false;       ///< never elide a large tensor
  bool all = false;        ///< everything, in the order of the run; else what belongs on the page
  bool color = false;      ///< of text
  bool plain = false;      ///< ASCII and sentences, for screen readers and old terminals
  std::size_t width = 80;  ///< columns of text, 20 or more; wider tensors are split into blocks of columns
  bool brief = false;      ///< HTML without what is folded and how each number came about
  bool weights_by_hand = false;   ///< those of the model that the header names; else they were trained
  bool has_details = false;       ///< the numbers of what is no part of the page, too
  std::size_t most_cells = 1000;  ///< of a tensor of the page beyond which it is elided
};

}  // namespace attn

namespace attn::page {

/// The table of a tensor of rank 1 or more: its last two axes are the rows and the columns, every entry of
/// the axes before them has a grid of its own. A vector is one row. Of a tensor with more than `most_cells`
/// elements only both ends of its long axes are there and, of shares, the row that is worked out.
/// `precision` is the digits after the point.
Table table_of(const Event& event, int precision, std::size_t most_cells);

/// Indices along an axis; none stands for those that are left out.
using Indices = std::vector<std::optional<std::size_t>>;

/// So many at the beginning of an axis and at its end; all where `first` is its length.
Indices ends_of(std::size_t length, std::size_t first, std::size_t last);

/// Offsets of the elements that a table shows.
std::vector<std::size_t> offsets_of(const Table& table);

/// The key with the largest share of a row, which has one, as a name of at most so many columns: "the",
/// "2 × the" where keys of that name tie, "3 tied" of others.
std::string name_of_strongest(const Row& row, std::size_t width);

/// Whether a row of attention leaves a key out altogether: its share is exactly 0 and stands as "·".
bool has_hidden_keys(const Event& event);

/// Makes the page of a lesson's events.
class Builder : public Sink {
 public:
  /// Called with each step that the page has, whole or folded, while its tensor is there.
  using Seen = std::function<void(const Event& event, const Step& step)>;

  Builder(const Header& header, const PageStyle& style, Seen seen = {});
  void receive(const Event& event) override;

  /// The page so far. Leaves the builder empty.
  Page finish();

 private:
  Form form_of(const Event& event) const;
  Step step_of(const Event& event, Form form);
  std::vector<Origin> origins_of(const Event& event) const;
  std::optional<WorkedEntry> worked_entry(const Event& event) const;
  std::optional<Table> table(const Event& event, Form form);

  PageStyle style_;
  Seen seen_;
  Page page_;
  EntryNames names_;
  std::map<std::string, Shape> shapes_;           ///< of the tensors so far, by id
  std::multimap<std::size_t, Section> sections_;  ///< by their places on the page
  std::size_t cells_of_details_ = 0;
};

}  // namespace attn::page
