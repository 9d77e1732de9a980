#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include "fast/train/operations.hpp"

namespace attn::train {

/// Whole huge pages where the system has them: a tape is long, and ordinary pages would be looked up anew
/// all the time.
template <class T>
typename Tape<T>::Block Tape<T>::block_of(std::size_t lines) {
  constexpr std::size_t page = std::size_t{1} << 21;
  const std::size_t bytes = (lines * sizeof(Line) + page - 1) / page * page;
  void* memory = std::aligned_alloc(page, bytes);
  if (!memory) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  const auto release = [](Line* first) { std::free(first); };
  return {{static_cast<Line*>(memory), release}, bytes / sizeof(Line)};
}

template <class T>
T* Tape<T>::scratch(std::size_t numbers) {
  const std::size_t lines = (numbers * sizeof(T) + sizeof(Line) - 1) / sizeof(Line) + 1;
  while (block_ < blocks_.size() && used_ + lines > blocks_[block_].size) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    blocks_.push_back(block_of(lines));
  }
  T* numbers_at = reinterpret_cast<T*>(blocks_[block_].lines.get() + used_);
  used_ += lines;
  return numbers_at;
}

template <class T>
Variable<T> Tape<T>::constant(std::size_t rows, std::size_t columns) {
  return {scratch(rows * columns), nullptr, rows, columns};
}

template <class T>
Variable<T> Tape<T>::variable(std::size_t rows, std::size_t columns, Gradient gradient) {
  Variable<T> result = constant(rows, columns);
  if (records_ && gradient == Gradient::in_place) {
    result.gradient = result.value;
  } else if (records_) {
    result.gradient = scratch(result.size());
    std::fill_n(result.gradient, result.size(), T{0});
  }
  return result;
}

template <class T>
void Tape<T>::backward(const Variable<T>& loss) {
  *loss.gradient = 1;
  for (auto work = backwards_.rbegin(); work != backwards_.rend(); ++work) (*work)();
}

template <class T>
void Tape<T>::clear() {
  backwards_.clear();
  block_ = 0;
  used_ = 0;
}

template class Tape<float>;
template class Tape<double>;

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
