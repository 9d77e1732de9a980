/// Variants of attention that leave pairs of tokens out. What is left out is never computed.
/// Sources: local and sliding windows: Luong et al. 2015, section 3.2; Beltagy et al. 2020 (Longformer);
/// Jiang et al. 2023 (Mistral 7B). Sparse patterns: Child et al. 2019 (Sparse Transformer); Zaheer et al.
/// 2020 (Big Bird).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/efficient/mistakes.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

Tensor<2> weights_of_pairs(const Tensor<2>& Q, const Tensor<2>& K, const KeyLists& keys,
                           CostCounter& counter) {
  const double root = std::sqrt(static_cast<double>(K.shape(1)));
  Tensor<2> weights({keys.size(), K.shape(0)}, 0.0);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto scores = counter.matmul(attn::rows(K, keys[i]), attn::row(Q, i));
    const auto shares = attn::softmax(attn::divide(scores, root));
    for (std::size_t k = 0; k < keys[i].size(); ++k) weights(i, keys[i][k]) = shares(k);
  }
  return weights;
}

Tensor<2> mixtures_of_values(const Tensor<2>& weights, const Tensor<2>& V, const KeyLists& keys,
                             CostCounter& counter) {
  Tensor<2> output({keys.size(), V.shape(1)});
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto shares = Tensor<1>::from_shape({keys[i].size()});
    for (std::size_t k = 0; k < keys[i].size(); ++k) shares(k) = weights(i, keys[i][k]);
    const auto mixture = counter.matmul(shares, attn::rows(V, keys[i]));
    std::copy(mixture.begin(), mixture.end(), &output(i, 0));
  }
  return output;
}

void record_operations(const KeyLists& keys, std::size_t first_query, CostCounter& counter) {
  for (std::size_t i = 0; i < keys.size(); ++i) counter.output(counter.operation(keys[i]), first_query + i);
}

Tensor<2> sparse_attention(attn::Trace& trace, const AttentionWords& words, const Tensor<2>& Q,
                           const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys, CostCounter& counter,
                           std::size_t first_query, const OtherKeys& other_keys) {
  require_fitting("sparse_attention", Q, K, V);
  attn::require_listed("sparse_attention", keys, Q.shape(0), K.shape(0));
  const auto held = counter.hold(attn::pair_count(keys));
  auto [about_weights, about_output] = words;
  const attn::Known values = {std::string("V"), V};
  about_weights.worked =
      worked_weights_of_pairs(worked_pair_scores({"Q", Q}, {"K", K}), keys, K.shape(0), K.shape(1));
  const auto weights = trace.step(about_weights, weights_of_pairs(Q, K, keys, counter),
                                  mistakes_of_pair_weights(Q, K, keys, other_keys));
  about_output.worked = worked_mixtures(attn::Known{about_weights.id, weights}, values, keys);
  auto output = trace.step(about_output, mixtures_of_values(weights, V, keys, counter));
  record_operations(keys, first_query, counter);
  return output;
}

