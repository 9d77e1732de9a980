#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"
#include "trace/trace.hpp"

namespace attn {

/// Steps that are computed once for each row of a sequence, because a row needs the one before. While `row`
/// runs, every step of the trace is one row of the tensor that it shows: its axis named `axis` has length 1.
/// The row that the step returns is the one to go on with. `show` sends each tensor as one event.
class Recurrence {
 public:
  /// `length` is the number of rows; where it is not known yet, there are as many as are computed.
  Recurrence(Trace& trace, std::string axis, std::size_t length = 0)
      : trace_(trace), axis_(std::move(axis)), length_(length) {}

  /// Calls `compute`, whose steps are row `t`. Returns what `compute` returns.
  template <class Compute>
  auto row(std::size_t t, Compute compute) {
    const Row running(*this, t);
    return compute();
  }

  /// Says how each entry of a whole tensor of the group in which the trace is comes about. It is asked while
  /// the tensor is shown; what the rows say by themselves is not. `at` is the entry to show that of, without
  /// the batch axis.
  void work_out(const std::string& id, WorkedOut worked, std::optional<Index> at = std::nullopt);

  /// The entries of one tensor of the group in which the trace is, for as long as this lives.
  WorkedOut entries(const std::string& id) const;

  /// Sends these tensors of the group in which the trace is, in this order.
  void show(const std::vector<std::string>& ids);

  /// Sends all that have not been sent, in the order in which they were first computed.
  void show();

  /// The rows of one tensor of the group in which the trace is, [batch×…]; zeros where none was computed.
  template <std::size_t N>
  Tensor<N> sequence(const std::string& id) const {
    const auto& rows = tensors_.at(trace_.prefix_ + id);
    const auto shape = shape_of(rows);
    std::array<std::size_t, N> extents{};
    if (shape.size() != N) throw std::logic_error("[recurrence] " + id + " has another rank");
    std::copy(shape.begin(), shape.end(), extents.begin());
    auto tensor = Tensor<N>::from_shape(extents);
    const auto elements = elements_of(rows);
    std::copy(elements.begin(), elements.end(), tensor.begin());
    return tensor;
  }

 private:
  friend class Trace;

  /// Directs the steps of the trace to row `t` for as long as it lives.
  struct Row {
    Row(Recurrence& recurrence, std::size_t t) : trace(recurrence.trace_) {
      recurrence.t_ = t;
      trace.recurrence_ = &recurrence;
    }
    ~Row() { trace.recurrence_ = nullptr; }
    Row(const Row&) = delete;
    Trace& trace;
  };

  /// The rows of one tensor.
  struct Rows {
    std::string group;  ///< where it is shown: "decoder/"
    About about;
    std::size_t axis;  ///< along which the rows stand
    Shape row_shape;   ///< 1 at `axis`
    std::vector<std::vector<double>> rows;
    bool is_shown = false;
  };

  /// Takes row t of a step, and puts the row to go on with in its place.
  void take(const About& about, const Shape& row_shape, double* elements, const Mistakes& mistakes);

  /// Shows row t to whoever watches the trace, in its place among the rows so far.
  void watch(Rows& rows, const Mistakes& mistakes);

  static Shape shape_of(const Rows& rows);
  static std::vector<double> elements_of(const Rows& rows);
  void show(Rows& rows);

  Trace& trace_;
  std::string axis_;
  std::size_t length_;
  std::size_t t_ = 0;
  std::map<std::string, Rows> tensors_;  ///< by full id
  std::vector<std::string> order_;       ///< full ids, as first computed
};

}  // namespace attn
