#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fast/visibility.hpp"
#include "lessons/efficient.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What one way to attend took and how far it is from full attention.
struct VariantResult {
  std::string variant;
  attn::Cost cost;
  double error = 0.0, relative_error = 0.0;
};

/// What the variants of attention are shown on and measured against.
struct VariantBench {
  Workbench& bench;
  Tensor<2> Q, K, V;                   ///< [query×d_k], [key×d_k], [key×d_v]
  KeyLists visible;                    ///< the pairs of full attention: all, or none that look ahead
  double magnitude;                    ///< of what rounding is relative to
  std::vector<VariantResult> shown{};  ///< full attention and the variants so far

  /// Once somebody asked for them: what flash attention gave and took, and the output of attention under the
  /// mask `visible`.
  std::optional<std::pair<Tensor<2>, attn::Cost>> tiles{};
  std::optional<Tensor<2>> masked{};

  std::size_t n() const { return Q.shape(0); }
  bool causal() const { return bench.options.causal; }

  /// `visible` as a mask [query×key].
  Mask<2> visible_mask() const { return attn::mask_of(visible, n()); }

  /// Counts scores as numbers of the run's dtype.
  CostCounter counter() const { return CostCounter(bench.trace.dtype()); }
};

/// Throws std::invalid_argument, with both shapes, unless Q [batch…×n_q×d_k], K [batch…×n_k×d_k] and
/// V [batch…×n_k×d_v] fit. Q may have other heads than K and V: what these may be, the caller says.
template <std::size_t N>
void require_fitting(const std::string& op, const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V);

/// The keys that each of some queries sees.
using ListsOfKeys = std::span<const std::vector<std::size_t>>;

/// softmax(q kᵀ / √d_k) V of as many queries as there are lists, from `first_query` on, over their listed
/// keys: the rows `output` [query×d_v]. Each is recorded as computed from its keys in one operation.
void attend_to_listed(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const ListsOfKeys& keys,
                      std::size_t first_query, CostCounter& counter, double* output);

/// The output of scaled dot-product attention under a mask [query×key].
Tensor<2> output_under(const VariantBench& on, const Mask<2>& mask);

/// Claims that these outputs are that of scaled dot-product attention under a mask, which is `masked`.
void claim_equals_masked(VariantBench& on, const std::string& id, const std::string& claim,
                         const std::vector<Tensor<2>>& outputs, const Tensor<2>& masked);

/// The same of the mask of full attention.
void claim_equals_masked(VariantBench& on, const std::string& id, const std::string& claim,
                         const std::vector<Tensor<2>>& outputs);

/// Claims, in these words, that the fastest kernel of exact attention gives `VARIANT/output`, too.
void claim_equals_exact_kernel(VariantBench& on, const std::string& variant, const std::string& claim,
                               const Tensor<2>& output, const attn::fast::Visibility& visible);

/// φ(Q) and φ(K) of a variant.
struct Features {
  std::string variant;
  Tensor<2> phi_Q, phi_K;
};

/// Claims that the output of the lesson, and that of the code that sums the keys up, is `reference`, that of
/// all weights that the features amount to; or says why it does not apply to these features.
void claim_equals_all_weights(VariantBench& on, const Features& features, const Tensor<2>& reference,
                              const Tensor<2>& output);

/// The same of causal linear attention and its recurrence.
void claim_equals_recurrence(VariantBench& on, const Features& features, const Tensor<2>& output);

/// The same of the fast kernel of linear attention.
void claim_equals_linear_kernel(VariantBench& on, const std::string& variant, const Features& features,
                                const Tensor<2>& output, bool causal);

}  // namespace lessons
