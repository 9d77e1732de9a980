#pragma once

#include <algorithm>
#include <array>

#include "lessons/workbench.hpp"

namespace lessons {

/// [batch×1×axes…] → [batch×axes…].
template <class T, std::size_t N>
Tensor<T, N - 1> only_head(const Tensor<T, N>& x) {
  std::array<std::size_t, N - 1> shape{x.shape(0)};
  std::copy(x.shape().begin() + 2, x.shape().end(), shape.begin() + 1);
  Tensor<T, N - 1> result(shape);
  std::copy(x.begin(), x.end(), result.begin());
  return result;
}

/// Shows a tensor [batch×head×axes…] as an input or a step; in a run without --heads, which has one head, as
/// [batch×axes…]. `about` names the axes after the head's.
template <class T, class Element, std::size_t N>
void show_heads(Workbench<T>& bench, attn::Kind kind, attn::About about, const Tensor<Element, N>& values) {
  const auto emit = [&](const auto& tensor) {
    if (kind == attn::Kind::input)
      bench.trace.input(about, tensor);
    else
      bench.trace.step(about, tensor);
  };
  if (!bench.options.heads) return emit(only_head(values));
  about.axes.insert(about.axes.begin(), "head");
  emit(values);
}

}  // namespace lessons
