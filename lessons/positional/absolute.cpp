/// Encodings that are added to the token vectors. Sources: Vaswani et al. 2017, "Attention Is All You Need",
/// section 3.5; for the learned table, Gehring et al. 2017, "Convolutional Sequence to Sequence Learning".

#include <fmt/format.h>

#include <numbers>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional_measure.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/positional/encodings.hpp"
#include "lessons/claims.hpp"

namespace lessons {

namespace {

/// With fewer pairs than four, frequencies are better read than plotted.
constexpr std::size_t shortest_curve = 8;

/// Scores [batch×1×n×n] of tokens that have been encoded.
Tensor<4> scores_with_one_head(const Tensor<3>& encoded) {
  return attn::split_heads(scores_of_tokens(encoded), 1);
}

Tensor<2> similarity_of(const Tensor<2>& encoding) {
  return attn::matmul(encoding, attn::transpose(encoding));
}

/// The matrix as the scores of one head in a batch of one sample.
Tensor<4> as_scores(const Tensor<2>& similarity) {
  return attn::split_heads(attn::as_batch(similarity), 1);
}

void claim_rotation(attn::Trace& trace, const Tensor<2>& encoding, const Tensor<2>& similarity) {
  const std::size_t n = encoding.shape(0), d = encoding.shape(1);
  const auto longer = attn::sinusoidal_encoding(2 * n, d).encoding;
  trace.claim({.id = "rotation",
               .claim = "PE(p + k) is PE(p) with each pair turned by k · ωᵢ: the same rotation for every p",
               .formula = fmt::format("max |R_k PE(p) − PE(p + k)|, k = {}",
                                      n == 1 ? "1" : fmt::format("1 and {}", n)),
               .value = attn::maximum({attn::deviation_from_rotation(encoding, longer, 1),
                                       attn::deviation_from_rotation(encoding, longer, n)}),
               .limit = rounding(trace, room_for_angles(n))});
  trace.claim({.id = "similarity-by-distance",
               .claim = "how alike two positions are depends on their distance alone",
               .formula = fmt::format("max |PE(p + {0}) · PE(q + {0}) − PE(p) · PE(q)|", n),
               .value = attn::change_by_moving(as_scores(similarity), as_scores(similarity_of(longer))),
               .limit = rounding(trace, static_cast<double>(d) * room_for_angles(n))});
}

/// Row p of x [batch×n×positions] is 1 at p and 0 elsewhere.
Tensor<3> one_hot_positions(std::size_t batch, std::size_t n) {
  Tensor<3> one_hot = xt::zeros<double>({batch, n, n});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t p = 0; p < n; ++p) one_hot(b, p, p) = double{1};
  return one_hot;
}

void claim_lookup(attn::Trace& trace, const Tensor<3>& X, const Tensor<2>& table,
                  const Tensor<3>& encoded) {
  const auto looked_up = attn::linear(one_hot_positions(X.shape(0), X.shape(1)), table);
  trace.claim({.id = "lookup",
               .claim = "a position is looked up as a word is: a one-hot row times the table, added to X",
               .formula = "max |X + one_hot(p) · table − encoded|",
               .value = attn::max_abs_difference(attn::add(X, looked_up), encoded),
               .limit = rounding(trace, attn::max_abs(encoded))});
}

}  // namespace

