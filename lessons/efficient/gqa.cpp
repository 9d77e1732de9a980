/// Heads that share keys and values.
/// Sources: one key and value head for all: Shazeer 2019; one for each group, and how a finished model is
/// converted: Ainslie et al. 2023.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/efficient/mistakes.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/worked.hpp"

namespace lessons {

namespace {

/// One head of one sample of [batch×head×n×d]: [n×d].
Tensor<2> matrix(const Tensor<4>& heads, std::size_t sample, std::size_t head) {
  return attn::sample(attn::head(heads, head), sample);
}

}  // namespace

Tensor<3> grouped_attention(attn::Trace& trace, const AttentionWords& words, const Tensor<4>& Q,
                            const Tensor<4>& K, const Tensor<4>& V, const KeyLists& keys,
                            CostCounter& counter) {
  require_fitting("grouped_attention", Q, K, V);
  const auto batch = Q.shape(0), h = Q.shape(1), h_kv = K.shape(1), n_q = Q.shape(2), n_k = K.shape(2);
  if (h_kv == 0 || h % h_kv != 0)
    throw attn::shape_mismatch("grouped_attention", "Q", Q, "K", K,
                               "the key and value heads must divide the heads");
  attn::require_listed("grouped_attention", keys, n_q, n_k);

  const auto held = counter.hold(batch * h * attn::pair_count(keys));
  const auto kv_head = [=](std::size_t i) { return i * h_kv / h; };
  const auto tiled = [=](std::size_t i) { return i % h_kv; };
  const auto weights_of_heads = [&](const Tensor<4>& queries, auto kv_head_of, CostCounter& counted) {
    Tensor<4> weights({batch, h, n_q, n_k});
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t i = 0; i < h; ++i) {
        const auto of_head =
            weights_of_pairs(matrix(queries, b, i), matrix(K, b, kv_head_of(i)), keys, counted);
        std::copy(of_head.begin(), of_head.end(), &weights(b, i, 0, 0));
      }
    return weights;
  };
  auto mistakes = mistakes_of_scale(K.shape(3), [&](double factor) {
    CostCounter uncounted;
    return weights_of_heads(attn::divide(Q, 1.0 / factor), kv_head, uncounted);
  });
  mistakes.emplace_back("gqa-tile", [&] {
    CostCounter uncounted;
    return weights_of_heads(Q, tiled, uncounted);
  });
  const auto weights = trace.step(words.weights, weights_of_heads(Q, kv_head, counter), mistakes);
  auto about_output = words.output;
  about_output.worked = [&, shares = attn::Known<4>{words.weights.id, weights}](const attn::Index& at) {
    const std::size_t width = V.shape(3), i = at[2] / width;
    std::vector<attn::Worked> products;
    for (const auto j : keys[at[1]])
      products.push_back(attn::Worked::product(
          {shares({at[0], i, at[1], j}),
           attn::Known<4>{"gqa/V_grouped", V}({at[0], i * h_kv / h, j, at[2] % width})}));
    return products.empty() ? attn::Worked(0.0) : attn::Worked::sum(std::move(products));
  };
  const auto mixtures_of_heads = [&](auto kv_head_of, CostCounter& counted) {
    Tensor<4> output({batch, h, n_q, V.shape(3)});
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t i = 0; i < h; ++i) {
        const auto of_head =
            mixtures_of_values(matrix(weights, b, i), matrix(V, b, kv_head_of(i)), keys, counted);
        std::copy(of_head.begin(), of_head.end(), &output(b, i, 0, 0));
        record_operations(keys, 0, counted);
      }
    return output;
  };
  return trace.step(about_output, attn::merge_heads(mixtures_of_heads(kv_head, counter)),
                    {{"gqa-tile", [&] {
                        CostCounter uncounted;
                        return attn::merge_heads(mixtures_of_heads(tiled, uncounted));
                      }}});
}

Tensor<4> group_means(const Tensor<4>& heads, std::size_t kv_heads) {
  const auto [batch, count, n, d] = heads.shape();
  if (kv_heads == 0 || count % kv_heads != 0)
    throw std::invalid_argument(
        fmt::format("[group_means] {} heads cannot be cut into {} groups of one size", count, kv_heads));
  const std::size_t size = count / kv_heads;
  Tensor<4> means({batch, kv_heads, n, d}, 0.0);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < count; ++h)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < d; ++c) means(b, h / size, i, c) += heads(b, h, i, c);
  means /= static_cast<double>(size);
  return means;
}

