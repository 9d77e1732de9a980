#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"
#include "page/page.hpp"
#include "trace/entry.hpp"
#include "trace/event.hpp"

namespace attn {

/// Numbers of that type which differ by this share of them may be the same but for rounding.
double rounding_of(Dtype dtype);

/// Writes all numbers of one tensor in the same notation, whole ones without digits after the point.
class NumberFormat {
 public:
  /// `precision` digits after the point. The tensor has to outlive it.
  NumberFormat(const TensorView& tensor, int precision);

  /// The element at a row-major offset: "-0.1200", "1.5000e-07", "-inf", "nan"; of a mask "1" or "·".
  std::string operator()(std::size_t offset) const;

 private:
  const TensorView& tensor_;
  int precision_;
  bool scientific_ = false;
};

/// A tensor of rank 0 as one number, with `precision` digits after the point; of a truth "true" or "false".
std::string scalar_text(const TensorView& tensor, int precision);

}  // namespace attn

namespace attn::page {

/// The table of a tensor of rank 1 or more: its last two axes are the rows and the columns, every entry of
/// the axes before them has a grid of its own. A vector is one row. Of a tensor with more than `most_cells`
/// elements only both ends of its long axes are there and, of shares, the row that is worked out.
/// `precision` is the digits after the point.
Table table_of(const Event& event, int precision, std::size_t most_cells);

/// Offsets of the elements that a table shows.
std::vector<std::size_t> offsets_of(const Table& table);

/// The keys with the largest share in the row that begins at `offset`; none where no share is more than 0.
/// Shares that differ by rounding only count as the same, so that the page does not depend on the machine.
std::vector<std::size_t> strongest_keys(const TensorView& tensor, std::size_t offset);

/// "the", "2 × the" of equal names, "3 tied" of others.
std::string name_of_tied(const std::vector<std::string>& names);

/// Whether a row of attention leaves a key out altogether: its share is exactly 0 and stands as "·".
bool has_hidden_keys(const Event& event);

/// What a page shows of a run.
struct PageStyle {
  int precision = 4;              ///< digits after the point
  bool full = false;              ///< never elide a large tensor
  bool all = false;               ///< everything, in the order of the run; else what belongs on the page
  bool has_details = false;       ///< the numbers of what is no part of the page, too
  bool plots_as_tables = false;   ///< what is plotted has a table in any case
  std::size_t most_cells = 1000;  ///< of a tensor of the page beyond which it is elided
};

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
  std::map<std::string, Shape> shapes_;                    ///< of the tensors so far, by id
  std::vector<std::pair<std::size_t, Section>> sections_;  ///< with their places on the page
  std::size_t cells_of_details_ = 0;
};

}  // namespace attn::page