namespace {

/// A variant that is nothing but a choice of pairs.
struct Choice {
  std::string variant;
  std::string mask_title;
  std::string rule;               ///< which keys query i attends to
  std::vector<std::string> code;  ///< the same in NumPy: `V_mask` from i and j
  std::string claim_id;
  std::string claim;
  attn::WorkedOut worked{};  ///< the rule for query i and key j
  OtherKeys other_keys{};    ///< of classic mistakes
};

/// In the loop over the queries only the pairs of the mask are computed.
void show_pairs_code(VariantBench& on, const Choice& choice, const KeyLists& keys) {
  const bool sees_nothing =
      std::any_of(keys.begin(), keys.end(), [](const auto& of_query) { return of_query.empty(); });
  auto lines = choice.code;
  lines.insert(lines.begin(), {"n, d_k = Q.shape", "i, j = np.indices((n, n))"});
  lines.push_back(fmt::format("{}_weights = np.zeros((n, n))", choice.variant));
  lines.push_back("for query in range(n):");
  lines.push_back(fmt::format("    keys = np.flatnonzero({}_mask[query])", choice.variant));
  if (sees_nothing) lines.push_back("    if len(keys) == 0: continue");
  lines.push_back("    scaled = K[keys] @ Q[query] / np.sqrt(d_k)");
  lines.push_back(fmt::format("    {}_weights[query, keys] = softmax(scaled)", choice.variant));
  lines.push_back(fmt::format("{0}_output = {0}_weights @ V", choice.variant));
  show_code(on, choice.variant, lines);
}

/// The variant goes by the lists of keys; it is judged by the mask, which says the same in its own way.
/// Returns the output.
Tensor<2> show_choice(VariantBench& on, const Choice& choice, const KeyLists& keys, const Mask<2>& mask) {
  const auto pairs = attn::pair_count(keys), all = attn::pair_count(on.visible);
  auto note = fmt::format("{} of the {} pairs are computed, {} are left out.", pairs, all, all - pairs);
  if (std::any_of(keys.begin(), keys.end(), [](const auto& of_query) { return of_query.empty(); }))
    note += " A query that may look at nothing gets no weights and the output 0.";
  on.patterns.emplace_back(choice.variant, mask);
  show_pairs_code(on, choice, keys);
  on.bench.trace.step({.id = choice.variant + "/mask",
                       .title = choice.mask_title,
                       .formula = choice.rule,
                       .axes = {"query", "key"},
                       .note = note,
                       .worked = choice.worked},
                      mask, mistakes_of_pairs(choice.other_keys, on.n()));
  auto counter = on.counter();
  const auto output = sparse_attention(
      on.bench.trace,
      {.weights = {.id = choice.variant + "/weights",
                   .title = "Shares of the keys of the mask",
                   .formula = "softmax(qᵢ kⱼ / √d_k), j in the mask",
                   .from = {"Q", "K", choice.variant + "/mask"},
                   .axes = {"query", "key"},
                   .note =
                       "Shown as a square. In memory there are only the weights of the pairs of the mask: "
                       "a 0.0000 outside it is not stored.",
                   .distribution = true},
       .output = {.id = choice.variant + "/output",
                  .title = "Mixtures of the values of these keys",
                  .formula = choice.variant + "/weights V",
                  .from = {choice.variant + "/weights", "V"},
                  .axes = {"query", "d_v"}}},
      on.Q, on.K, on.V, keys, counter, 0, choice.other_keys);
  show_result(on, choice.variant,
              {.multiply_adds = fmt::format("{} pairs · (d_k + d_v)", pairs),
               .score_bytes = on.bytes_of(pairs, "scores"),
               .worked_multiply_adds = worked_pairs(on, pairs),
               .worked_score_bytes = worked_bytes(on, static_cast<double>(pairs))},
              output, counter.cost(), on.full);
  claim_equals_masked(on, choice.claim_id, choice.claim, output, mask);
  return output;
}

attn::Worked worked_place(std::size_t place) {
  return static_cast<double>(place);
}

/// |i − j| ≤ w, or 0 ≤ i − j ≤ w.
attn::WorkedOut worked_window(std::size_t w, bool causal) {
  return [=](const attn::Index& at) {
    const auto distance = worked_place(at[0]) - worked_place(at[1]);
    if (!causal) return attn::Worked::at_most(absolute(distance), worked_place(w));
    return attn::Worked::product(
        {attn::Worked::at_most(0.0, distance), attn::Worked::at_most(distance, worked_place(w))});
  };
}

/// 1 where x is a multiple of `of`.
attn::Worked worked_divides(const attn::Worked& of, const attn::Worked& x) {
  return attn::Worked::at_most(x / of, floor(x / of));
}

/// The rules of the patterns strided and fixed; the others follow none.
attn::WorkedOut worked_pattern(const std::string& pattern, std::size_t size, bool causal) {
  if (pattern != "strided" && pattern != "fixed") return {};
  return [=, is_strided = pattern == "strided"](const attn::Index& at) {
    const auto i = worked_place(at[0]), j = worked_place(at[1]), s = worked_place(size);
    const auto is_near = is_strided ? attn::Worked::less(absolute(i - j), s)
                                    : attn::Worked::at_most(absolute(floor(i / s) - floor(j / s)), 0.0);
    const auto is_far = worked_divides(s, is_strided ? absolute(i - j) : attn::Worked::sum({j, 1.0}));
    const auto is_computed = max(is_near, is_far);
    return causal ? attn::Worked::product({is_computed, attn::Worked::at_most(j, i)}) : is_computed;
  };
}

/// Of a variant whose mask is a window.
void claim_equals_window_kernel(VariantBench& on, const std::string& variant, const Tensor<2>& output,
                                const attn::fast::Visibility& visible) {
  claim_equals_exact_kernel(
      on, variant, "the fast kernel, which skips the tiles outside the window, gives the same output", output,
      visible);
}

void claim_equals_block_kernel(VariantBench& on, const Tensor<2>& output, const KeyLists& keys) {
  claim_equals_kernel(
      on.bench.trace,
      {.id = "sparse-equals-kernel",
       .claim = "the fast kernel, given the pattern in blocks of 1 × 1, gives the same output",
       .formula = "max |sparse/output − kernel {}(Q, K, V)|",
       .limit = rounding(on.bench.trace, on.magnitude)},
      attn::max_abs(on.V),
      attn::fast::block_sparse_attention(on.Q, on.K, on.V, {.block = 1, .key_blocks = keys}),
      [&](const auto& fast) { return attn::max_abs_difference(output, fast.output); });
}

/// The windows of classic mistakes: one key wider, one narrower, without the last key as range() leaves it
/// out, one that sees the next key, and none at all.
OtherKeys other_windows(const VariantBench& on, std::size_t before, std::size_t after) {
  const auto window = [&](std::size_t left, std::size_t right) {
    return attn::window_keys(on.n(), left, right);
  };
  OtherKeys windows = {{"window-off-by-one:wide", window(before + 1, after == 0 ? 0 : after + 1)},
                       {"mask-missing", on.visible}};
  if (before > 0)
    windows.emplace_back("window-off-by-one:narrow", window(before - 1, after == 0 ? 0 : after - 1));
  if (after > 0) windows.emplace_back("window-off-by-one:range", window(before, after - 1));
  if (after == 0) windows.emplace_back("mask-leaks-one", window(before, 1));
  return windows;
}

Mask<2> sparse_mask(const VariantBench& on) {
  const auto n = on.n(), block = *on.bench.options.block;
  const auto& pattern = *on.bench.options.pattern;
  const auto chosen = on.pattern_of_file     ? *on.pattern_of_file
                      : pattern == "strided" ? attn::strided_pattern(n, block)
                      : pattern == "fixed"   ? attn::fixed_pattern(n, block)
                                             : attn::random_pattern(on.bench.random("sparse/mask"), n, block);
  return attn::both(chosen, on.visible_mask());
}

/// What a pattern computes, and how it writes down the keys of query i.
std::pair<std::string, std::string> describe_pattern(const std::string& pattern, std::size_t block) {
  if (pattern == "strided")
    return {
        fmt::format(
            "The strided pattern of Sparse Transformers computes the keys fewer than {0} positions away, and "
            "beyond them the keys at a distance that {0} divides: near ones all, far ones at intervals.",
            block),
        fmt::format("|i − j| < {0} or {0} divides i − j", block)};
  if (pattern == "fixed")
    return {fmt::format("The fixed pattern of Sparse Transformers cuts the sequence into blocks of {0}. A "
                        "query attends to its own block, and to the last token of every block, which "
                        "collects the block for the others.",
                        block),
            fmt::format("⌊i / {0}⌋ = ⌊j / {0}⌋ or j mod {0} = {1}", block, block - 1)};
  if (pattern == "random")
    return {fmt::format("Each query attends to itself and to the first {} keys of a permutation of all, "
                        "drawn for it. Big Bird combines such pairs with a window and a few global tokens: "
                        "random pairs make short ways between any two tokens.",
                        block),
            fmt::format("i = j or j among permutation(n)[:{}]", block)};
  return {"The pattern comes from a file: row i says which keys query i attends to.", "as the file says"};
}

/// The pattern in NumPy: a rule for i and j, or the mask itself.
std::vector<std::string> pattern_code(const VariantBench& on, const Mask<2>& mask) {
  const auto& pattern = *on.bench.options.pattern;
  const auto block = *on.bench.options.block;
  std::vector<std::string> lines;
  if (pattern == "strided") {
    lines = {fmt::format("sparse_mask = (abs(i - j) < {0}) | ((i - j) % {0} == 0)", block)};
  } else if (pattern == "fixed") {
    lines = {fmt::format("sparse_mask = (i // {0} == j // {0}) | (j % {0} == {1})", block, block - 1)};
  } else {
    lines = {"rows = \"\"\""};
    for (std::size_t i = 0; i < mask.shape(0); ++i) {
      std::string row;
      for (std::size_t j = 0; j < mask.shape(1); ++j) row += mask(i, j) ? '1' : '0';
      lines.push_back(row);
    }
    lines.insert(lines.end(),
                 {"\"\"\"", "sparse_mask = np.array([list(row) for row in rows.split()]) == \"1\""});
  }
  if (on.causal()) lines.push_back("sparse_mask &= j <= i");
  return lines;
}

}  // namespace

