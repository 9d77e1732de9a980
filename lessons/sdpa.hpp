#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "lessons/documents/part_run.hpp"

namespace lessons {

/// Scaled dot-product attention (Vaswani et al. 2017, equation 1), the parts scores.md and mixture.md: from Q
/// [batch×query×d_k], K [batch×key×d_k] and V [batch×key×d_v] to the step `output`. mask [batch×query×key],
/// true = may be seen. All of them live as long as the run.
void tell_attention(DocumentRun& run, const Tensor<3>& Q, const Tensor<3>& K, const Tensor<3>& V,
                    const std::optional<Mask<3>>& mask);

/// √d_k · temperature, by which scores are divided.
double divisor_of(std::size_t d_k, double temperature);

/// The claim `equals-fused-kernel`: that the fastest kernel that fits gives the same heads, or the
/// same output; about attention without dropout.
template <std::size_t N>
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
