#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "attn/efficient/wiring.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// What a kernel did.
struct Work {
  std::int64_t multiply_adds = 0;  ///< products, most of them added to a sum at once
  std::int64_t score_bytes = 0;    ///< held at one time, at most: scores, or what stands in their place
};

class Held;

/// Counts what a kernel does. The kernel does its products and holds its scores through the meter, so that
/// what is counted is what happens. Additions alone, divisions and exponentials are not counted.
class Meter {
 public:
  /// Scores are held as numbers of that dtype.
  explicit Meter(Dtype dtype = Dtype::float64) : bytes_per_score_(item_size(dtype)) {}

  /// Records in `wiring`, too, who reads whom.
  explicit Meter(Wiring& wiring, Dtype dtype = Dtype::float64) : Meter(dtype) { wiring_ = &wiring; }

  const Work& work() const { return work_; }

  /// Σᵢ xᵢ yᵢ, in order and in float64: `length` multiply-adds.
  double dot(const double* x, const double* y, std::size_t length) {
    count(length);
    double sum = 0.0;
    for (std::size_t i = 0; i < length; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return sum;
  }

  /// sumᵢ += factor · xᵢ: as many multiply-adds as sums.
  void add_scaled(double factor, const double* x, std::span<double> sum) {
    count(sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * static_cast<double>(x[i]);
  }

  /// sumᵢ *= factor: as many products as sums.
  void scale(double factor, std::span<double> sum) {
    count(sum.size());
    for (double& element : sum) element *= factor;
  }

  /// Room for that many scores, all 0, held until it goes out of scope.
  Held hold(std::size_t scores);

  /// As in Wiring; all do nothing where nothing is recorded.
  Wiring::Node operation() { return wiring_ == nullptr ? 0 : wiring_->operation(); }
  void read(Wiring::Node operation, Wiring::Node source) {
    if (wiring_ != nullptr) wiring_->read(operation, source);
  }
  void read_token(Wiring::Node operation, std::size_t token) {
    if (wiring_ != nullptr) wiring_->read(operation, wiring_->input(token));
  }
  void deliver(Wiring::Node operation, std::size_t token) {
    if (wiring_ != nullptr) wiring_->deliver(operation, token);
  }

 private:
  friend class Held;

  void count(std::size_t products) { work_.multiply_adds += static_cast<std::int64_t>(products); }

  void change_held(std::int64_t bytes) {
    held_bytes_ += bytes;
    work_.score_bytes = std::max(work_.score_bytes, held_bytes_);
  }

  Work work_;
  std::size_t bytes_per_score_;
  std::int64_t held_bytes_ = 0;
  Wiring* wiring_ = nullptr;
};

/// Numbers that a meter knows to be held.
class Held {
 public:
  Held(Meter& meter, std::size_t count) : meter_(meter), numbers_(count) { meter_.change_held(bytes()); }
  ~Held() { meter_.change_held(-bytes()); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  std::size_t size() const { return numbers_.size(); }
  double* data() { return numbers_.data(); }
  const double* data() const { return numbers_.data(); }
  double& operator[](std::size_t index) { return numbers_[index]; }
  std::span<double> all() { return numbers_; }
  std::span<double> part(std::size_t begin, std::size_t count) { return all().subspan(begin, count); }

 private:
  std::int64_t bytes() const { return static_cast<std::int64_t>(numbers_.size() * meter_.bytes_per_score_); }

  Meter& meter_;
  std::vector<double> numbers_;
};

inline Held Meter::hold(std::size_t scores) {
  return Held(*this, scores);
}

}  // namespace attn