void show_local(VariantBench& on) {
  const auto n = on.n(), w = *on.bench.options.window;
  const auto after = on.causal() ? 0 : w;
  on.bench.trace.note(
      "local/idea", "Local attention: only the neighbours",
      fmt::format("A query looks at the keys at most w = {} positions away, on both sides{}; at the ends of "
                  "the sequence there are fewer. Left out is whatever lies farther away, however well it "
                  "matches. In a stack of layers, what a word knows travels w positions a layer.",
                  w, on.causal() ? ", of which --causal leaves the one before it" : ""));
  const auto mask = attn::both(attn::window_mask(n, n, w), on.visible_mask());
  const auto output =
      show_choice(on,
                  {.variant = "local",
                   .mask_title = "The pairs of local attention: a band",
                   .rule = on.causal() ? fmt::format("0 ≤ i − j ≤ {}", w) : fmt::format("|i − j| ≤ {}", w),
                   .code = {on.causal() ? fmt::format("local_mask = (0 <= i - j) & (i - j <= {})", w)
                                        : fmt::format("local_mask = abs(i - j) <= {}", w)},
                   .claim_id = "local-equals-band-mask",
                   .claim = "local equals full attention in which a mask hides all but the near keys",
                   .worked = worked_window(w, on.causal()),
                   .other_keys = other_windows(on, w, after)},
                  attn::window_keys(n, w, after), mask);
  claim_equals_window_kernel(on, "local", output, {.causal = on.causal(), .window = w});
}

