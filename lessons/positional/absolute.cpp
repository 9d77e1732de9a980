/// Encodings that are added to the token vectors. Sources: Vaswani et al. 2017, "Attention Is All You Need",
/// section 3.5; for the learned table, Gehring et al. 2017, "Convolutional Sequence to Sequence Learning".

#include <fmt/format.h>

#include <numbers>
#include <string>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/positional/encodings.hpp"
#include "lessons/positional/measure.hpp"
#include "lessons/positional/mistakes.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// With fewer pairs than four, frequencies are better read than plotted.
constexpr std::size_t shortest_curve = 8;

/// What adding positions to the tokens [batch×token×d_model] leads to.
struct Added {
  Tensor<3> encoded;  ///< [batch×token×d_model]
  Tensor<3> scores;   ///< [batch×query×key]
};

Tensor<3> show_scores(Workbench& bench, const Tensor<3>& encoded, const std::string& note) {
  return bench.trace.step({.id = "scores",
                           .title = "With positions",
                           .formula = fmt::format("encoded encodedᵀ / √{}", encoded.shape(2)),
                           .from = {"encoded"},
                           .axes = {"query", "key"},
                           .note = note,
                           .worked = worked_scores_of_tokens({"encoded", encoded}),
                           .worked_at = pair_to_follow(bench)},
                          scores_of_tokens(encoded), mistakes_of_scaled_product(encoded, encoded));
}

struct Sinusoidal {
  Tensor<2> encoding;    ///< [position×d_model]
  Tensor<2> similarity;  ///< encoding encodingᵀ
  Added added;
};

Sinusoidal add_sinusoidal_positions(Workbench& bench, const Tensor<3>& X) {
  const std::size_t n = X.shape(1), d = X.shape(2), second = pair_to_follow(bench)[0];
  auto& trace = bench.trace;

  auto frequencies = attn::position_frequencies(d);
  const double slowest = 2.0 * std::numbers::pi / frequencies(d / 2 - 1);
  frequencies = trace.step(
      {.id = "frequencies",
       .title = "How fast the hand of each pair turns",
       .formula = fmt::format("10000^(−2i/d) = 10000^(−2i/{})", d),
       .axes = {"pair"},
       .note = d == 2 ? std::string("In radians for each position. The one hand is back after 2π = 6.283 "
                                    "positions.")
                      : fmt::format("In radians for each position. The first hand is back after 2π = 6.283 "
                                    "positions, the last one after {:.4g}: seconds and hours.",
                                    slowest),
       .curve = d >= shortest_curve,
       .worked = attn::worked_position_frequencies(d),
       .worked_at = attn::Index{d / 2 - 1}},
      frequencies, mistakes_of_frequencies(d));
  const auto angles = trace.step(
      {.id = "angles",
       .title = "Where the hand of each pair points",
       .formula = "p · ωᵢ",
       .from = {"frequencies"},
       .axes = {"position", "pair"},
       .note = fmt::format("In radians, at position 1 the frequency itself. The first hand is back after 2π "
                           "= 6.283 words, the last one after {:.4g}.",
                           slowest),
       .worked = attn::worked_position_angles(attn::Known{std::string("frequencies"), frequencies})},
      attn::position_angles(n, frequencies), mistakes_of_angles(n, frequencies));
  const auto encoding = trace.step(
      {.id = "encoding",
       .title = "The encoding of each position",
       .formula = "sin(angles), cos(angles), …",
       .from = {"angles"},
       .axes = {"position", "d_model"},
       .note =
           "A column of sines, then the column of the cosines of the same pair. No two rows are the same, "
           "and all have the same length, √(d/2). Some programs put all sines first and then all cosines: a "
           "convention, as good as this one if it is used throughout. Every position has an encoding, but a "
           "model trained on short texts gets worse soon after that length (Press et al. 2022).",
       .worked = attn::worked_sines_and_cosines({"angles", angles}),
       .worked_at = attn::Index{second, 0}},
      attn::sines_and_cosines(angles), mistakes_of_encoding(angles));
  const auto similarity =
      trace.step({.id = "similarity",
                  .title = "The dot product of any two encodings",
                  .formula = "encoding encodingᵀ",
                  .from = {"encoding"},
                  .axes = {"query", "key"},
                  .note = "As sin a sin b + cos a cos b = cos(a − b), entry p, r is Σᵢ cos((p − r) ωᵢ). So "
                          "every diagonal holds one number only: only the distance counts. The scores of X + "
                          "encoding also have products of a word with a position.",
                  .worked = attn::worked_matmul_transposed(attn::Known{"encoding", encoding},
                                                           attn::Known{"encoding", encoding})},
                 attn::matmul(encoding, attn::transpose(encoding)));
  const auto encoded = trace.step(
      {.id = "encoded",
       .title = "Word + position",
       .formula = "X + encoding",
       .from = {"X", "encoding"},
       .axes = {"token", "d_model"},
       .note =
           "The same word has another row in another place. The Transformer multiplies X by √d first, so "
           "that the positions do not outweigh the words (Vaswani et al. 2017, section 3.4). The words here "
           "are large enough.",
       .worked = attn::worked_add_positions({"X", X}, {"encoding", encoding}),
       .worked_at = attn::Index{second, 0}},
      attn::add_positions(X, encoding), mistakes_of_sinusoidal_sum(bench, X, encoding));
  const auto scores = show_scores(
      bench, encoded,
      "(x + p) · (y + r) = x · y + x · r + p · y + p · r: the score of the words as before, each word with "
      "the position of the other, and the two positions.");
  return {encoding, similarity, {encoded, scores}};
}