Encoding show_sinusoidal(Workbench& bench, const PositionalInputs& in) {
  const std::size_t n = in.X.shape(1), d = in.X.shape(2);
  const auto sinusoidal = attn::sinusoidal_encoding(n, d);
  const double slowest = 2.0 * std::numbers::pi / static_cast<double>(sinusoidal.frequencies(d / 2 - 1));
  auto& trace = bench.trace;

  return trace.within("sinusoidal", [&] {
    trace.note(
        "idea", "Sinusoidal: a clock with a hand for each pair of numbers",
        "Each pair of numbers is a hand that turns at a speed of its own. Where all the hands point says "
        "which position it is. A step of k positions turns each hand by k · ωᵢ, wherever it was. d has to "
        "be even, or a sine is left without its cosine. Nothing is learned, and there is an encoding for "
        "every position. That much is often called extrapolation, but being able to compute an encoding is "
        "not being able to use it: models that have been trained on short texts get worse soon after that "
        "length (Press et al. 2022).",
        "PE(p, 2i)   = sin(p · ωᵢ)\nPE(p, 2i+1) = cos(p · ωᵢ)      ωᵢ = 10000^(−2i/d)");
    trace.step(
        {.id = "frequencies",
         .title = "How fast each hand turns",
         .formula = fmt::format("10000^(−2i/d) = 10000^(−2i/{})", d),
         .axes = {"pair"},
         .note = d == 2 ? std::string("In radians for each position. The one hand is back after 2π = "
                                      "6.283 positions.")
                        : fmt::format("In radians for each position. The first hand is back after 2π = "
                                      "6.283 positions, the last one after {:.4g}: seconds and hours.",
                                      slowest),
         .curve = d >= shortest_curve},
        sinusoidal.frequencies);
    trace.step({.id = "angles",
                .title = "Where each hand points",
                .formula = "p · ωᵢ",
                .from = {"frequencies"},
                .axes = {"position", "pair"},
                .note = "Positions count from 0, where all hands point up."},
               sinusoidal.angles);
    trace.step(
        {.id = "encoding",
         .title = "The encoding of each position",
         .formula = "sin(angles), cos(angles), sin(angles), …",
         .from = {"angles"},
         .axes = {"position", "d_model"},
         .note =
             "A column of sines, then the column of the cosines of the same pair. No two rows are the same, "
             "and all have the same length, √(d/2). Some programs put all sines first and then all "
             "cosines: a convention, as good as this one as long as nobody mixes the two."},
        sinusoidal.encoding);
    const auto similarity = trace.step(
        {.id = "similarity",
         .title = "How alike two positions are",
         .formula = "encoding encodingᵀ",
         .from = {"encoding"},
         .axes = {"query", "key"},
         .note =
             "Every diagonal holds one number only, Σᵢ cos((p − q) ωᵢ): it is the distance that counts, not "
             "the place. One step further on is the same turn everywhere."},
        similarity_of(sinusoidal.encoding));
    const auto encoded = trace.step(
        {.id = "encoded",
         .title = "Words with their positions",
         .formula = "X + encoding",
         .from = {"X", "encoding"},
         .axes = {"token", "d_model"},
         .note =
             "The same word now has another row in another place. The Transformer multiplies X by √d first, "
             "so that the positions do not drown the words (Vaswani et al. 2017, section 3.4). The words "
             "here are large enough."},
        attn::add_positions(in.X, sinusoidal.encoding));
    const auto scores = trace.step({.id = "scores",
                                    .title = "Scores of words in their places",
                                    .formula = fmt::format("encoded encodedᵀ / √{}", d),
                                    .from = {"encoded"},
                                    .axes = {"query", "key"},
                                    .note = "(x + p) · (y + q) = x · y + x · q + p · y + p · q: the words as "
                                            "before, each word with the other "
                                            "position, and how alike the positions are."},
                                   scores_of_tokens(encoded));
    show_weights(bench, scores, in.mask, "A word that is there twice may now look at different words.");

    return Encoding{
        .name = "sinusoidal",
        .enters = "added to the tokens",
        .scores =
            [](const Tensor<3>& X) {
              const auto longer = attn::sinusoidal_encoding(X.shape(1), X.shape(2)).encoding;
              return scores_with_one_head(attn::add_positions(X, longer));
            },
        .certain_change = bench.options.embeddings ? 0.0 : 0.01,
        .claim_property = [&trace, sinusoidal,
                           similarity] { claim_rotation(trace, sinusoidal.encoding, similarity); }};
  });
}

Encoding show_learned(Workbench& bench, const PositionalInputs& in) {
  const std::size_t n = in.X.shape(1), d = in.X.shape(2);
  auto& trace = bench.trace;

  return trace.within("learned", [&] {
    trace.note(
        "idea", "Learned: a vocabulary of positions",
        "A table with a row for each position, added in the same way. The rows are drawn at random and "
        "trained like those of the words. Nothing in the table says that position 1 comes between 0 and 2: "
        "whatever order there is, training has to find it.",
        "encoded = X + table");
    const auto table = bench.weight(
        {.id = "table",
         .title = "A row for each position",
         .axes = {"position", "d_model"},
         .note = fmt::format(
             "BERT has 512 rows and GPT-2 has 1024. Here there are as many as the sentence needs: {}. For "
             "the word after that there is no row, so a longer sentence cannot be read at all.",
             n)},
        n, d);
    const auto encoded = trace.step({.id = "encoded",
                                     .title = "Words with their positions",
                                     .formula = "X + table",
                                     .from = {"X", "table"},
                                     .axes = {"token", "d_model"}},
                                    attn::add_positions(in.X, table));
    const auto scores =
        trace.step({.id = "scores",
                    .title = "Scores of words in their places",
                    .formula = fmt::format("encoded encodedᵀ / √{}", d),
                    .from = {"encoded"},
                    .axes = {"query", "key"},
                    .note = "Before training the positions push the scores about at random. Equal "
                            "distances have nothing in common."},
                   scores_of_tokens(encoded));
    show_weights(bench, scores, in.mask, "");

    return Encoding{
        .name = "learned",
        .enters = "added to the tokens",
        .parameters = static_cast<double>(n * d),
        .scores =
            [table](const Tensor<3>& X) { return scores_with_one_head(attn::add_positions(X, table)); },
        .has_more_positions = false,
        .certain_change = bench.options.embeddings ? 0.0 : 0.01 * attn::max_abs(table),
        .claim_property = [&trace, X = in.X, table, encoded] { claim_lookup(trace, X, table, encoded); }};
  });
}


}  // namespace lessons
