/// Encodings that put distances into the scores. Sources: Shaw et al. 2018, "Self-Attention with Relative
/// Position Representations"; Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified
/// Text-to-Text Transformer", section 2.1; Press et al. 2022, "Train Short, Test Long".

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "attn/ops/positional_bias.hpp"
#include "attn/ops/positional_relative.hpp"
#include "lessons/positional/encodings.hpp"
#include "lessons/positional/measure.hpp"
#include "lessons/positional/mistakes.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

attn::Index pair_in_head_0(const Workbench& bench) {
  auto pair = pair_to_follow(bench);
  pair.insert(pair.begin(), 0);
  return pair;
}

constexpr std::size_t clipping_distance = 4;
constexpr std::size_t heads_for_a_curve = 4;

/// "-4", "0", "+4".
std::string signed_number(std::int64_t number) {
  if (number == 0) return "0";
  return (number < 0 ? "-" : "+") + fmt::format("{}", std::abs(number));
}

attn::AxisLabels distance_labels() {
  std::vector<std::string> labels;
  const auto most = static_cast<std::int64_t>(clipping_distance);
  for (auto distance = -most; distance <= most; ++distance) labels.push_back(signed_number(distance));
  return {{labels}};
}

/// For each of T5's buckets the distances that it holds: "-3", "-8…-11", "-91…", "none".
attn::AxisLabels bucket_labels() {
  constexpr std::int64_t farthest = 128;
  std::vector<std::string> labels(attn::t5_bucket_count, "none");
  for (const std::int64_t direction : {-1, 1})
    for (std::int64_t first = 0; first <= farthest;) {
      const auto bucket = attn::t5_bucket(direction * first);
      auto last = first;
      while (last < farthest && attn::t5_bucket(direction * (last + 1)) == bucket) ++last;
      auto& label = labels[static_cast<std::size_t>(bucket)];
      label = signed_number(direction * first);
      if (last == farthest) label += "…";
      if (last != first && last != farthest) label += "…" + signed_number(direction * last);
      first = last + 1;
    }
  return {{labels}};
}

/// The distances at which T5 changes the bucket, and two beyond.
constexpr std::int64_t growing_distances[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91, 128, 256};

void show_growth_of_buckets(attn::Trace& trace) {
  std::vector<std::string> distances;
  auto buckets = Integers<1>::from_shape({std::size(growing_distances)});
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    distances.push_back(fmt::format("{}", growing_distances[i]));
    buckets(i) = attn::t5_bucket(-growing_distances[i]);
  }
  trace.label("position", {{distances}});
  trace.step(
      {.id = "growth",
       .title = "The bucket of a key that stands so many words back",
       .formula = "d < 8: d\nd ≥ 8: 8 + ⌊8 · log(d / 8) / log(128 / 8)⌋, at most 15",
       .axes = {"position"},
       .note = "Near words are told apart exactly, far ones only roughly, and whatever is 91 words away or "
               "more is in the last bucket.",
       .curve = true,
       .worked = [](const attn::Index& at) { return attn::worked_t5_bucket(-growing_distances[at[0]]); }},
      buckets);
  trace.label("position", {});
}

std::string note_on_slopes(std::size_t heads) {
  if (heads == 1) return "The only head has the slope 2⁻⁸: distance hardly changes its scores.";
  const std::string note = "The last head has the slope 2⁻⁸: distance hardly changes its scores.";
  const bool is_power_of_two = (heads & (heads - 1)) == 0;
  if (is_power_of_two) return note;
  return note +
         " Where the number of heads is no power of two, as here, the authors' program takes slopes between "
         "those of the powers next to it instead.";
}

std::vector<std::string> relative_code(std::size_t d) {
  return {"i, j = np.indices((len(X), len(X)))",
          fmt::format("relative_distances   = np.clip(j - i, -{0}, {0})", clipping_distance),
          "relative_by_distance = X @ relative_keys.T",
          fmt::format("from_distance        = relative_by_distance[i, relative_distances + {}]",
                      clipping_distance),
          fmt::format("relative_scores      = (X @ X.T + from_distance) / np.sqrt({})", d)};
}

std::vector<std::string> t5_code() {
  return {"i, j = np.indices(without_scores.shape)",
          "distance   = np.abs(j - i)",
          "growth     = np.log2(np.maximum(distance, 8) / 8) / np.log2(128 / 8)",
          "far        = np.minimum(8 + (8 * growth).astype(int), 15)",
          "t5_buckets = np.where(distance < 8, distance, far) + 16 * (j > i)",
          "t5_bias    = t5_table[t5_buckets].transpose(2, 0, 1)",
          "t5_scores  = without_scores + t5_bias"};
}