void show_sliding(VariantBench& on) {
  const auto n = on.n(), w = *on.bench.options.window;
  on.bench.trace.note(
      "sliding/idea", "Sliding window: a window that ends at the query",
      fmt::format(
          "The window of query i holds its own key and the w = {} before it. The next query has the same "
          "window, moved on by one; so windows overlap, and yet every query is answered once. This is local "
          "attention for a model that writes from left to right, and all that its cache has to keep is w + 1 "
          "keys. Left out is all that comes later, and all that is farther back.",
          w));
  const auto mask = attn::both(attn::window_mask(n, n, w), attn::causal_mask(n, n));
  const auto output =
      show_choice(on,
                  {.variant = "sliding",
                   .mask_title = "The pairs of the sliding window",
                   .rule = fmt::format("0 ≤ i − j ≤ {}", w),
                   .code = {fmt::format("sliding_mask = (0 <= i - j) & (i - j <= {})", w)},
                   .claim_id = "sliding-equals-band-mask",
                   .claim = "sliding windows equal full attention under the mask of the windows",
                   .worked = worked_window(w, true),
                   .other_keys = other_windows(on, w, 0)},
                  attn::window_keys(n, w, 0), mask);
  claim_equals_window_kernel(on, "sliding", output, {.causal = true, .window = w});
}

void show_sparse(VariantBench& on) {
  const auto& options = on.bench.options;
  const auto mask = sparse_mask(on);
  const auto keys = attn::keys_of(mask);
  const auto [idea, rule] = describe_pattern(*options.pattern, *options.block);
  on.bench.trace.note("sparse/idea", "Sparse attention: any set of pairs", idea);
  const auto output =
      show_choice(on,
                  {.variant = "sparse",
                   .mask_title = "The pairs of sparse attention: a pattern",
                   .rule = on.causal() ? "(" + rule + ") and j ≤ i" : rule,
                   .code = pattern_code(on, mask),
                   .claim_id = "sparse-equals-pattern-mask",
                   .claim = "sparse attention equals full attention under the pattern as a mask",
                   .worked = worked_pattern(*options.pattern, *options.block, on.causal()),
                   .other_keys = {{"mask-missing", on.visible}}},
                  keys, mask);
  claim_equals_block_kernel(on, output, keys);
}

}  // namespace lessons