/// The learned table, and which of its rows each token reads.
struct LearnedTable {
  Tensor<2> all_rows;              ///< [position×d_model]
  std::vector<std::size_t> reads;  ///< [token]
  std::string in_use;              ///< the rows that are read, as in NumPy
  std::vector<std::string> sources = {"X", "table"};

  Tensor<2> read_rows() const { return attn::rows(all_rows, reads); }
};

/// The rows of the input `positions`, or the first ones.
LearnedTable rows_in_use(Workbench& bench, Tensor<2> all_rows, std::size_t n) {
  const auto rows = all_rows.shape(0);
  LearnedTable table{.all_rows = std::move(all_rows),
                     .reads = {},
                     .in_use = rows > n ? fmt::format("table[:{}]", n) : "table"};
  if (!bench.has_given("positions")) {
    for (std::size_t p = 0; p < n; ++p) table.reads.push_back(p);
    return table;
  }
  table.in_use = "table[positions]";
  table.sources.emplace_back("positions");
  const auto positions = bench.trace.input(
      {.id = "positions", .title = "The row of the table that each word reads", .axes = {"token"}},
      Integers<1>({n}, 0));
  for (const auto position : positions)
    table.reads.push_back(bench.checked_index("positions", position, rows));
  return table;
}

Added add_learned_positions(Workbench& bench, const Tensor<3>& X, const LearnedTable& table) {
  const auto rows = table.read_rows();
  const auto worked = [words = attn::Known<3>{"X", X}, all_rows = attn::Known<2>{"table", table.all_rows},
                       reads = table.reads](const attn::Index& at) {
    return attn::Worked::sum({words(at), all_rows({reads[at[1]], at[2]})});
  };
  const auto encoded = bench.trace.step({.id = "encoded",
                                         .title = "Word + position",
                                         .formula = "X + " + table.in_use,
                                         .from = table.sources,
                                         .axes = {"token", "d_model"},
                                         .worked = worked},
                                        attn::add_positions(X, rows), mistakes_of_encoded(bench, X, rows));
  const auto scores = show_scores(bench, encoded,
                                  "Before training the positions push the scores about at random. Equal "
                                  "distances have nothing in common.");
  return {encoded, scores};
}

