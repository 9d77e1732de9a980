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
template <class T>
struct VariantBench {
  Workbench<T>& bench;
  Tensor<T, 2> Q, K, V;    ///< [query×d_k], [key×d_k], [key×d_v]
  attn::KeyLists visible;  ///< the pairs of full attention: all, or none that look ahead
  Tensor<T, 2> full;       ///< its output, [query×d_v]
  double magnitude;        ///< of what rounding is relative to
  std::optional<Tensor<bool, 2>> pattern_of_file;  ///< for sparse attention, [query×key]
  std::vector<VariantResult> shown;                ///< full attention and the variants so far

  std::size_t n() const { return Q.shape(0); }
  bool causal() const { return bench.options.causal; }

  /// `visible` as a mask [query×key].
  Tensor<bool, 2> visible_mask() const { return attn::mask_of(visible, n()); }
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
template <class T>
void show_result(VariantBench<T>& on, const std::string& variant, const ResultWords& words,
                 const Tensor<T, 2>& output, const attn::Work& work, const Tensor<T, 2>& reference);

/// The largest |x − y|, or 0 where that is at most `negligible`.
template <class T>
double error_beyond(double negligible, const Tensor<T, 2>& x, const Tensor<T, 2>& y);

/// Claims that the output is that of scaled dot-product attention under a mask [query×key].
template <class T>
void claim_equals_masked(VariantBench<T>& on, const std::string& id, const std::string& claim,
                         const Tensor<T, 2>& output, const Tensor<bool, 2>& mask);

/// Claims, in these words, that a kernel of `attnlab bench` gives `VARIANT/output`, too.
template <class T>
void claim_equals_kernel(VariantBench<T>& on, const std::string& variant, const std::string& claim,
                         const Tensor<T, 2>& output, const attn::KernelOutput<T, 2>& fast,
                         const attn::Limit& limit);

/// The same of the fastest kernel of exact attention, under a mask [query×key].
template <class T>
void claim_equals_exact_kernel(VariantBench<T>& on, const std::string& variant, const std::string& claim,
                               const Tensor<T, 2>& output, const Tensor<bool, 2>& mask);

/// "34 scores · 8 bytes".
template <class T>
std::string bytes_of(std::size_t count, const std::string& what);

/// The variants, in the order of the lesson. Each shows what it computes and what it leaves out, and claims
/// what it promises.
template <class T>
void show_local(VariantBench<T>& on);
template <class T>
void show_sliding(VariantBench<T>& on);
template <class T>
void show_sparse(VariantBench<T>& on);
template <class T>
void show_linear(VariantBench<T>& on);
template <class T>
void show_chunked(VariantBench<T>& on);
template <class T>
void show_flash(VariantBench<T>& on);
template <class T>
void show_linformer(VariantBench<T>& on);
template <class T>
void show_performer(VariantBench<T>& on);
template <class T>
void show_gqa(VariantBench<T>& on);

}  // namespace lessons