namespace {

/// The mean over the heads of a group, which are columns of x [n×head·d].
attn::WorkedOut worked_group_means(attn::Known<2> x, std::size_t heads, std::size_t kv_heads) {
  return [=, width = x.tensor.shape(1) / heads, size = heads / kv_heads](const attn::Index& at) {
    std::vector<attn::Worked> of_group;
    for (std::size_t i = at[1] * size; i < (at[1] + 1) * size; ++i)
      of_group.push_back(x({at[2], i * width + at[3]}));
    return mean_of(std::move(of_group));
  };
}

/// q · k / √d_k for head i, whose numbers of the query are columns of Q.
template <class Key>
attn::Worked worked_head_score(const VariantBench& on, std::size_t heads, std::size_t i, std::size_t query,
                               Key key) {
  const std::size_t width = on.Q.shape(1) / heads;
  const attn::Known Q = {std::string("Q"), on.Q};
  std::vector<attn::Worked> products;
  for (std::size_t k = 0; k < width; ++k)
    products.push_back(attn::Worked::product({Q({query, i * width + k}), key(k)}));
  return attn::Worked::sum(std::move(products)) / sqrt(attn::Worked(static_cast<double>(width)));
}

attn::WorkedOut worked_full_heads(const VariantBench& on, std::size_t heads) {
  return worked_of(4 * on.n() * on.K.shape(1), [&on, heads](const attn::Index& at) {
    const std::size_t width_k = on.K.shape(1) / heads, i = at[2] / (on.V.shape(1) / heads);
    const attn::Known K = {std::string("K"), on.K};
    const auto scores = [&](const attn::Index& pair) {
      return worked_head_score(on, heads, i, pair[0], [&](std::size_t k) {
        return K({pair[1], i * width_k + k});
      });
    };
    return worked_attention(scores, attn::Known{std::string("V"), on.V}, on.visible, width_k)({at[1], at[2]});
  });
}

attn::WorkedOut worked_grouped_weights(const VariantBench& on, const Tensor<4>& K_grouped,
                                       std::size_t heads) {
  const auto scores = [&on, &K_grouped, heads](const attn::Index& at) {
    return worked_head_score(on, heads, at[1], at[2], [&](std::size_t k) {
      return attn::Known<4>{"gqa/K_grouped",
                            K_grouped}({at[0], at[1] * K_grouped.shape(1) / heads, at[3], k});
    });
  };
  return worked_weights_of_pairs(scores, on.visible, on.n(), K_grouped.shape(3));
}

}  // namespace

