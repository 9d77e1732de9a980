/// Heads that share keys and values.
/// Sources: one key and value head for all: Shazeer 2019; one for each group, and how a finished model is
/// converted: Ainslie et al. 2023.

#include "attn/ops/heads.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attn/efficient/grouped_attention.hpp"
#include "attn/layers/attention.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/claims.hpp"

namespace lessons {

namespace {

std::string counted(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Q, K and V cut into heads, with all keys and values and with those of a group averaged.
struct Heads {
  Tensor<4> Q, K, V;
  Tensor<4> K_grouped, V_grouped;
};

Tensor<2> side_by_side(const Tensor<4>& heads) {
  return attn::sample(attn::merge_heads(heads), 0);
}

Heads show_heads(VariantBench& on) {
  auto& trace = on.bench.trace;
  const auto h = on.bench.heads(), h_kv = on.bench.kv_heads();
  Heads heads = {attn::split_heads(attn::as_batch(on.Q), h),
                    attn::split_heads(attn::as_batch(on.K), h),
                    attn::split_heads(attn::as_batch(on.V), h),
                    {},
                    {}};
  const auto grouped = [&](const char* id, const char* of, const char* d, const Tensor<4>& all) {
    return trace.step(
        {.id = fmt::format("gqa/{}", id),
         .title = fmt::format("The {} that each group shares", of),
         .formula = fmt::format("mean of the {} heads of {} in a group", h / h_kv, std::string(id, 1)),
         .from = {std::string(id, 1)},
         .axes = {"kv_head", "key", d}},
        attn::group_means(all, h_kv));
  };
  heads.K_grouped = grouped("K_grouped", "keys", "d_k", heads.K);
  heads.V_grouped = grouped("V_grouped", "values", "d_v", heads.V);
  return heads;
}

}  // namespace

void show_gqa(VariantBench& on) {
  const auto n = on.n(), h = on.bench.heads(), h_kv = on.bench.kv_heads(),
             pairs = attn::pair_count(on.visible);
  auto& trace = on.bench.trace;
  trace.note(
      "gqa/idea", "Grouped-query attention: heads that share keys and values",
      fmt::format("A model that writes keeps the keys and values of all earlier tokens in a cache, for every "
                  "head. With {0} query heads and {1} for keys and values, the cache is {2} times smaller; "
                  "query head i reads number ⌊i·{1}/{0}⌋. The scores stay as many as they were. One key and "
                  "value head for all is multi-query attention. Here Q, K and V are cut into {0} heads (see "
                  "the lesson multihead), and the keys and values of a group are averaged, as a finished "
                  "model is converted; then it is trained on. Left out is how the heads of a group differ. "
                  "It is measured against attention in which every query head has its own.",
                  h, h_kv, h / h_kv));
  const auto heads = show_heads(on);
  attn::Meter all_meter, meter;
  const auto all =
      side_by_side(attn::grouped_attention(heads.Q, heads.K, heads.V, on.visible, all_meter).output);
  trace.step({.id = "gqa/full",
              .title = "Attention with a key and value head for every query head",
              .formula = "the heads of softmax(Q Kᵀ / √d_k) V, side by side",
              .from = {"Q", "K", "V"},
              .axes = {"query", "head·d_v"}},
             all);
  const auto attention =
      attn::grouped_attention(heads.Q, heads.K_grouped, heads.V_grouped, on.visible, meter);
  trace.step({.id = "gqa/weights",
              .title = "The weights of each query head",
              .formula = "softmax(Q K_groupedᵀ / √d_k)",
              .from = {"Q", "gqa/K_grouped"},
              .axes = {"head", "query", "key"},
              .distribution = true},
             attention.weights);
  const auto output = side_by_side(attention.output);
  show_result(on, "gqa",
              {.output = {.title = "What the heads found, side by side",
                          .formula = "gqa/weights V_grouped",
                          .from = {"gqa/weights", "gqa/V_grouped"},
                          .axes = {"query", "head·d_v"}},
               .multiply_adds = fmt::format("{} · {} pairs · (d_k + d_v) / {}", counted(h, "head"), pairs, h),
               .score_bytes = bytes_of(h * pairs, "scores"),
               .reference = "gqa/full"},
              output, meter.work(), all);
  const auto cache = [](const Tensor<4>& K, const Tensor<4>& V) {
    return static_cast<std::int64_t>((K.size() + V.size()) * sizeof(double));
  };
  trace.step(
      {.id = "gqa/kv_bytes",
       .title = "The cache of keys and values",
       .formula = bytes_of(n, fmt::format("tokens · {} · (d_k + d_v) / {}", counted(h_kv, "head"), h)),
       .from = {"gqa/K_grouped", "gqa/V_grouped"},
       .note = fmt::format("With one for every query head it would take {}.", cache(heads.K, heads.V))},
      cache(heads.K_grouped, heads.V_grouped));
  const auto repeated = attn::scaled_dot_product_attention(heads.Q, attn::repeat_heads(heads.K_grouped, h),
                                                           attn::repeat_heads(heads.V_grouped, h),
                                                           {attn::repeat_mask(on.visible_mask(), 1)});
  trace.claim({.id = "gqa-equals-repeated-heads",
               .claim = "reading a shared head in place equals repeating it for its group",
               .formula = "max |heads − multihead(K and V repeated)|",
               .value = attn::max_abs_difference(attention.output, repeated.output),
               .limit = rounding(on.bench.trace, on.magnitude)});
  const auto fast = attn::fastest_attention(heads.Q, heads.K_grouped, heads.V_grouped,
                                            std::sqrt(static_cast<double>(heads.Q.shape(3))),
                                            {attn::repeat_mask(on.visible_mask(), 1)});
  claim_equals_kernel(on, "gqa",
                      "the fast kernel, whose heads read what they share in place, gives the same output",
                      output, {fast.kernel, side_by_side(fast.output)}, rounding(on.bench.trace, on.magnitude));
}


}  // namespace lessons
