#include "formula/entrywise.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace formula {

namespace {

/// Entries that are computed at a time: those of some ten values fit in the cache next to the processor.
constexpr std::size_t block_size = 256;

/// Calls `see(offset, place, count)` for each run of entries first, …, first + count − 1 that lie along the
/// last axis: the offset of its first entry and its place behind `first`.
template <class See>
void for_each_run(const attn::Shape& shape, const std::vector<std::ptrdiff_t>& strides, std::size_t first,
                  std::size_t count, const See& see) {
  if (shape.empty()) return see(0, 0, count);
  const auto last = shape.size() - 1;
  const auto offset_of = [&](std::size_t row) {
    std::ptrdiff_t offset = 0;
    for (std::size_t i = last; i-- > 0; row /= shape[i])
      offset += static_cast<std::ptrdiff_t>(row % shape[i]) * strides[i];
    return offset;
  };
  std::size_t row = first / shape[last], column = first % shape[last];
  for (std::size_t place = 0; place < count; ++row, column = 0) {
    const auto run = std::min(shape[last] - column, count - place);
    see(offset_of(row) + static_cast<std::ptrdiff_t>(column) * strides[last], place, run);
    place += run;
  }
}

template <class Element>
void copy_run(const Element* from, std::ptrdiff_t stride, double* to, std::size_t count) {
  if (stride == 1)
    std::copy_n(from, count, to);
  else if (stride == 0)
    std::fill_n(to, count, static_cast<double>(*from));
  else
    for (std::size_t i = 0; i < count; ++i)
      to[i] = static_cast<double>(from[static_cast<std::ptrdiff_t>(i) * stride]);
}

}  // namespace

/// Computes a block of entries of one value and of those that it is computed from.
class Entrywise::Blocks {
 public:
  Blocks(const attn::Shape& shape, const std::vector<Value>& values)
      : shape_(shape),
        values_(values),
        size_(std::min(block_size, attn::element_count(shape))),
        numbers_(new double[values.size() * size_]),
        computed_(values.size()) {
    for (std::size_t i = shape_.size(); i-- > 1;) put_together(i - 1);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto& value = values_[i];
      if (value.is_number()) std::fill_n(block(i), size_, value.number);
      computed_[i] = block(i);
    }
  }

  /// The entries from `first` on, of the last value.
  const double* operator()(std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].view.data != nullptr) load(i, first, count);
      if (values_[i].function != nullptr) apply(i, count);
    }
    return computed_.back();
  }

 private:
  double* block(std::size_t value) { return numbers_.get() + value * size_; }

  /// Makes one axis of two, where no view has a gap between them.
  void put_together(std::size_t i) {
    const auto length = static_cast<std::ptrdiff_t>(shape_[i + 1]);
    for (const auto& value : values_) {
      const auto& strides = value.view.strides;
      if (value.view.data != nullptr && strides[i] != strides[i + 1] * length) return;
    }
    const auto at = static_cast<std::ptrdiff_t>(i);
    for (auto& value : values_)
      if (value.view.data != nullptr) value.view.strides.erase(value.view.strides.begin() + at);
    shape_[i] *= shape_[i + 1];
    shape_.erase(shape_.begin() + at + 1);
  }

  void load(std::size_t i, std::size_t first, std::size_t count) {
    const auto& view = values_[i].view;
    auto* const to = block(i);
    computed_[i] = to;
    const auto stride = shape_.empty() ? 0 : view.strides.back();
    const auto load_run = [&](std::ptrdiff_t offset, std::size_t place, std::size_t run) {
      if (view.is_truth)
        return copy_run(static_cast<const bool*>(view.data) + offset, stride, to + place, run);
      const auto* const from = static_cast<const double*>(view.data) + offset;
      if (run == count && stride == 1)
        computed_[i] = from;
      else
        copy_run(from, stride, to + place, run);
    };
    for_each_run(shape_, view.strides, first, count, load_run);
  }

  void apply(std::size_t i, std::size_t count) {
    std::array<const double*, 3> operands{};
    for (std::size_t k = 0; k < values_[i].operands.size(); ++k)
      operands[k] = computed_[values_[i].operands[k]];
    values_[i].function->apply(operands.data(), block(i), count);
  }

  attn::Shape shape_;
  std::vector<Value> values_;
  std::size_t size_;                     ///< of a block
  std::unique_ptr<double[]> numbers_;    ///< a block of each value
  std::vector<const double*> computed_;  ///< the entries of each value in the block
};

void Entrywise::see(Place value, const See& see) const {
  Blocks blocks(shape_, {values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(value) + 1});
  const auto all = attn::element_count(shape_);
  for (std::size_t first = 0; first < all; first += block_size) {
    const auto count = std::min(block_size, all - first);
    see(first, blocks(first, count), count);
  }
}

void Entrywise::compute(Place value, double* result) const {
  see(value, [&](std::size_t first, const double* block, std::size_t count) {
    std::copy_n(block, count, result + first);
  });
}

void Entrywise::compute(Place value, bool* result) const {
  see(value, [&](std::size_t first, const double* block, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) result[first + i] = block[i] != 0.0;
  });
}

namespace {

template <class Container>
Container in_order(const View& view) {
  Container elements(view.shape);
  Entrywise(view.shape, {{.view = {.strides = view.strides, .data = view.data, .is_truth = view.is_truth}}})
      .compute(0, elements.data());
  return elements;
}

}  // namespace

Numbers numbers_in_order(const View& view) {
  return in_order<Numbers>(view);
}

Truths truths_in_order(const View& view) {
  return in_order<Truths>(view);
}

}  // namespace formula
