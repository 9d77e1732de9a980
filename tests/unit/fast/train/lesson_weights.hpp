#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "fast/train/operations.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/numbers.hpp"

/// Weights of a model in training as a lesson is given them.
namespace lesson_weights {

constexpr double lesson_tolerance = 2e-6;  ///< of float32

/// Numbers of float32 that are not all alike.
inline std::vector<float> some(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(0.8 * std::sin(12.9898 * static_cast<double>(i + 1)));
  return values;
}

inline void set_identity(const attn::train::WeightTable& table, const std::string& name,
                         std::vector<float>& values) {
  const auto& shape = table.at(name);
  for (std::size_t i = 0; i < shape.size(); ++i)
    values[shape.offset + i] = i / shape.columns == i % shape.columns ? 1.0F : 0.0F;
}

template <class Numbers>
void give(attn::GivenTensors& given, const std::string& id, const attn::Shape& shape,
          const Numbers& numbers) {
  REQUIRE(numbers.size() == attn::element_count(shape));
  given.merge(given_tensor(id, shape, {numbers.begin(), numbers.end()}));
}

inline attn::Shape axes_of(const attn::train::WeightShape& shape) {
  return shape.is_vector ? attn::Shape{shape.size()} : attn::Shape{shape.rows, shape.columns};
}

/// The rows of a table that the ids name, as one matrix.
inline std::vector<float> rows_of(const attn::train::WeightTable& table, const std::vector<float>& values,
                                  const std::string& name, const std::vector<int>& ids) {
  const auto& shape = table.at(name);
  std::vector<float> rows;
  for (const int id : ids) {
    const float* row = values.data() + shape.offset + static_cast<std::size_t>(id) * shape.columns;
    rows.insert(rows.end(), row, row + shape.columns);
  }
  return rows;
}

/// The weights under the lesson's ids, which are those of the table without `prefix`.
inline attn::GivenTensors given_weights(const attn::train::WeightTable& table,
                                        const std::vector<float>& values, const std::string& prefix = "") {
  attn::GivenTensors given;
  for (const auto& shape : table.shapes()) {
    if (shape.name.find("embedding") != shape.name.npos || shape.name.compare(0, prefix.size(), prefix) != 0)
      continue;
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(shape.offset);
    give(given, shape.name.substr(prefix.size()), axes_of(shape),
         std::vector<float>(first, first + static_cast<std::ptrdiff_t>(shape.size())));
  }
  return given;
}

inline std::vector<float> flattened(const std::vector<std::vector<float>>& rows) {
  std::vector<float> numbers;
  for (const auto& row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
  return numbers;
}

template <class T>
std::vector<T> numbers_of(const attn::train::Variable<T>& x) {
  return {x.value, x.value + x.size()};
}

}  // namespace lesson_weights