Integers<2> show_distances(Workbench& bench, std::size_t n) {
  return bench.trace.step(
      {.id = "distances",
       .title = "How far behind the query the key stands",
       .formula = "clip(j − i, −4, 4)",
       .axes = {"query", "key"},
       .note = n > clipping_distance + 1
                   ? "Positive to the right, negative to the left. Everything beyond 4 counts as 4."
                   : "Positive to the right, negative to the left. No distance is so large in this "
                     "sentence, but everything beyond 4 would count as 4.",
       .worked =
           [](const attn::Index& at) {
             constexpr auto limit = static_cast<double>(clipping_distance);
             const attn::Worked i = static_cast<double>(at[0]), j = static_cast<double>(at[1]);
             return max(-limit, min(limit, j - i));
           }},
      attn::clipped_distances(n, clipping_distance), mistakes_of_distances(n, [](std::int64_t distance) {
        constexpr auto limit = static_cast<std::int64_t>(clipping_distance);
        return std::clamp(distance, -limit, limit);
      }));
}

/// Each query meets the vector of each distance once (Shaw et al., equation 5), not once for every pair.
Tensor<3> relative_scores(Workbench& bench, const Tensor<3>& X, const Integers<2>& distances,
                          const Tensor<2>& keys) {
  const std::size_t batch = X.shape(0), n = X.shape(1), d = X.shape(2);
  auto& trace = bench.trace;
  const auto by_distance = trace.step(
      {.id = "by_distance",
       .title = "Each word with the vector of each distance",
       .formula = "X keysᵀ",
       .from = {"X", "keys"},
       .axes = {"query", "bucket"},
       .note = fmt::format("xᵢ · (xⱼ + a) = xᵢ · xⱼ + xᵢ · a, so each query meets each of the {} vectors "
                           "once (Shaw et al., equation 5): {} multiply-adds on top of the {} of X Xᵀ.",
                           keys.shape(0), batch * n * keys.shape(0) * d, batch * n * n * d),
       .worked =
           [&](const attn::Index& at) {
             std::vector<attn::Worked> products;
             for (std::size_t k = 0; k < d; ++k)
               products.push_back(attn::Worked::product(
                   {attn::Known<3>{"X", X}({at[0], at[1], k}), attn::Known<2>{"keys", keys}({at[2], k})}));
             return attn::Worked::sum(std::move(products));
           }},
      attn::linear(X, attn::transpose(keys)));

  const auto from_distance = attn::at_distances(by_distance, distances);
  return trace.step({.id = "scores",
                     .title = "Scores of words at their distances",
                     .formula = "(xᵢ · xⱼ + by_distance[i, distances[i, j]]) / √d",
                     .from = {"X", "by_distance", "distances"},
                     .axes = {"query", "key"},
                     .worked =
                         [&](const attn::Index& at) {
                           const attn::Known<3> x = {"X", X}, of_distance = {"by_distance", by_distance};
                           const auto bucket = static_cast<std::size_t>(
                               distances(at[1], at[2]) + static_cast<std::int64_t>(clipping_distance));
                           const auto score = attn::worked_matmul_transposed(x, x)(at);
                           return attn::Worked::sum({score, of_distance({at[0], at[1], bucket})}) /
                                  sqrt(attn::Worked(static_cast<double>(d)));
                         },
                     .worked_at = pair_to_follow(bench)},
                    attn::divide(attn::add(attn::matmul(X, attn::transpose(X)), from_distance),
                                 std::sqrt(static_cast<double>(d))),
                    mistakes_of_relative_scores(X, from_distance));
}

