#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "lessons/workbench/workbench.hpp"

/// Lessons that have heads with --heads only compute with an axis of one head where there is none, and show
/// their tensors without it.
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

/// What is worked out with heads, in a run without --heads, whose tensors have no such axis.
inline attn::WorkedOut without_heads(const attn::WorkedOut& worked) {
  if (!worked) return {};
  return [worked](attn::Index at) {
    at.insert(at.begin() + 1, 0);
    auto result = worked(at);
    result.for_each_operand([](attn::Operand& operand) { operand.index.erase(operand.index.begin() + 1); });
    return result;
  };
}

/// Shows a tensor [batch×head×axes…] as a step; in a run without --heads, which has one head, as
/// [batch×axes…]. `about` names the axes after the head's. Returns the tensor to go on with.
template <class Element, std::size_t N>
Array<Element, N> step_of_heads(Workbench& bench, attn::About about, const Array<Element, N>& values) {
  if (!bench.options.heads) {
    about.worked = without_heads(about.worked);
    return with_one_head(bench.trace.step(about, only_head(values)));
  }
  about.axes.insert(about.axes.begin(), "head");
  return bench.trace.step(about, values);
}

/// The same for an input.
template <class Element, std::size_t N>
Array<Element, N> input_of_heads(Workbench& bench, attn::About about, const Array<Element, N>& values) {
  if (!bench.options.heads) return with_one_head(bench.trace.input(about, only_head(values)));
  about.axes.insert(about.axes.begin(), "head");
  return bench.trace.input(about, values);
}

}  // namespace lessons
