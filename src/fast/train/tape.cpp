#include "fast/train/tape.hpp"

#include <algorithm>

namespace attn::train {

template <class T>
T* Tape<T>::scratch(std::size_t numbers) {
  constexpr std::size_t least_lines = std::size_t{1} << 14;
  const std::size_t lines = (numbers * sizeof(T) + sizeof(Line) - 1) / sizeof(Line) + 1;
  while (block_ < blocks_.size() && used_ + lines > blocks_[block_].size) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const std::size_t size = std::max(lines, least_lines);
    blocks_.push_back({std::unique_ptr<Line[]>(new Line[size]), size});
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
Variable<T> Tape<T>::variable(std::size_t rows, std::size_t columns) {
  Variable<T> result = constant(rows, columns);
  if (records_) {
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

}  // namespace attn::train
