#pragma once

#include <algorithm>
#include <array>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// [batch×1×axes…] → [batch×axes…].
template <class Element, std::size_t N>
Array<Element, N - 1> only_head(const Array<Element, N>& x) {
  std::array<std::size_t, N - 1> shape{x.shape(0)};
  std::copy(x.shape().begin() + 2, x.shape().end(), shape.begin() + 1);
  Array<Element, N - 1> result(shape);
  std::copy(x.begin(), x.end(), result.begin());
  return result;
}

/// [batch×axes…] → [batch×1×axes…].
template <class Element, std::size_t N>
Array<Element, N + 1> with_one_head(const Array<Element, N>& x) {
  std::array<std::size_t, N + 1> shape{x.shape(0), 1};
  std::copy(x.shape().begin() + 1, x.shape().end(), shape.begin() + 2);
  Array<Element, N + 1> result(shape);
  std::copy(x.begin(), x.end(), result.begin());
  return result;
}

/// Shows a tensor [batch×head×axes…] as a step; in a run without --heads, which has one head, as
/// [batch×axes…]. `about` names the axes after the head's.
template <class Element, std::size_t N>
void show_heads(Workbench& bench, attn::About about, const Array<Element, N>& values) {
  if (!bench.options.heads) {
    bench.trace.step(about, only_head(values));
    return;
  }
  about.axes.insert(about.axes.begin(), "head");
  bench.trace.step(about, values);
}

/// The same for an input, which is returned.
template <class Element, std::size_t N>
Array<Element, N> input_heads(Workbench& bench, attn::About about, const Array<Element, N>& values) {
  if (!bench.options.heads) return with_one_head(bench.trace.input(about, only_head(values)));
  about.axes.insert(about.axes.begin(), "head");
  return bench.trace.input(about, values);
}

}  // namespace lessons
