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

  /// What is computed has that shape.
  explicit Entrywise(attn::Shape shape) : shape_(std::move(shape)) {}

  Place number(double number);

  /// The entries of a view along the axes of what is computed. Truth values become 1 and 0. Their owner has
  /// to keep them until all is computed.
  Place entries(const View& view);

  Place applied(const Function& function, const std::vector<Place>& operands);

  /// Sees the entries of one value in row-major order, a block at a time: how many stood before them, the
  /// numbers, and how many they are.
  using See = std::function<void(std::size_t first, const double* numbers, std::size_t count)>;
  void see(Place value, const See& see) const;

  /// Writes the entries of one value in row-major order; as truth values, whether they are other than 0.
  void compute(Place value, double* result) const;
  void compute(Place value, bool* result) const;

 private:
  struct Value {
    double number = 0.0;
    std::vector<std::ptrdiff_t> strides{};  ///< of entries
    const void* data = nullptr;
    bool is_truth = false;
    const Function* function = nullptr;
    std::vector<Place> operands{};
  };

  class Blocks;

  attn::Shape shape_;
  std::vector<Value> values_;
};

/// The entries in row-major order: as numbers, or as truth values.
Numbers numbers_in_order(const View& view);
Truths truths_in_order(const View& view);

}  // namespace formula
