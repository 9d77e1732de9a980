#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fast/visibility.hpp"
#include "lessons/efficient.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What one way to attend took and how far it is from full attention.
struct VariantResult {
  std::string variant;
  attn::Cost cost;
  double error = 0.0;
};

/// What the variants of attention are shown on and measured against.
struct VariantBench {
  Workbench& bench;
  Tensor<2> Q, K, V;                       ///< [query×d_k], [key×d_k], [key×d_v]
  KeyLists visible;                        ///< the pairs of full attention: all, or none that look ahead
  Tensor<2> full;                          ///< its output, [query×d_v]
  double magnitude;                        ///< of what rounding is relative to
  std::optional<Mask<2>> pattern_of_file;  ///< for sparse attention, [query×key]
  std::vector<VariantResult> shown;        ///< full attention and the variants so far
  std::vector<std::pair<std::string, Mask<2>>> patterns;  ///< of the variants that are a choice of pairs

  std::size_t n() const { return Q.shape(0); }
  bool causal() const { return bench.options.causal; }

  /// `visible` as a mask [query×key].
  Mask<2> visible_mask() const { return attn::mask_of(visible, n()); }

  /// Counts scores as numbers of the run's dtype.
  CostCounter counter() const { return CostCounter(bench.trace.dtype()); }

  /// "34 scores · 8 bytes".
  std::string bytes_of(std::size_t count, const std::string& what) const;
};

/// The note `VARIANT/code`: the variant in NumPy.
void show_code(VariantBench& on, const std::string& variant, const std::vector<std::string>& lines);

/// What a variant took, in words.
struct CostWords {
  std::string multiply_adds;  ///< the sum that gives the number of multiply-adds
  std::string score_bytes;    ///< what was held
  std::string reference = "full/output";
  std::optional<attn::Worked> worked_multiply_adds{}, worked_score_bytes{};
};

/// What takes no index: a number on its own.
attn::WorkedOut worked_number_of(const std::optional<attn::Worked>& number);

/// pairs · (d_k + d_v), and `count` numbers of the run's dtype in bytes.
attn::Worked worked_pairs(const VariantBench& on, std::size_t pairs);
attn::Worked worked_bytes(const VariantBench& on, attn::Worked count);

/// qᵢ · kⱼ / √d_k.
attn::WorkedOut worked_pair_scores(attn::Known<2> Q, attn::Known<2> K);

/// softmax of the scores, products of d_k numbers, of the listed keys, and Σⱼ weightᵢⱼ vⱼ over them; 0 where
/// there are none.
attn::WorkedOut worked_weights_of_pairs(attn::WorkedOut scores, const KeyLists& keys, std::size_t n_k,
                                        std::size_t d_k);
attn::WorkedOut worked_mixtures(attn::WorkedOut weights, attn::WorkedOut V, const KeyLists& keys);

/// The output at once: Σⱼ exp(scoreᵢⱼ) vⱼ / Σⱼ exp(scoreᵢⱼ) over the listed keys.
attn::WorkedOut worked_attention(attn::WorkedOut scores, attn::WorkedOut V, const KeyLists& keys,
                                 std::size_t d_k);

/// Shows `VARIANT/error` of the step `VARIANT/output` against `reference`, `/multiply_adds` and
/// `/score_bytes`, and keeps them for the comparison. An error that rounding alone explains is shown as 0.
void show_result(VariantBench& on, const std::string& variant, const CostWords& words,
                 const Tensor<2>& output, const attn::Cost& cost, const Tensor<2>& reference);

/// Throws std::invalid_argument, with both shapes, unless Q [batch…×n_q×d_k], K [batch…×n_k×d_k] and
/// V [batch…×n_k×d_v] fit. Q may have other heads than K and V: what these may be, the caller says.
template <std::size_t N>
void require_fitting(const std::string& op, const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V);

/// softmax(q kᵀ / √d_k) of each query over its listed keys, laid out [query×key] with 0 where nothing is
/// computed.
Tensor<2> weights_of_pairs(const Tensor<2>& Q, const Tensor<2>& K, const KeyLists& keys,
                           CostCounter& counter);

/// Σ weight · v of each query over its listed keys: [query×d_v].
Tensor<2> mixtures_of_values(const Tensor<2>& weights, const Tensor<2>& V, const KeyLists& keys,
                             CostCounter& counter);

/// Records that the output of token first_query + i is computed from the keys of query i in one operation.
void record_operations(const KeyLists& keys, std::size_t first_query, CostCounter& counter);

/// The largest difference of an output from that of scaled dot-product attention under a mask [query×key].
double difference_from_masked(const VariantBench& on, const Tensor<2>& output, const Mask<2>& mask);

/// Claims that the output is that of scaled dot-product attention under a mask [query×key].
void claim_equals_masked(VariantBench& on, const std::string& id, const std::string& claim,
                         const Tensor<2>& output, const Mask<2>& mask);

/// Claims, in these words, that the fastest kernel of exact attention gives `VARIANT/output`, too.
void claim_equals_exact_kernel(VariantBench& on, const std::string& variant, const std::string& claim,
                               const Tensor<2>& output, const attn::fast::Visibility& visible);

/// The variants, in the order of the lesson. Each shows what it computes and what it leaves out, and claims
/// what it promises.
void show_local(VariantBench& on);
void show_sliding(VariantBench& on);
void show_sparse(VariantBench& on);
void show_linear(VariantBench& on);
void show_chunked(VariantBench& on);
void show_flash(VariantBench& on);
void show_linformer(VariantBench& on);
void show_performer(VariantBench& on);
void show_gqa(VariantBench& on);

}  // namespace lessons