/// How many words the first and the last hand need for a turn.
std::string clock_hands(std::size_t d) {
  const auto frequencies = attn::position_frequencies(d);
  const auto turn = [&](std::size_t i) {
    return fmt::format("{:.3g}", 2.0 * std::numbers::pi / frequencies(i));
  };
  if (d == 2) return fmt::format("The only one comes round after 2π ≈ {} words.", turn(0));
  return fmt::format(
      "The first comes round after 2π ≈ {} words, the last after {}: the 10000 makes it too slow to come "
      "round in a short text. Together they tell the position.",
      turn(0), turn(d / 2 - 1));
}

std::vector<std::string> sinusoidal_code(std::size_t d) {
  return {fmt::format("sinusoidal_frequencies = 10000.0 ** (-np.arange(0, {0}, 2) / {0})", d),
          "sinusoidal_angles = np.outer(np.arange(len(X)), sinusoidal_frequencies)",
          "sinusoidal_encoding = np.empty(X.shape)",
          "sinusoidal_encoding[:, 0::2] = np.sin(sinusoidal_angles)  # even columns",
          "sinusoidal_encoding[:, 1::2] = np.cos(sinusoidal_angles)  # odd columns",
          "sinusoidal_encoded = X + sinusoidal_encoding",
          fmt::format("sinusoidal_scores  = sinusoidal_encoded @ sinusoidal_encoded.T / np.sqrt({})", d)};
}

/// The matrix as the scores of one head in a batch of one sample.
Tensor<4> as_scores(const Tensor<2>& similarity) {
  return of_one_head(attn::as_batch(similarity));
}

void claim_rotation(Workbench& bench, const Tensor<3>& X, const Sinusoidal& shown) {
  const std::size_t n = X.shape(1), d = X.shape(2);
  auto mute = bench.mute();
  const auto longer = add_sinusoidal_positions(mute, attn::rows_twice(X));
  auto& trace = bench.trace;
  const double room = room_for_angles(trace, n), dimensions = static_cast<double>(d);
  claim_unless_lost(trace,
                    {.id = "rotation",
                     .claim = "k words further on, hand i has turned by k · ωᵢ",
                     .formula = fmt::format("max |R_k PE(p) − PE(p + k)|, k = {}",
                                            n == 1 ? "1" : fmt::format("1 and {}", n)),
                     .value = attn::maximum({deviation_from_rotation(shown.encoding, longer.encoding, 1),
                                             deviation_from_rotation(shown.encoding, longer.encoding, n)}),
                     .limit = rounding(trace, room)},
                    1.0);
  claim_unless_lost(trace,
                    {.id = "similarity-by-distance",
                     .claim = "the dot product of two encodings depends on their distance alone",
                     .formula = fmt::format("max |PE(p + {0}) · PE(r + {0}) − PE(p) · PE(r)|", n),
                     .value = change_by_moving(as_scores(shown.similarity), as_scores(longer.similarity)),
                     .limit = rounding(trace, dimensions * room)},
                    dimensions);
}

/// Row p of x [batch×n×positions] is 1 at p and 0 elsewhere.
Tensor<3> one_hot_positions(std::size_t batch, std::size_t n) {
  Tensor<3> one_hot = xt::zeros<double>({batch, n, n});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t p = 0; p < n; ++p) one_hot(b, p, p) = 1.0;
  return one_hot;
}

void claim_lookup(attn::Trace& trace, const Tensor<3>& X, const Tensor<2>& table, const Tensor<3>& encoded) {
  const auto looked_up = attn::linear(one_hot_positions(X.shape(0), X.shape(1)), table);
  trace.claim({.id = "lookup",
               .claim = "a position is looked up as a word is: a one-hot row times the table, added to X",
               .formula = "max |X + one_hot(p) · table − encoded|",
               .value = attn::max_abs_difference(attn::add(X, looked_up), encoded),
               .limit = rounding(trace, attn::max_abs(encoded))});
}

}  // namespace

