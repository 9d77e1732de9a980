/// Positions: what attention cannot tell without them, and six ways to put them in. The sources of each are
/// in the file that shows it: positional/absolute.cpp, positional/relative.cpp, positional/rope.cpp.

#include "lessons/positional.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attn/error.hpp"
#include "attn/ops/permute.hpp"
#include "attn/ops/positional_bias.hpp"
#include "lessons/lesson.hpp"
#include "lessons/positional/claims.hpp"

namespace lessons {

Tensor<3> scores_without_positions(Workbench& bench, const Tensor<3>& X) {
  return bench.trace.step({.id = "scores",
                           .title = "Scores without positions",
                           .formula = scaling_formula("X Xᵀ", X.shape(2)),
                           .from = {"X"},
                           .axes = {"query", "key"},
                           .note = "The score of two words depends on the two words. Where they stand does "
                                   "not come into it.",
                           .worked = worked_scores_of_tokens({"X", X})},
                          scores_of_tokens(X));
}

namespace {

bool shows(const Options& options, std::string_view encoding) {
  return options.encoding == "all" || options.encoding == encoding;
}

attn::TokenBatch in_order(const attn::TokenBatch& batch, const attn::RowOrder& order) {
  auto reordered = batch;
  for (std::size_t b = 0; b < batch.size(); ++b)
    for (std::size_t i = 0; i < batch.tokens[b].size(); ++i)
      reordered.tokens[b][i] = batch.tokens[b][order[b][i]];
  return reordered;
}

PositionalInputs show_without_positions(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.show_lengths(sentence);
  PositionalInputs in;
  in.X = bench.input<3>({.id = "X",
                         .title = "The sentence as vectors",
                         .note = "One row a token; the same word has the same row wherever it stands."});
  in.mask = bench.padding_mask(sentence);
  bench.trace.within("without", [&] {
    in.scores = scores_without_positions(bench, in.X);
    show_weights(bench, in.scores, in.mask,
                 "A word that is there twice has the same row twice, and each time the same share.");
  });
  return in;
}

/// Returns the scores in the other order.
Tensor<3> show_other_order(Workbench& bench, const PositionalInputs& in, const OtherOrder& other) {
  const auto& sentence = bench.plan.sentence;
  auto& trace = bench.trace;
  if (other.most_words == 0) {
    trace.note(
        "order", "The same words in another order",
        sentence.length() == 1
            ? "One word has no other order. Take a sentence with more of them to see what attention makes of "
              "it."
            : "There is no other order of these words: they are all the same. Take a sentence with different "
              "words to see what attention makes of their order.");
    return in.scores;
  }
  const auto reordered = in_order(sentence, other.order);
  trace.note(
      "order", "The same words in another order",
      fmt::format(
          "Two words {}change places: “{}” becomes “{}”. Look up any two words in the scores above and in "
          "those below: they have the same number. The numbers have moved along with the words, and none "
          "has changed. The outputs do the same. To attention without positions, the two orders are one.",
          sentence.size() > 1 ? "of each sentence " : "", fmt::join(sentence.tokens[other.example], " "),
          fmt::join(reordered.tokens[other.example], " ")));
  bench.label({"query", "key"}, reordered);
  auto scores = trace.step({.id = "without/reordered",
                            .title = "Scores of the same words in the other order",
                            .formula = "X Xᵀ / √d, the rows of X in the other order",
                            .from = {"X"},
                            .axes = {"query", "key"},
                            .worked =
                                [&, in_order = worked_scores_of_tokens({"X", in.X})](const attn::Index& at) {
                                  const auto& order = other.order[at[0]];
                                  return in_order({at[0], order[at[1]], order[at[2]]});
                                }},
                           scores_of_tokens(attn::permute_rows(in.X, other.order)));
  bench.label({"query", "key"}, sentence);
  return scores;
}

std::vector<Encoding> show_encodings(Workbench& bench, const PositionalInputs& in) {
  std::vector<Encoding> shown;
  const auto show = [&](std::string_view name, auto show_encoding) {
    if (shows(bench.options, name)) shown.push_back(show_encoding(bench, in));
  };
  show("sinusoidal", show_sinusoidal);
  show("learned", show_learned);
  show("relative", show_relative);
  show("t5", show_t5);
  show("alibi", show_alibi);
  show("rope", show_rope);
  return shown;
}

Encoding without_positions(Workbench& bench, const Tensor<3>& scores) {
  return {.name = "without",
          .enters = "nowhere",
          .scores = of_one_head(scores),
          .scores_of =
              [&bench](const Tensor<3>& X) {
                auto mute = bench.mute();
                return of_one_head(scores_without_positions(mute, X));
              },
          .claim_property = [] {}};
}

void run_positional(Workbench& bench) {
  if (shows(bench.options, "sinusoidal") || shows(bench.options, "rope"))
    require_pairs(bench.options, "sinusoidal and rope", "--encoding learned, relative, t5 or alibi");
  bench.label({"token", "query", "key"}, bench.plan.sentence);
  bench.trace.note(
      "idea", "The idea",
      "Attention compares words with words and adds up what they have to give. A sum has no order: whoever "
      "bites, the dog or the man, the same words go in and the same numbers come out. Tutorials often blame "
      "this on attention working on all positions in parallel. So does a convolution, and it knows its "
      "neighbours. It is the sum. The position therefore has to be put into the numbers, and the lesson "
      "shows where: in the vectors (sinusoidal, learned), in the scores (relative, T5, ALiBi) or by turning "
      "queries and keys (RoPE). There are no weight matrices here, so that nothing but the positions is in "
      "the way: Q = K = V = X.",
      "scores = Q Kᵀ / √d = X Xᵀ / √d");

  const auto in = show_without_positions(bench);
  auto other = other_order(in.X, bench.plan.sentence.lengths());
  other.scores = show_other_order(bench, in, other);
  auto encodings = show_encodings(bench, in);
  encodings.insert(encodings.begin(), without_positions(bench, in.scores));

  compare_encodings(bench, in, other, encodings);
}

std::vector<Input> positional_inputs(const Options&) {
  return {{"X", {"token", "d_model"}, Draw::embedding},
          {"mask", {"query", "key"}, Draw::page},
          {"learned/table", {"position=token", "d_model"}, Draw::weight},
          {"relative/keys", {"bucket=", "d_model"}, Draw::weight},
          {"t5/table", {"bucket=", "head"}, Draw::weight}};
}

}  // namespace

void require_pairs(const Options& options, const std::string& needed_by, const std::string& otherwise) {
  const auto d = options.d_model.value();
  if (d % 2 == 0) return;
  const auto others = otherwise.empty() ? "" : ", or " + otherwise;
  if (options.embeddings)
    throw attn::Error(
        fmt::format("the vectors of {} have {} numbers, which do not make the pairs that {} need; valid: "
                    "vectors of even length{}",
                    *options.embeddings, d, needed_by, others));
  throw attn::Error(fmt::format("--d-model {} does not make the pairs that {} need; valid: --d-model {}{}", d,
                                needed_by, d == 1 ? "2" : fmt::format("{} or {}", d - 1, d + 1), others));
}

extern const Lesson positional;
const Lesson positional = {
    .name = "positional",
    .title = "six ways to tell attention where words stand",
    .teaches =
        "Without positions attention does not know the order of the words: the lesson puts the same words "
        "in another order and shows that nothing else changes. Then sinusoidal and learned positions, "
        "relative ones (Shaw et al.), T5's buckets, ALiBi and RoPE, each with its table by position, how it "
        "enters the scores, and the property that makes it useful.",
    .options = {"sentence", "d-model", "heads", "encoding", "pairing", "seed", "rng", "draws", "weight-scale",
                "embeddings", "dtype"},
    .splits_heads = false,
    .defaults = {.sentence = {"the dog bites the man"}, .heads = 2},
    .examples = {"positional --encoding rope --d-model 4",
                 "positional --encoding t5 --sentence \"one two three four five six seven eight nine ten\""},
    .inputs = positional_inputs,
    .run = run_positional,
};

}  // namespace lessons
