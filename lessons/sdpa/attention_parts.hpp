#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/documents/document_run.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/self_attention.hpp"

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

/// The action `equals-fused-kernel`: the claim of that name about the heads, or about the output.
template <std::size_t N>
void add_fused_kernel(Functions& functions);

/// The classic mistakes in the projections `Q`, `K`, `V` of tokens `X` that are no formulas, for somebody who
/// watches. `groups` is how many key and value heads there are, and scores are divided by `divisor`. It lives
/// as long as the run.
class ProjectionMistakes {
 public:
  ProjectionMistakes(Functions& functions, std::size_t groups, double divisor, std::string X_query = "X",
                     std::string X_key = "X");
  ProjectionMistakes(ProjectionMistakes&&) = delete;

 private:
  void read(const DocumentRun& run);

  const DocumentRun* run_ = nullptr;  ///< whose tensors these are
  Named X_query_, X_key_;
  std::optional<ProjectionWeights> weights_;
  std::vector<LinearMap> maps_;
};

/// The claim that the fastest kernel that fits gives the same output; about attention without dropout.
template <std::size_t N>
void claim_equals_fused_kernel(Workbench& bench, const Attention<N>& attention, const Tensor<N>& Q,
                               const Tensor<N>& K, const Tensor<N>& V);

}  // namespace lessons
