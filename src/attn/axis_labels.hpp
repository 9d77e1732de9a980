#pragma once

#include <string>
#include <vector>

namespace attn {

/// The names of the entries along one axis: none, one list, or one list for each sample of a batch.
struct AxisLabels {
  std::vector<std::vector<std::string>> lists;

  bool empty() const { return lists.empty(); }
  bool per_sample() const { return lists.size() > 1; }

  /// The labels as sample `sample` of the batch sees them. Not to be called when empty.
  const std::vector<std::string>& of(std::size_t sample) const {
    return per_sample() ? lists[sample] : lists[0];
  }
};

}  // namespace attn
