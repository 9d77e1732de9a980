/// RoPE: positions as rotations of queries and keys. Source: Su et al. 2021, "RoFormer: Enhanced Transformer
/// with Rotary Position Embedding", section 3.2.

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional_rotary.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "lessons/positional/encodings.hpp"
#include "lessons/positional/measure.hpp"
#include "lessons/positional/mistakes.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

attn::Pairing pairing_of(const Options& options) {
  return options.pairing == "halves" ? attn::Pairing::halves : attn::Pairing::adjacent;
}

/// Which columns make up a pair in this run, and where the other convention is used.
std::string pairs_in_words(attn::Pairing pairing, std::size_t d) {
  const std::string consequence =
      " A model that was trained with one gives nonsense with the other, unless the columns of W_Q and W_K "
      "are put in the other order. Hugging Face's converter permutes LLaMA's weights for that reason.";
  if (pairing == attn::Pairing::adjacent)
    return "Pair i is columns 2i and 2i + 1, two neighbours, as in the paper and in LLaMA as published. "
           "GPT-NeoX and the Hugging Face port of LLaMA pair column i of the first half with column i of the "
           "second: --pairing halves." +
           consequence;
  return fmt::format(
             "Pair i is columns i and i + {}, one from each half, as in GPT-NeoX and the Hugging Face port "
             "of LLaMA. The paper and LLaMA as published pair neighbours: --pairing adjacent.",
             d / 2) +
         consequence;
}

std::vector<std::string> rope_code(std::size_t d, attn::Pairing pairing) {
  const auto slices =
      pairing == attn::Pairing::adjacent
          ? "x, y = np.s_[:, 0::2], np.s_[:, 1::2]  # the two columns of each pair"
          : fmt::format("x, y = np.s_[:, :{0}], np.s_[:, {0}:]  # the two columns of each pair", d / 2);
  return {fmt::format("frequencies = 10000.0 ** (-np.arange(0, {0}, 2) / {0})", d),
          "rope_angles = np.outer(np.arange(len(X)), frequencies)",
          "cos, sin = np.cos(rope_angles), np.sin(rope_angles)",
          slices,
          "def turn(rows):",
          "    turned = np.empty(rows.shape)",
          "    turned[x] = rows[x] * cos - rows[y] * sin",
          "    turned[y] = rows[x] * sin + rows[y] * cos",
          "    return turned",
          "",
          "rope_Q_rotated, rope_K_rotated = turn(X), turn(X)",
          fmt::format("rope_scores  = rope_Q_rotated @ rope_K_rotated.T / np.sqrt({})", d)};
}

struct Rotary {
  Tensor<3> Q_rotated, K_rotated;  ///< [batch×token×d_model]
  Tensor<3> scores;                ///< Q_rotated K_rotatedᵀ / √d, [batch×query×key]
};

Rotary rotary_scores(Workbench& bench, const Tensor<3>& X, attn::Pairing pairing) {
  const std::size_t d = X.shape(2);
  auto& trace = bench.trace;
  const auto angles =
      trace.step({.id = "angles",
                  .title = "By how much each pair is turned",
                  .formula = fmt::format("p · ωᵢ,  ωᵢ = 10000^(−2i/{})", d),
                  .axes = {"position", "pair"},
                  .note = "In radians. " + pairs_in_words(pairing, d),
                  .worked = attn::worked_position_angles(attn::worked_position_frequencies(d))},
                 attn::position_angles(X.shape(1), attn::position_frequencies(d)),
                 mistakes_of_rope_angles(X.shape(1), d));
  const auto Q_rotated = trace.step(
      {.id = "Q_rotated",
       .title = "Each pair (x, y) of Q = X, turned by its angle φ",
       .formula = "(x cos φ − y sin φ, x sin φ + y cos φ)",
       .from = {"X", "angles"},
       .axes = {"query", "d_model"},
       .note = "The word at position 0 stays as it is. The farther on a word stands, the farther it "
               "is turned.",
       .worked = attn::worked_rotate_pairs(attn::Known{"X", X}, {"angles", angles}, pairing)},
      attn::rotate_pairs(X, angles, pairing), mistakes_of_rotated_queries(bench, X, angles, pairing));
  const auto K_rotated =
      trace.step({.id = "K_rotated",
                  .title = "Each pair of K = X, turned in the same way",
                  .formula = "(x cos φ − y sin φ, x sin φ + y cos φ)",
                  .from = {"X", "angles"},
                  .axes = {"key", "d_model"},
                  .note = "The same as the queries only because Q = K = X here.",
                  .worked = attn::worked_rotate_pairs(attn::Known{"X", X}, {"angles", angles}, pairing)},
                 attn::rotate_pairs(X, angles, pairing), mistakes_of_rotated_keys(bench, X, angles, pairing));
  const auto scores = trace.step(
      {.id = "scores",
       .title = "Scores of turned queries and keys",
       .formula = fmt::format("Q_rotated K_rotatedᵀ / √{}", d),
       .from = {"Q_rotated", "K_rotated"},
       .axes = {"query", "key"},
       .note = "On the diagonal nothing has changed: query and key have been turned alike. RoPE is often "
               "said to carry over to longer texts. Press et al. found that it does so only a little "
               "better than sinusoidal encodings do.",
       .worked =
           [&](const attn::Index& at) {
             const auto product = attn::worked_matmul_transposed(attn::Known<3>{"Q_rotated", Q_rotated},
                                                                 attn::Known<3>{"K_rotated", K_rotated});
             return product(at) / sqrt(attn::Worked(static_cast<double>(d)));
           },
       .worked_at = pair_to_follow(bench)},
      attn::divide(attn::matmul(Q_rotated, attn::transpose(K_rotated)), std::sqrt(static_cast<double>(d))),
      mistakes_of_scaled_product(Q_rotated, K_rotated));
  return {Q_rotated, K_rotated, scores};
}