/// Scores [batch×head×query×key] with T5's bias, from the scores `without` positions [batch×query×key].
Tensor<4> t5_scores(Workbench& bench, const Tensor<3>& without, const Tensor<2>& table) {
  auto& trace = bench.trace;
  const auto buckets = trace.step(
      {.id = "buckets",
       .title = "The bucket of each pair of words",
       .formula = "bucket(j − i)",
       .axes = {"query", "key"},
       .note = "Row by row: 0 on the diagonal, left of it the words before the query, right of it, from 17 "
               "on, the words after it.",
       .worked =
           [](const attn::Index& at) {
             return attn::worked_t5_bucket(static_cast<std::int64_t>(at[1]) -
                                           static_cast<std::int64_t>(at[0]));
           }},
      attn::t5_buckets(without.shape(1)), mistakes_of_distances(without.shape(1), attn::t5_bucket));
  const auto of_buckets = attn::t5_bias(table, buckets);
  const auto bias = trace.step({.id = "bias",
                                .title = "What is added to the scores",
                                .formula = "table[buckets, h]",
                                .from = {"table", "buckets"},
                                .axes = {"head", "query", "key"},
                                .worked = attn::worked_t5_bias({"table", table}, buckets),
                                .worked_at = pair_in_head_0(bench)},
                               of_buckets, mistakes_of_t5_bias(of_buckets));
  return trace.step({.id = "scores",
                     .title = "Scores with the bias of T5",
                     .formula = "without/scores + bias",
                     .from = {"without/scores", "bias"},
                     .axes = {"head", "query", "key"},
                     .worked = attn::worked_add_bias({"without/scores", without}, {"bias", bias}),
                     .worked_at = pair_in_head_0(bench)},
                    attn::add_bias(without, bias), mistakes_of_bias(without, bias, bench.d_model()));
}

/// The same with ALiBi's.
Tensor<4> alibi_scores(Workbench& bench, const Tensor<3>& without, std::size_t heads) {
  auto& trace = bench.trace;
  const auto slopes =
      trace.step({.id = "slopes",
                  .title = "What one step away costs each head",
                  .formula = fmt::format("2^(−8h / heads) = 2^(−8h / {}),  h = 1, …, {}", heads, heads),
                  .axes = {"head"},
                  .note = note_on_slopes(heads),
                  .curve = heads >= heads_for_a_curve,
                  .worked = attn::worked_alibi_slopes(heads)},
                 attn::alibi_slopes(heads), mistakes_of_slopes(heads));
  const auto bias = trace.step(
      {.id = "bias",
       .title = "What distance costs",
       .formula = "−slopeₕ · |i − j|",
       .from = {"slopes"},
       .axes = {"head", "query", "key"},
       .note = "The paper's models write from left to right, so they have the lower left half only. Without "
               "a causal mask both sides look the same.",
       .worked = attn::worked_alibi_bias({"slopes", slopes}),
       .worked_at = pair_in_head_0(bench)},
      attn::alibi_bias(slopes, without.shape(1)), mistakes_of_alibi_bias(slopes, without.shape(1)));
  return trace.step({.id = "scores",
                     .title = "Scores with the bias of ALiBi",
                     .formula = "without/scores + bias",
                     .from = {"without/scores", "bias"},
                     .axes = {"head", "query", "key"},
                     .note = "Added after the division by √d, so that the slopes mean the same for "
                             "every d.",
                     .worked = attn::worked_add_bias({"without/scores", without}, {"bias", bias}),
                     .worked_at = pair_in_head_0(bench)},
                    attn::add_bias(without, bias), mistakes_of_bias(without, bias, bench.d_model()));
}

/// Compares the scores of the same pairs of words, `backwards` those of the sentences in another order.
void claim_mirror(attn::Trace& trace, const Tensor<4>& scores, const Tensor<4>& backwards,
                  const attn::RowOrder& order) {
  trace.claim({.id = "mirror",
               .claim = "a sentence read backwards has the same scores: ALiBi knows how far, not which way",
               .formula = "max |scores(X backwards) − scores|, of the same pairs of words",
               .value = change_by_order(scores, backwards, order),
               .limit = rounding(trace, attn::max_abs(scores))});
}

}  // namespace

Encoding show_relative(Workbench& bench, const PositionalInputs& in) {
  const std::size_t n = in.X.shape(1), d = in.X.shape(2), rows = 2 * clipping_distance + 1;
  auto& trace = bench.trace;

  return trace.within("relative", [&] {
    trace.note(
        "idea", "Relative: a vector for each distance",
        "What matters is rarely where two words stand but how far apart. So each distance has a learned "
        "vector, which is added to the key when a query looks that far. Beyond 4 words, all distances share "
        "one. Shaw et al. add a second table to the values (their equation 3), which is left out here.",
        "scores(i, j) = xᵢ · (xⱼ + keys[clip(j − i, −4, 4)]) / √d");
    const auto distances = show_distances(bench, n);
    trace.label("bucket", distance_labels());
    const auto keys =
        bench.input<2>({.id = "keys",
                        .title = "A vector for each distance",
                        .note = "Learned; drawn at random here. All that stand in the same distance "
                                "share one, so a sentence may have any length."},
                       {rows, d});
    show_code(bench, "Relative", in.mask, relative_code(d));
    const auto scores = relative_scores(bench, in.X, distances, keys);
    show_weights(bench, scores, in.mask, "");

    return Encoding{
        .name = "relative",
        .change = "key + a trained vector for the distance",
        .parameters = static_cast<double>(rows * d),
        .scores = of_one_head(scores),
        .scores_of =
            [&bench, keys](const Tensor<3>& tokens) {
              auto mute = bench.mute();
              return of_one_head(relative_scores(mute, tokens, show_distances(mute, tokens.shape(1)), keys));
            },
        .is_relative = true,
        .certain_change = bench.options.embeddings ? 0.0 : certain_change_of(keys),
        .claim_property = [] {}};
  });
}

