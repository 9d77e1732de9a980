#pragma once

#include <vector>

#include "fast/bench/operands.hpp"
#include "fast/bench/task.hpp"

namespace attn::bench {

/// Judges the results of a kernel by kernel 1 of its family in float64, at some of the queries: all of them
/// would take longer than anything else that is measured. An error is the largest deviation in a tensor
/// divided by the largest number that belongs there. Instantiated for float and double.
template <class T>
class Judge {
 public:
  Judge(const Task& task, const Operands<T>& operands);

  /// The loss looks at the judged queries only: the other rows of d_output become 0, and with them whatever
  /// the gradients of keys and values would owe to the others.
  static void confine_loss(const Task& task, Operands<T>& operands);

  double output_error() const;

  /// The largest of the three gradients' errors. The loss must be confined.
  double gradient_error() const;

 private:
  const Task& task_;
  const Operands<T>& operands_;
};

/// The queries that are judged, in rising order, the first and the last among them.
std::vector<std::size_t> judged_queries(const Setting& setting);

}  // namespace attn::bench