/// The mixtures of the values V = X, which are not turned.
void show_output(Workbench& bench, const Tensor<3>& X, const Tensor<3>& weights, attn::Pairing pairing) {
  const auto output = attn::matmul(weights, X);
  bench.trace.step({.id = "output",
                    .title = "Each query's mixture of values, which are not turned",
                    .formula = "weights V, V = X",
                    .from = {"weights", "X"},
                    .axes = {"query", "d_model"},
                    .note = "A value meets no partner whose turn would cancel its own.",
                    .worked = attn::worked_matmul(attn::Known{"weights", weights}, attn::Known{"X", X})},
                   output, mistakes_of_rope_output(bench, X, weights, pairing));
}

void claim_lengths(attn::Trace& trace, const Tensor<3>& X, const Rotary& rotary) {
  trace.claim(
      {.id = "lengths-kept",
       .claim = "a turned vector is as long as before: positions change its direction only",
       .formula = "max ||row of Q_rotated| − |row of X||, and of K_rotated",
       .value = attn::maximum({change_of_length(rotary.Q_rotated, X), change_of_length(rotary.K_rotated, X)}),
       .limit = rounding(trace, attn::max_abs(X) * static_cast<double>(X.shape(2)))});
}

}  // namespace

Encoding show_rope(Workbench& bench, const PositionalInputs& in) {
  const auto pairing = pairing_of(bench.options);
  auto& trace = bench.trace;

  return trace.within("rope", [&] {
    trace.note(
        "idea", "RoPE: turn queries and keys",
        "The clock of the sinusoidal encoding, but nothing is added: each pair of numbers of a query or key "
        "is turned by the angle of its position. A dot product does not change when both vectors are turned "
        "by the same angle, so only the difference of the two positions counts. Queries and keys are "
        "turned, anew in every layer; embeddings and values are not.",
        "scores(m, n) = (R_m q) · (R_n k) / √d = q · R_(n−m) k / √d");
    show_code(bench, "RoPE", in.mask, rope_code(in.X.shape(2), pairing),
              {"rope_output  = rope_weights @ X  # values are not turned"});
    const auto rotary = rotary_scores(bench, in.X, pairing);
    const auto weights = show_weights(bench, rotary.scores, in.mask, "");
    show_output(bench, in.X, weights, pairing);

    return Encoding{.name = "rope",
                    .change = "query and key, each turned by its p · ωᵢ",
                    .scores = of_one_head(rotary.scores),
                    .scores_of =
                        [&bench, pairing](const Tensor<3>& X) {
                          auto mute = bench.mute();
                          return of_one_head(rotary_scores(mute, X, pairing).scores);
                        },
                    .is_relative = true,
                    .room = room_for_angles(trace, in.X.shape(1)),
                    .certain_change = bench.options.embeddings ? 0.0 : 0.01,
                    .claim_property = [&trace, X = in.X, rotary] { claim_lengths(trace, X, rotary); }};
  });
}

}  // namespace lessons
