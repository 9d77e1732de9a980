#pragma once

#include <optional>
#include <string>
#include <utility>

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

/// The action `equals-fused-kernel`: the claim that the fastest kernel that fits gives the same heads, or the
/// same output; about attention without dropout.
template <std::size_t N>
void add_fused_kernel(Functions& functions);

/// Tensors of the caller's that formulas of parts may speak of; he keeps them alive. A bias that is not there
/// is 0.
template <std::size_t N>
void set_view(DocumentRun& run, const std::string& name, formula::Axes axes, const Tensor<N>& tensor) {
  run.set(name, formula::view_of(std::move(axes), attn::view_of(tensor)));
}
void set_bias(DocumentRun& run, const std::string& name, const std::string& axis,
              const std::optional<Tensor<1>>& bias);

/// Two texts, or one that stands on both sides.
void set_tokens(DocumentRun& run, const Named& X_query, const Named& X_key);

}  // namespace lessons