Encoding show_sinusoidal(Workbench& bench, const PositionalInputs& in) {
  auto& trace = bench.trace;

  return trace.within("sinusoidal", [&] {
    trace.note("idea", "Sinusoidal: a clock with a hand for each pair of numbers",
               "The positional encoding PE has a row of d numbers for each position p. It is added to the "
               "word at that position. Think of a clock: each pair of columns is one hand, as the sine and "
               "the cosine of its angle.\n"
               "From one word to the next, hand i turns by the angle ωᵢ, its frequency. " +
                   clock_hands(in.X.shape(2)),
               "ωᵢ = 10000^(−2i/d)           frequency of hand i, in radians\n"
               "PE(p, 2i)   = sin(p · ωᵢ)    column 2i of row p\n"
               "PE(p, 2i+1) = cos(p · ωᵢ)    the column after it");
    show_code(bench, "Sinusoidal", in.mask, sinusoidal_code(in.X.shape(2)));
    const auto shown = add_sinusoidal_positions(bench, in.X);
    show_weights(bench, shown.added.scores, in.mask,
                 "A word that is there twice may now look at different words.");

    return Encoding{.name = "sinusoidal",
                    .change = "word + sines and cosines of its position",
                    .scores = of_one_head(shown.added.scores),
                    .scores_of =
                        [&bench](const Tensor<3>& X) {
                          auto mute = bench.mute();
                          return of_one_head(add_sinusoidal_positions(mute, X).added.scores);
                        },
                    .certain_change = bench.options.embeddings ? 0.0 : 0.01,
                    .claim_property = [&bench, X = in.X, shown] { claim_rotation(bench, X, shown); }};
  });
}

Encoding show_learned(Workbench& bench, const PositionalInputs& in) {
  const std::size_t n = in.X.shape(1), d = in.X.shape(2);
  auto& trace = bench.trace;

  return trace.within("learned", [&] {
    trace.note(
        "idea", "Learned: a vocabulary of positions",
        "A table with a row for each position, added to the words. The rows are drawn at random and trained "
        "like those of the words. Nothing in the table says that position 1 comes between 0 and 2: training "
        "has to find whatever order there is.",
        "encoded = X + table");
    const bool by_number = bench.has_given("positions");
    const auto rows =
        bench.length_of_given("table", "position", by_number && bench.has_given("table") ? 1 : n);
    const auto all_rows = bench.input<2>(
        {.id = "table",
         .title = "A row for each position",
         .note =
             "BERT has 512 rows and GPT-2 has 1024. " +
             (by_number
                  ? fmt::format("Here there are {}, and positions says which one each word reads.", rows)
              : rows > n ? fmt::format("Here there are {}. The first {} are in use, one a word.", rows, n)
                         : fmt::format("Here there are as many as the sentence needs: {}. For the word "
                                       "after that there is no row, so a longer sentence cannot be read at "
                                       "all.",
                                       n))},
        {rows, d});
    const auto table = rows_in_use(bench, all_rows, n);
    const auto reads = by_number ? "[learned_positions]" : rows > n ? "[:len(X)]" : "";
    show_code(bench, "Learned", in.mask,
              {fmt::format("learned_encoded = X + learned_table{}", reads),
               fmt::format("learned_scores  = learned_encoded @ learned_encoded.T / np.sqrt({})", d)});
    const auto shown = add_learned_positions(bench, in.X, table);
    show_weights(bench, shown.scores, in.mask, "");

    return Encoding{.name = "learned",
                    .change = "word + a trained row for its position",
                    .parameters = static_cast<double>(all_rows.size()),
                    .scores = of_one_head(shown.scores),
                    .scores_of =
                        [&bench, table](const Tensor<3>& X) {
                          auto mute = bench.mute();
                          return of_one_head(add_learned_positions(mute, X, table).scores);
                        },
                    .certain_change = bench.options.embeddings ? 0.0 : certain_change_of(table.read_rows()),
                    .claim_property = [&trace, X = in.X, table,
                                       shown] { claim_lookup(trace, X, table.read_rows(), shown.encoded); }};
  });
}

}  // namespace lessons
