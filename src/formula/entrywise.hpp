#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "formula/functions.hpp"
#include "formula/sheet.hpp"

namespace formula {

/// Functions of entries, computed a block of entries at a time: what one function hands to the next stays in
/// the processor's cache, and no table of it is made.
class Entrywise {
 public:
  /// A value in the list of those that a program computes.
  using Place = std::size_t;

  /// The entries of a view along the axes of what is computed, of which truth values become 1 and 0, a
  /// function of values before it, or a number.
  struct Value {
    View view{};
    double number = 0.0;
    const Function* function = nullptr;
    std::vector<Place> operands{};
    bool is_truth = false;  ///< which its numbers mean

    bool is_number() const { return function == nullptr && view.data == nullptr; }
  };

  /// What is computed has that shape.
  explicit Entrywise(attn::Shape shape, std::vector<Value> values = {})
      : shape_(std::move(shape)), values_(std::move(values)) {}

  Place add(Value value) {
    values_.push_back(std::move(value));
    return values_.size() - 1;
  }

  /// Sees the entries of one value in row-major order, a block at a time: how many stood before them, the
  /// numbers, and how many they are.
  using See = std::function<void(std::size_t first, const double* numbers, std::size_t count)>;
  void see(Place value, const See& see) const;

  /// Writes the entries of one value in row-major order; as truth values, whether they are other than 0.
  void compute(Place value, double* result) const;
  void compute(Place value, bool* result) const;

 private:
  class Blocks;

  attn::Shape shape_;
  std::vector<Value> values_;
};

/// The entries in row-major order: as numbers, or as truth values.
Numbers numbers_in_order(const View& view);
Truths truths_in_order(const View& view);

}  // namespace formula
