#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "lessons/documents/part_run.hpp"

namespace lessons {

/// √d_k · temperature, by which scores are divided.
double divisor_of(std::size_t d_k, double temperature);

/// The claim `equals-fused-kernel`: that the fastest kernel that fits gives the same heads, or the
/// same output; about attention without dropout.
void add_fused_kernel(Functions& functions);

/// Tensors of the caller's that formulas of parts may speak of; he keeps them alive.
template <std::size_t N>
void set_view(DocumentRun& run, const std::string& name, formula::Axes axes, const Tensor<N>& tensor) {
  run.set(name, formula::view_of(std::move(axes), attn::view_of(tensor)));
}

/// Those of `views` under these names, with these axes; one that is not there is 0.
void set_views(DocumentRun& run, const std::string& prefix, const Views& views,
               const std::map<std::string, formula::Axes>& axes);

/// Two texts, or one that stands on both sides; the caller keeps them alive.
void set_tokens(DocumentRun& run, const Named& X_query, const Named& X_key);

}  // namespace lessons
