#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "page/page.hpp"
#include "trace/entry.hpp"
#include "trace/event.hpp"

namespace attn::page {

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
