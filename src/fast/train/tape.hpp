#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

/// Training of small models: forward and backward side by side, in float32 (float64 for tests).
namespace attn::train {

/// A matrix of numbers and of the loss's gradient with respect to them, both row-major and contiguous.
/// The memory is the tape's, or that of the weights.
template <class T>
struct Variable {
  T* value = nullptr;
  T* gradient = nullptr;  ///< null where nobody asks for it: constants
  std::size_t rows = 0;
  std::size_t columns = 0;

  std::size_t size() const { return rows * columns; }

  /// `count` rows from `first` on, in the same memory.
  Variable slice(std::size_t first, std::size_t count) const {
    return {value + first * columns, gradient ? gradient + first * columns : nullptr, count, columns};
  }
};

/// What was computed, in order, and how each operation hands gradients back to what it read (reverse-mode
/// differentiation). Operations are free functions: each computes its result and records its backward.
template <class T>
class Tape {
 public:
  /// A tape that records nothing only computes: for evaluation.
  explicit Tape(bool records = true) : records_(records) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// A matrix whose values are still to be written; its gradient is 0. Aligned to 64 bytes.
  Variable<T> variable(std::size_t rows, std::size_t columns);

  /// The same without a gradient.
  Variable<T> constant(std::size_t rows, std::size_t columns);

  /// Numbers that live as long as what is on the tape.
  T* scratch(std::size_t numbers);

  bool records() const { return records_; }

  /// Called by `backward`, after what was recorded later.
  void on_backward(std::function<void()> work) {
    if (records_) backwards_.push_back(std::move(work));
  }

  /// Adds the gradients of `loss`, a single number, to whatever it was computed from.
  void backward(const Variable<T>& loss);

  /// Forgets everything. The memory is kept for what comes next.
  void clear();

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Block {
    std::unique_ptr<Line[]> lines;
    std::size_t size;
  };

  bool records_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0;  ///< in use
  std::size_t used_ = 0;   ///< lines of it
  std::vector<std::function<void()>> backwards_;
};

extern template class Tape<float>;
extern template class Tape<double>;

}  // namespace attn::train
