#pragma once

#include <optional>
#include <string>

#include "lessons/documents/document_run.hpp"
#include "lessons/sdpa.hpp"

/// What the parts scores.md and mixture.md leave to C++. Ranks 3 and 4, as in sdpa.hpp.
namespace lessons {

/// Several heads have an axis more, and names of their own.
template <std::size_t N>
constexpr bool has_heads = N == 4;

template <std::size_t N>
formula::Axes axes_of(const std::string& row, const std::string& column) {
  if constexpr (has_heads<N>) return {"batch", "head", row, column};
  return {"batch", row, column};
}

/// A mask [batch×query×key], and whether there is one. An axis of length 1 is repeated.
void set_mask(DocumentRun& run, const std::optional<Mask<3>>& mask);

/// Which weights survive, drawn once the weights are there and told to `mask`, and what to think of the rows
/// that are left. `mask` lives as long as the functions.
template <std::size_t N>
void add_dropout(Functions& functions, std::optional<Integers<N>>& mask);

/// The steps that a run has so far, as copies.
template <std::size_t N>
Attention<N> steps_of(const DocumentRun& run);

/// The claim that the fastest kernel that fits gives the same output; about attention without dropout.
template <std::size_t N>
void claim_equals_fused_kernel(Workbench& bench, const Attention<N>& attention, const Tensor<N>& Q,
                               const Tensor<N>& K, const Tensor<N>& V);

}  // namespace lessons
