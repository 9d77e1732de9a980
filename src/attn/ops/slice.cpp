#include "attn/ops/slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace attn {

Tensor<2> columns(const Tensor<2>& x, std::size_t begin, std::size_t end) {
  auto part = Tensor<2>::from_shape({x.shape(0), end - begin});
  for (std::size_t i = 0; i < part.shape(0); ++i)
    for (std::size_t j = 0; j < part.shape(1); ++j) part(i, j) = x(i, begin + j);
  return part;
}

Tensor<2> rows(const Tensor<2>& x, std::size_t begin, std::size_t end) {
  auto part = Tensor<2>::from_shape({end - begin, x.shape(1)});
  for (std::size_t i = 0; i < part.shape(0); ++i)
    for (std::size_t j = 0; j < part.shape(1); ++j) part(i, j) = x(begin + i, j);
  return part;
}

Tensor<2> rows(const Tensor<2>& x, const std::vector<std::size_t>& indices) {
  auto part = Tensor<2>::from_shape({indices.size(), x.shape(1)});
  for (std::size_t i = 0; i < indices.size(); ++i)
    for (std::size_t j = 0; j < part.shape(1); ++j) part(i, j) = x(indices[i], j);
  return part;
}

Tensor<1> row(const Tensor<2>& x, std::size_t index) {
  auto part = Tensor<1>::from_shape({x.shape(1)});
  std::copy_n(x.data() + index * part.size(), part.size(), part.data());
  return part;
}

Tensor<2> sample(const Tensor<3>& x, std::size_t index) {
  if (index >= x.shape(0))
    throw std::invalid_argument(
        fmt::format("[sample] there is no sample {} in a batch of {}", index, x.shape(0)));
  auto matrix = Tensor<2>::from_shape({x.shape(1), x.shape(2)});
  std::copy_n(x.data() + index * matrix.size(), matrix.size(), matrix.data());
  return matrix;
}

Tensor<3> as_batch(const Tensor<2>& x) {
  Tensor<3> batch({1, x.shape(0), x.shape(1)});
  std::copy(x.begin(), x.end(), batch.begin());
  return batch;
}

Tensor<3> head(const Tensor<4>& x, std::size_t index) {
  auto part = Tensor<3>::from_shape({x.shape(0), x.shape(2), x.shape(3)});
  for (std::size_t b = 0; b < part.shape(0); ++b)
    for (std::size_t i = 0; i < part.shape(1); ++i)
      for (std::size_t j = 0; j < part.shape(2); ++j) part(b, i, j) = x(b, index, i, j);
  return part;
}

Tensor<2> cut_into_rows(const Tensor<1>& x, std::size_t length) {
  auto rows = Tensor<2>::from_shape({x.size() / length, length});
  std::copy_n(x.data(), rows.size(), rows.data());
  return rows;
}

Tensor<2> repeat_column_blocks(const Tensor<2>& x, std::size_t width, std::size_t times) {
  auto repeated = Tensor<2>::from_shape({x.shape(0), x.shape(1) * times});
  for (std::size_t i = 0; i < repeated.shape(0); ++i)
    for (std::size_t j = 0; j < repeated.shape(1); ++j)
      repeated(i, j) = x(i, j / (width * times) * width + j % width);
  return repeated;
}

template <class Element>
Array<Element, 3> first_rows(const Array<Element, 3>& x, std::size_t count) {
  auto part = Array<Element, 3>::from_shape({x.shape(0), count, x.shape(2)});
  for (std::size_t b = 0; b < part.shape(0); ++b)
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < part.shape(2); ++j) part(b, i, j) = x(b, i, j);
  return part;
}

Tensor<3> with_zero_rows(const Tensor<3>& x, std::size_t count) {
  Tensor<3> padded = xt::zeros<double>({x.shape(0), x.shape(1) + count, x.shape(2)});
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t i = 0; i < x.shape(1); ++i)
      for (std::size_t j = 0; j < x.shape(2); ++j) padded(b, i, j) = x(b, i, j);
  return padded;
}

Tensor<3> rows_twice(const Tensor<3>& x) {
  const auto n = x.shape(1);
  auto doubled = Tensor<3>::from_shape({x.shape(0), 2 * n, x.shape(2)});
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t i = 0; i < 2 * n; ++i)
      for (std::size_t j = 0; j < x.shape(2); ++j) doubled(b, i, j) = x(b, i % n, j);
  return doubled;
}

template <class Element>
Array<Element, 3> columns_twice(const Array<Element, 3>& x) {
  const auto d = x.shape(2);
  auto doubled = Array<Element, 3>::from_shape({x.shape(0), x.shape(1), 2 * d});
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t i = 0; i < x.shape(1); ++i)
      for (std::size_t j = 0; j < 2 * d; ++j) doubled(b, i, j) = x(b, i, j % d);
  return doubled;
}

template Tensor<3> first_rows(const Tensor<3>&, std::size_t);
template Mask<3> first_rows(const Mask<3>&, std::size_t);
template Tensor<3> columns_twice(const Tensor<3>&);
template Mask<3> columns_twice(const Mask<3>&);

}  // namespace attn
