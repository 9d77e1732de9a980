#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fast/fastest_attention.hpp"
#include "attn/efficient/key_lists.hpp"
#include "attn/efficient/meter.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What one way to attend took and how far it is from full attention.
struct VariantResult {
  std::string variant;
  attn::Work work;
  double error = 0.0;
};

/// What the variants of attention are shown on and measured against.
struct VariantBench {
  Workbench& bench;
  Tensor<2> Q, K, V;    ///< [query×d_k], [key×d_k], [key×d_v]
  attn::KeyLists visible;  ///< the pairs of full attention: all, or none that look ahead
  Tensor<2> full;       ///< its output, [query×d_v]
  double magnitude;        ///< of what rounding is relative to
  std::optional<Mask<2>> pattern_of_file;  ///< for sparse attention, [query×key]
  std::vector<VariantResult> shown;                ///< full attention and the variants so far

  std::size_t n() const { return Q.shape(0); }
  bool causal() const { return bench.options.causal; }

  /// `visible` as a mask [query×key].
  Mask<2> visible_mask() const { return attn::mask_of(visible, n()); }
};

/// How a variant computed its output and what it took, in words.
struct ResultWords {
  attn::About output;         ///< without its id; that is VARIANT/output
  std::string multiply_adds;  ///< the sum that gives the number of multiply-adds
  std::string score_bytes;    ///< what was held
  std::string reference = "full/output";
};

/// Shows `VARIANT/output`, `/error` against `reference`, `/multiply_adds` and `/score_bytes`, and keeps them
/// for the comparison. An error that rounding alone explains is shown as 0.
void show_result(VariantBench& on, const std::string& variant, const ResultWords& words,
                 const Tensor<2>& output, const attn::Work& work, const Tensor<2>& reference);

/// The largest |x − y|, or 0 where that is at most `negligible`.
double error_beyond(double negligible, const Tensor<2>& x, const Tensor<2>& y);

/// Claims that the output is that of scaled dot-product attention under a mask [query×key].
void claim_equals_masked(VariantBench& on, const std::string& id, const std::string& claim,
                         const Tensor<2>& output, const Mask<2>& mask);

/// Claims, in these words, that a kernel of `attnlab bench` gives `VARIANT/output`, too.
void claim_equals_kernel(VariantBench& on, const std::string& variant, const std::string& claim,
                         const Tensor<2>& output, const attn::KernelOutput<2>& fast,
                         const attn::Limit& limit);

/// The same of the fastest kernel of exact attention, under a mask [query×key].
void claim_equals_exact_kernel(VariantBench& on, const std::string& variant, const std::string& claim,
                               const Tensor<2>& output, const Mask<2>& mask);

/// "34 scores · 8 bytes".
std::string bytes_of(std::size_t count, const std::string& what);

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
