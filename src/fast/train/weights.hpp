#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "fast/train/tape.hpp"

namespace attn::train {

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
