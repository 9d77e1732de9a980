#include "fast/train/weights.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace attn::train {

namespace {

auto find(const std::vector<WeightShape>& shapes, std::string_view name) {
  return std::find_if(shapes.begin(), shapes.end(),
                      [&](const WeightShape& shape) { return shape.name == name; });
}

}  // namespace

void WeightTable::add(std::string name, std::size_t rows, std::size_t columns) {
  add({std::move(name), rows, columns, numbers(), false});
}

void WeightTable::add_vector(std::string name, std::size_t size) {
  add({std::move(name), 1, size, numbers(), true});
}

void WeightTable::add(WeightShape shape) {
  if (has(shape.name)) throw std::logic_error("there are two weights " + shape.name);
  shapes_.push_back(std::move(shape));
}

std::size_t WeightTable::numbers() const {
  return shapes_.empty() ? 0 : shapes_.back().offset + shapes_.back().size();
}

bool WeightTable::has(std::string_view name) const {
  return find(shapes_, name) != shapes_.end();
}

const WeightShape& WeightTable::at(std::string_view name) const {
  const auto found = find(shapes_, name);
  if (found == shapes_.end()) throw std::logic_error("there is no weight " + std::string(name));
  return *found;
}

}  // namespace attn::train
