#pragma once

#include <map>
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
  /// `length` is the number of rows.
  Recurrence(Trace& trace, std::string axis, std::size_t length)
      : trace_(trace), axis_(std::move(axis)), length_(length) {}

  /// Calls `compute`, whose steps are row `t`. Returns what `compute` returns.
  template <class Compute>
  auto row(std::size_t t, Compute compute) {
    const Row running(*this, t);
    return compute();
  }

  /// Says of a whole tensor of the group in which the trace is what its rows did not say yet.
  void describe(About about) { tensors_.at(trace_.prefix_ + about.id).about = std::move(about); }

  /// Sends this tensor of the group in which the trace is.
  void show(const std::string& id);

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

  /// The rows of one tensor, in their places.
  struct Rows {
    std::string group;  ///< where it is shown: "decoder/"
    About about;
    std::size_t axis;  ///< along which the rows stand
    Shape row_shape;   ///< 1 at `axis`
    Shape shape;
    std::vector<double> elements{};

    /// Copies a row to its place t in a whole tensor, and back.
    void put(const double* row, std::size_t t, double* whole) const;
    void get(const double* whole, std::size_t t, double* row) const;
  };

  /// Takes row t of a step, and puts the row to go on with in its place.
  void take(const About& about, const Shape& row_shape, double* elements, const Mistakes& mistakes);

  /// Shows row t to whoever watches the trace, in its place among the rows so far, and gets it back.
  void watch(const Rows& rows, double* row, const Mistakes& mistakes);

  Trace& trace_;
  std::string axis_;
  std::size_t length_;
  std::size_t t_ = 0;
  std::map<std::string, Rows> tensors_;  ///< by full id
};

}  // namespace attn