Encoding show_t5(Workbench& bench, const PositionalInputs& in) {
  const std::size_t heads = bench.heads();

  auto& trace = bench.trace;

  return trace.within("t5", [&] {
    trace.note("idea", "T5: a number for each distance",
               "One learned number for each distance and head is added to the score. It does not depend on "
               "the words. Distances share 32 buckets, 16 in each direction. Real heads have scores of their "
               "own; here all start from without/scores, so that they differ by the bias alone. T5 does not "
               "divide by √d, but draws W_Q that much smaller instead.",
               "scores(h, i, j) = xᵢ · xⱼ / √d + table[bucket(j − i), h]");
    trace.label("bucket", bucket_labels());
    const auto table =
        bench.input<2>({.id = "table",
                        .title = "What each distance is worth to each head",
                        .note = "Learned; drawn at random here. Each row is named after the distances "
                                "that it is for. No distance leads to bucket 16: it would be the "
                                "distance 0 to the right, and 0 counts as left."},
                       {attn::t5_bucket_count, heads});
    trace.label("bucket", {});

    show_growth_of_buckets(trace);
    show_code(bench, "T5", in.mask, t5_code());
    const auto scores = t5_scores(bench, in.scores, table);
    show_weights(bench, scores, in.mask, "");

    return Encoding{.name = "t5",
                    .change = "score + a trained number for class and head",
                    .parameters = static_cast<double>(table.size()),
                    .scores = scores,
                    .scores_of =
                        [&bench, table](const Tensor<3>& tokens) {
                          auto mute = bench.mute();
                          return t5_scores(mute, scores_without_positions(mute, tokens), table);
                        },
                    .is_relative = true,
                    .certain_change = certain_change_of(table),
                    .claim_property = [] {}};
  });
}

Encoding show_alibi(Workbench& bench, const PositionalInputs& in) {
  const std::size_t heads = bench.heads();

  auto& trace = bench.trace;

  return trace.within("alibi", [&] {
    trace.note(
        "idea", "ALiBi: the farther, the less",
        "Attention with linear biases: every step from the query to the key lowers the score by the same "
        "amount. Nothing is learned. The heads differ in that amount, their slope: the steeper it is, the "
        "nearer a head looks. Press et al. made it for texts longer than those trained on: a distance that "
        "the model has never seen only costs a little more.",
        "scores(h, i, j) = xᵢ · xⱼ / √d − slopeₕ · |i − j|");
    show_code(bench, "ALiBi", in.mask,
              {"i, j = np.indices(without_scores.shape)",
               fmt::format("alibi_slopes = 2.0 ** (-8 * np.arange(1, {0} + 1) / {0})", heads),
               "alibi_bias   = -alibi_slopes[:, None, None] * np.abs(i - j)",
               "alibi_scores = without_scores + alibi_bias"});
    const auto scores = alibi_scores(bench, in.scores, heads);
    show_weights(bench, scores, in.mask, "");

    const auto scores_of = [&bench, heads](const Tensor<3>& tokens) {
      auto mute = bench.mute();
      return alibi_scores(mute, scores_without_positions(mute, tokens), heads);
    };
    return Encoding{.name = "alibi",
                    .change = "score − the head's slope · |distance|",
                    .scores = scores,
                    .scores_of = scores_of,
                    .is_relative = true,
                    .certain_change = attn::alibi_slopes(heads)(0),
                    .claim_property = [&trace, X = in.X, scores, scores_of] {
                      const std::size_t n = X.shape(1);
                      const auto reversed = attn::reversal(std::vector(X.shape(0), n), n);
                      claim_mirror(trace, scores, scores_of(attn::permute_rows(X, reversed)), reversed);
                    }};
  });
}

}  // namespace lessons
