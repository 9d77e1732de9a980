#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
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

/// Where the gradient of a variable stands: beside its values, beginning with 0, or in their place. The
/// second is for what a single operation reads; in its backward that writes the gradient over what it left
/// there.
enum class Gradient { beside, in_place };

/// What was computed, in order, and how each operation hands gradients back to what it read (reverse-mode
/// differentiation). Operations are free functions: each computes its result and records its backward.
template <class T>
class Tape {
 public:
  /// A tape that records nothing only computes: for evaluation.
  explicit Tape(bool records = true) : records_(records) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// A matrix whose values are still to be written. Aligned to 64 bytes.
  Variable<T> variable(std::size_t rows, std::size_t columns, Gradient gradient = Gradient::beside);

  /// The same without a gradient.
  Variable<T> constant(std::size_t rows, std::size_t columns);

  /// Numbers that live as long as what is on the tape.
  T* scratch(std::size_t numbers);

  /// A copy of the items that lives as long as what is on the tape: for backwards, which then copy a pointer.
  template <class Item>
  std::span<const Item> keep(std::span<const Item> items) {
    static_assert(std::is_trivially_copyable_v<Item>);
    auto* copies = reinterpret_cast<Item*>(scratch((items.size_bytes() + sizeof(T) - 1) / sizeof(T)));
    std::uninitialized_copy(items.begin(), items.end(), copies);
    return {copies, items.size()};
  }
  template <class Items>
  auto keep(const Items& items) {
    return keep(std::span<const typename Items::value_type>(items));
  }

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
    std::unique_ptr<Line[], void (*)(Line*)> lines;
    std::size_t size;
  };
  static Block block_of(std::size_t lines);

  bool records_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0;  ///< in use
  std::size_t used_ = 0;   ///< lines of it
  std::vector<std::function<void()>> backwards_;
};

extern template class Tape<float>;
extern template class Tape<double>;

/// Where a weight stands among all numbers of a model.
struct WeightShape {
  std::string name;  ///< the id that the lessons give it: "encoder/W_ih"
  std::size_t rows;
  std::size_t columns;
  std::size_t offset;
  bool is_vector;  ///< has one axis where it is shown and stored; here one row

  std::size_t size() const { return rows * columns; }
};

/// The weights of a model by name, in the order in which they were added.
class WeightTable {
 public:
  /// These throw std::logic_error for a name that is there already.
  void add(std::string name, std::size_t rows, std::size_t columns);
  void add_vector(std::string name, std::size_t size);

  const std::vector<WeightShape>& shapes() const { return shapes_; }
  std::size_t numbers() const;  ///< of all weights together

  bool has(std::string_view name) const;

  /// Throws std::logic_error for a name that is not there.
  const WeightShape& at(std::string_view name) const;

 private:
  void add(WeightShape shape);

  std::vector<WeightShape> shapes_;
};

/// All numbers of a model with room for their gradients, seen as variables.
template <class T>
struct Weights {
  const WeightTable* table;
  T* values;
  T* gradients;  ///< null for a model that is only evaluated

  Variable<T> operator()(std::string_view name) const {
    const WeightShape& shape = table->at(name);
    return {values + shape.offset, gradients ? gradients + shape.offset : nullptr, shape.rows, shape.columns};
  }
};

}  // namespace attn::train