void show_gqa(VariantBench& on) {
  const auto n = on.n(), h = on.bench.heads(), h_kv = on.bench.kv_heads(),
             pairs = attn::pair_count(on.visible);
  const auto counted = [](std::size_t count) {
    return fmt::format("{} head{}", count, count == 1 ? "" : "s");
  };
  auto& trace = on.bench.trace;
  trace.note("gqa/idea", "Grouped-query attention: heads that share keys and values",
             fmt::format(
                 "A model that writes keeps the keys and values of all earlier tokens in a cache, for every "
                 "head (lesson generate). With {0} query heads and {1} for keys and values, the cache is {2} "
                 "times smaller; query head i reads number ⌊i·{1}/{0}⌋. There are as many scores as before. "
                 "Here the keys and values of a group of heads are averaged, as a trained model is converted "
                 "before it is trained further. It is measured against attention in which every query head "
                 "has its own.",
                 h, h_kv, h / h_kv));
  std::vector<std::string> code = {
      fmt::format("n, heads, groups = len(Q), {}, {}", h, h_kv),
      "def split(x):",
      "    return x.reshape(n, heads, -1).swapaxes(0, 1)",
      "def grouped(x):",
      "    return split(x).reshape(groups, heads // groups, n, -1).mean(axis=1)",
      "",
      "gqa_K_grouped, gqa_V_grouped = grouped(K), grouped(V)",
      "group = np.arange(heads) * groups // heads       # which one a head reads",
      "scaled = split(Q) @ gqa_K_grouped[group].swapaxes(1, 2)",
      "scaled = scaled / np.sqrt(Q.shape[1] // heads)"};
  if (on.causal()) code.push_back("scaled = np.where(np.tri(n, dtype=bool), scaled, -np.inf)");
  code.insert(code.end(), {"gqa_weights = softmax(scaled)",
                           "heads_side_by_side = (gqa_weights @ gqa_V_grouped[group]).swapaxes(0, 1)",
                           "gqa_output = heads_side_by_side.reshape(n, -1)",
                           fmt::format("gqa_kv_bytes = {} * (gqa_K_grouped.size + gqa_V_grouped.size)",
                                       attn::item_size(trace.dtype()))});
  show_code(on, "gqa", code);
  const auto Q = attn::split_heads(attn::as_batch(on.Q), h), K = attn::split_heads(attn::as_batch(on.K), h),
             V = attn::split_heads(attn::as_batch(on.V), h);
  const auto K_grouped = trace.step({.id = "gqa/K_grouped",
                                     .title = "The keys that each group shares",
                                     .formula = fmt::format("mean of the {} heads of K in a group", h / h_kv),
                                     .from = {"K"},
                                     .axes = {"kv_head", "key", "d_k"},
                                     .worked = worked_group_means({"K", on.K}, h, h_kv)},
                                    group_means(K, h_kv));
  const auto V_grouped = trace.step({.id = "gqa/V_grouped",
                                     .title = "The values that each group shares",
                                     .formula = fmt::format("mean of the {} heads of V in a group", h / h_kv),
                                     .from = {"V"},
                                     .axes = {"kv_head", "key", "d_v"},
                                     .worked = worked_group_means({"V", on.V}, h, h_kv)},
                                    group_means(V, h_kv));

  auto mute = trace.mute();
  auto uncounted = on.counter(), counter = on.counter();
  const auto full = trace.step({.id = "gqa/full",
                                .title = "Attention with a key and value head for every query head",
                                .formula = "the heads of softmax(Q Kᵀ / √d_k) V, side by side",
                                .from = {"Q", "K", "V"},
                                .axes = {"query", "head·d_v"},
                                .worked = worked_full_heads(on, h)},
                               grouped_attention(mute, {}, Q, K, V, on.visible, uncounted));
  const auto output = grouped_attention(trace,
                                        {.weights = {.id = "gqa/weights",
                                                     .title = "The weights of each query head",
                                                     .formula = "softmax(Q K_groupedᵀ / √d_k)",
                                                     .from = {"Q", "gqa/K_grouped"},
                                                     .axes = {"head", "query", "key"},
                                                     .distribution = true,
                                                     .worked = worked_grouped_weights(on, K_grouped, h)},
                                         .output = {.id = "gqa/output",
                                                    .title = "The outputs of the heads, side by side",
                                                    .formula = "gqa/weights V_grouped",
                                                    .from = {"gqa/weights", "gqa/V_grouped"},
                                                    .axes = {"query", "head·d_v"}}},
                                        Q, K_grouped, V_grouped, on.visible, counter);
  show_result(
      on, "gqa",
      {.multiply_adds = fmt::format("{} · {} pairs · (d_k + d_v) / {}", counted(h), pairs, h),
       .score_bytes = on.bytes_of(h * pairs, "scores"),
       .reference = "gqa/full",
       .worked_multiply_adds = attn::Worked::product({static_cast<double>(h), worked_pairs(on, pairs)}) /
                               attn::Worked(static_cast<double>(h)),
       .worked_score_bytes =
           worked_bytes(on, attn::Worked::product({static_cast<double>(h), static_cast<double>(pairs)}))},
      attn::sample(output, 0), counter.cost(), attn::sample(full, 0));

  const auto cache = [&](const Tensor<4>& keys, const Tensor<4>& values) {
    return static_cast<std::int64_t>((keys.size() + values.size()) * attn::item_size(trace.dtype()));
  };
  trace.step({.id = "gqa/kv_bytes",
              .title = "The cache of keys and values",
              .formula = on.bytes_of(n, fmt::format("tokens · {} · (d_k + d_v) / {}", counted(h_kv), h)),
              .from = {"gqa/K_grouped", "gqa/V_grouped"},
              .note = fmt::format("With one for every query head it would take {}.", cache(K, V)),
              .worked = worked_number_of(
                  worked_bytes(on, attn::Worked::product({static_cast<double>(h_kv), worked_pairs(on, n)}) /
                                       attn::Worked(static_cast<double>(h))))},
             cache(K_grouped, V_grouped));

  auto mute_bench = on.bench.mute();
  const auto mask = attn::repeat_mask(on.visible_mask(), 1);
  const auto repeated = scaled_dot_product_attention<4>(mute_bench, Q, attn::repeat_heads(K_grouped, h),
                                                        attn::repeat_heads(V_grouped, h), mask);
  trace.claim({.id = "gqa-equals-repeated-heads",
               .claim = "reading a shared head in place equals repeating it for its group",
               .formula = "max |heads − multihead(K and V repeated)|",
               .value = attn::max_abs_difference(output, attn::merge_heads(repeated.output)),
               .limit = rounding(trace, on.magnitude)});
  const double divisor = std::sqrt(static_cast<double>(Q.shape(3)));
  claim_equals_kernel(
      trace,
      {.id = "gqa-equals-kernel",
       .claim = "the fast kernel, which does not copy shared keys and values, gives the same output",
       .formula = "max |gqa/output − kernel {}(Q, K, V)|",
       .limit = rounding(trace, on.magnitude)},
      attn::max_abs(on.V), attn::fast::attention(Q, K_grouped, V_grouped, divisor, {.causal = on.causal()}),
      [&](const auto& fast) { return attn::max_abs_difference(output, attn::merge_heads(fast.output)); });
}

}  // namespace lessons
