/// Positions: what attention cannot tell without them, and six ways to put them in. The sources of each are
/// in the file that shows it: positional/absolute.cpp, positional/relative.cpp, positional/rope.cpp.

#include "lessons/positional.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/permute.hpp"
#include "attn/ops/positional_bias.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/positional/claims.hpp"
#include "lessons/positional/mistakes.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

attn::Index pair_to_follow(const Workbench& bench) {
  const auto n = bench.plan.sentence.lengths().front();
  return {std::min<std::size_t>(1, n - 1), n - 1};
}

Tensor<3> scores_without_positions(Workbench& bench, const Tensor<3>& X) {
  return bench.trace.step({.id = "scores",
                           .title = "No positions",
                           .formula = scaling_formula("X Xᵀ", X.shape(2)),
                           .from = {"X"},
                           .axes = {"query", "key"},
                           .note = "The score of two words depends on the two words. Where they stand does "
                                   "not come into it.",
                           .worked = worked_scores_of_tokens({"X", X}),
                           .worked_at = pair_to_follow(bench)},
                          scores_of_tokens(X), mistakes_of_scaled_product(X, X));
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

void show_without_positions(Workbench& bench, PositionalInputs& in) {
  const auto& sentence = bench.plan.sentence;
  bench.show_lengths(sentence);
  in.X = bench.input<3>({.id = "X",
                         .title = "The sentence as vectors",
                         .note = "One row a token; the same word has the same row wherever it stands."});
  in.mask = bench.padding_mask(sentence);
  bench.trace.within("without", [&] {
    in.scores = scores_without_positions(bench, in.X);
    show_weights(bench, in.scores, in.mask,
                 "A word that is there twice has the same row twice, and each time the same share.");
  });
}

/// Returns the scores in the other order.
Tensor<3> show_other_order(Workbench& bench, const PositionalInputs& in, const OtherOrder& other) {
  const auto& sentence = bench.plan.sentence;
  auto& trace = bench.trace;
  if (other.most_words == 0) {
    trace.note(
        "order", "The same words in another order",
        sentence.length() == 1
            ? "One word has no other order: take a sentence with more of them."
            : "These words are all the same: take a sentence with different ones to see what attention makes "
              "of their order.");
    return in.scores;
  }
  const auto reordered = in_order(sentence, other.order);
  trace.note("order", "The same words in another order",
             fmt::format("Let two words {}change places: \"{}\" becomes \"{}\". The rows and columns of the "
                         "scores move with the words. Every pair of words keeps its score. So attention "
                         "cannot tell the two orders apart.",
                         sentence.size() > 1 ? "of each sentence " : "",
                         fmt::join(sentence.tokens[other.example], " "),
                         fmt::join(reordered.tokens[other.example], " ")));
  bench.label({"query", "key"}, reordered);
  auto scores = trace.step({.id = "without/reordered",
                            .title = "Scores of the words in the other order",
                            .formula = "X Xᵀ / √d, X in the other order",
                            .from = {"X"},
                            .axes = {"query", "key"},
                            .worked =
                                [&, in_order = worked_scores_of_tokens({"X", in.X})](const attn::Index& at) {
                                  const auto& order = other.order[at[0]];
                                  return in_order({at[0], order[at[1]], order[at[2]]});
                                },
                            .worked_at = pair_to_follow(bench)},
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
          .change = "nothing",
          .scores = of_one_head(scores),
          .scores_of =
              [&bench](const Tensor<3>& X) {
                auto mute = bench.mute();
                return of_one_head(scores_without_positions(mute, X));
              },
          .claim_property = [] {}};
}

/// "cat with dog is −0.3123": the second word and the last of the n words of the first sample, in its first
/// head.
std::string score_of_pair(const attn::Event& scores, std::size_t n) {
  const auto axis = scores.axes.size() - 1;
  const std::size_t keys = scores.tensor->shape[axis], query = std::min<std::size_t>(1, n - 1);
  return fmt::format("{} with {} is {:.4f}", name_along(scores, axis - 1, query),
                     name_along(scores, axis, n - 1), scores.tensor->at(query * keys + n - 1));
}

/// The same beside what it was without positions.
std::string changed_score(const attn::Event& scores, const Tensor<3>& without, std::size_t n) {
  const bool has_heads = std::find(scores.axes.begin(), scores.axes.end(), "head") != scores.axes.end();
  return fmt::format("{} score of {}. Without positions it was {:.4f}.", has_heads ? "In head 0 the" : "The",
                     score_of_pair(scores, n), without(0, std::min<std::size_t>(1, n - 1), n - 1));
}

/// ` The rows of "the" at positions 0 and 3 differ now.`: of a word that is twice among the n words of the
/// first sample, as long as its rows differ, or do not. Empty where there is none.
std::string rows_of_equal_words(const attn::Event& scores, std::size_t n, bool differ) {
  constexpr double rounding_of_scores = 1e-3;
  const auto axis = scores.axes.size() - 2;
  const std::size_t columns = scores.tensor->shape[axis + 1];
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      if (name_along(scores, axis, i) != name_along(scores, axis, j)) continue;
      double change = 0.0;
      for (std::size_t k = 0; k < columns; ++k)
        change = std::max(change,
                          std::abs(scores.tensor->at(i * columns + k) - scores.tensor->at(j * columns + k)));
      if ((change > rounding_of_scores) == differ)
        return fmt::format(" The rows of \"{}\" at positions {} and {} {}.", name_along(scores, axis, i), i,
                           j, differ ? "differ now" : "are the same");
    }
  return "";
}

/// The same, with the rows of a word that is there twice, and what comes after the scores.
std::string about_scores_with_positions(const attn::Event& scores, const Tensor<3>& without, std::size_t n) {
  return changed_score(scores, without, n) + rows_of_equal_words(scores, n, true) +
         "\nOne more word at the end adds a row and a column. The old scores stay.";
}

/// "Hand 0 turns by 1 radian from one word to the next, hand 1 by 0.01."
std::string about_frequencies(const attn::Event& frequencies, std::size_t n) {
  const auto pairs = frequencies.tensor->shape.back();
  const auto last = pairs == 1
                        ? std::string()
                        : fmt::format(", hand {} by {:.4g}", pairs - 1, frequencies.tensor->at(pairs - 1));
  return fmt::format(
      "Hand 0 turns by 1 radian from one word to the next{}. Position times frequency is the angle: angles = "
      "p · ωᵢ [{}×{}].",
      last, n, pairs);
}

/// "Columns 0 and 1 are hand 0 (fast), columns 2 and 3 are hand 1 (slow)."
std::string about_encoding(const attn::Event& encoding) {
  const auto d = encoding.tensor->shape.back();
  const std::string first = "Columns 0 and 1 are hand 0";
  if (d == 2) return first + ".";
  return fmt::format("{} (fast), columns {} and {} are hand {} (slow).", first, d - 2, d - 1, d / 2 - 1);
}

/// The steps of one encoding that the page shows, from its idea to its weights.
std::vector<attn::OnPage> steps_on_page(const std::string& encoding, const PositionalInputs& in,
                                        std::size_t n) {
  using attn::in_one_line;
  std::map<std::string, std::vector<attn::OnPage>> own = {
      {"sinusoidal",
       {attn::without_table("frequencies", [n](const auto& step) { return about_frequencies(step, n); }),
        {"encoding", about_encoding},
        {"encoded", nothing_to_notice}}},
      {"learned", {{"table"}, {"encoded"}}},
      {"relative", {{"distances"}, {"by_distance"}}},
      {"t5", {{"buckets"}, {"bias"}}},
      {"alibi", {{"slopes"}, {"bias"}}},
      {"rope", {{"angles"}, {"Q_rotated"}, in_one_line("K_rotated")}}};
  std::vector<attn::OnPage> steps = {{"idea"}, {"code"}};
  for (auto& step : own.at(encoding)) steps.push_back(std::move(step));
  steps.push_back(
      {"scores", [&in, n](const auto& scores) { return about_scores_with_positions(scores, in.scores, n); }});
  for (auto& step : steps) step.id = encoding + '/' + step.id;
  return steps;
}

/// `in` is read when the scores are shown.
void lay_out_positional(Workbench& bench, const PositionalInputs& in) {
  const auto encoding = encoding_on_page(bench.options);
  const auto n = bench.plan.sentence.lengths().front();
  std::vector<attn::OnPage> events = {{"X", nothing_to_notice},
                                      {"without/scores",
                                       [n](const auto& scores) {
                                         return fmt::format(
                                             "The score of {}, wherever the two words stand.{}",
                                             score_of_pair(scores, n), rows_of_equal_words(scores, n, false));
                                       }},
                                      {"order"}};
  for (auto& step : steps_on_page(encoding, in, n)) events.push_back(std::move(step));
  events.push_back({"comparison"});
  events.push_back({"trained"});
  if (encoding == "learned") events.push_back({"trained-attention"});
  std::vector<std::string> claims = {"without/order-is-lost"};
  for (const auto* property :
       {"rotation", "lookup", "mirror", "lengths-kept", "distance-only", "order-is-seen"})
    claims.push_back(encoding + '/' + property);
  bench.trace.page(std::move(events), std::move(claims));
}

/// From X to the weights, without positions and with the encoding that the page goes on with.
std::vector<std::string> positional_flow(const Workbench& bench) {
  const auto n = bench.plan.sentence.length(), d = bench.d_model();
  const auto added = [&](const char* table) {
    return fmt::format("X + {0} [{1}×{2}] → encoded [{1}×{2}] → scores", table, n, d);
  };
  const auto biased = fmt::format("X Xᵀ / √{} + bias [{}×{}×{}] → scores", d, bench.heads(), n, n);
  const std::map<std::string, std::string> ways = {
      {"sinusoidal", added("encoding")},
      {"learned", added("table")},
      {"relative", fmt::format("(xᵢ · xⱼ + xᵢ · key of the distance j − i) / √{} → scores", d)},
      {"t5", biased},
      {"alibi", biased},
      {"rope", fmt::format("X → turn by p · ωᵢ → Q, K → Q Kᵀ / √{} → scores", d)}};
  const auto encoding = encoding_on_page(bench.options);
  return {attn::pad_right("without", 12) +
              fmt::format("X [{0}×{1}] → X Xᵀ / √{1} → scores [{0}×{0}] → softmax → weights", n, d),
          attn::pad_right(encoding, 12) + ways.at(encoding) + " → softmax"};
}

std::string code_without_positions(const Workbench& bench) {
  return fmt::format("without_scores = X @ X.T / np.sqrt({})", bench.d_model());
}

/// The scores of the words in the other order.
std::vector<std::string> code_of_other_order(const Workbench& bench, const OtherOrder& other) {
  constexpr std::size_t columns_of_code = 72;
  std::vector<std::string> lines;
  std::vector<std::string> orders;
  for (const auto& order : other.order) orders.push_back(fmt::format("[{}]", fmt::join(order, ", ")));
  const auto order =
      bench.plan.is_batched() ? fmt::format("[{}][sample]", fmt::join(orders, ", ")) : orders.front();
  for (auto& line : attn::wrap("order = " + order, columns_of_code)) lines.push_back(std::move(line));
  lines.push_back(fmt::format("without_reordered = X[order] @ X[order].T / np.sqrt({})", bench.d_model()));
  return lines;
}

void run_positional(Workbench& bench) {
  if (shows(bench.options, "sinusoidal") || shows(bench.options, "rope"))
    require_pairs(bench.options, "sinusoidal and rope", "--encoding learned, relative, t5 or alibi");
  bench.label({"token", "query", "key"}, bench.plan.sentence);
  PositionalInputs in;
  lay_out_positional(bench, in);
  bench.idea(
      "A score compares two rows of X, the vectors of two words. It does not depend on where the two words "
      "stand. So attention alone does not know the order of a sentence. A positional encoding tells it each "
      "word's position, from 0 on.\n"
      "To keep it short, Q, K and V are all X itself. X has a row of d = d_model " +
          std::string(bench.options.embeddings ? "" : "random ") +
          "numbers for each word. In earlier lessons X held positions, too; here it has none.",
      "scores = Q Kᵀ / √d = X Xᵀ / √d");
  bench.flow(positional_flow(bench));

  show_without_positions(bench, in);
  auto other = other_order(in.X, bench.plan.sentence.lengths());
  bench.trace.within("earlier", [&] { bench.code(softmax_code()); });
  bench.code({code_without_positions(bench)});
  if (other.most_words > 0)
    bench.trace.within("order", [&] { bench.code(code_of_other_order(bench, other)); });
  other.scores = show_other_order(bench, in, other);
  auto encodings = show_encodings(bench, in);
  encodings.insert(encodings.begin(), without_positions(bench, in.scores));

  if (shows(bench.options, "learned")) show_trained_positions(bench);
  compare_encodings(bench, in, other, encodings);
  bench.try_next({{"positional --encoding rope", "rotary position embedding, in full"},
                  {"positional --encoding alibi", "attention with linear biases, in full"},
                  {"seq2seq", "attention as it began: a translator that looks back"}},
                 {{"positional --encoding relative", "a vector for each distance"}});
}

std::vector<Input> positional_inputs(const Options&) {
  return {{"X", {"token", "d_model"}, Draw::embedding},
          {"mask", {"query", "key"}, Draw::page},
          {"learned/table", {"position=token…", "d_model"}, Draw::weight},
          {.id = "learned/positions", .axes = {"token"}, .draw = Draw::given, .is_multiplied = false},
          {"relative/keys", {"bucket=", "d_model"}, Draw::weight},
          {"t5/table", {"bucket=", "head"}, Draw::weight}};
}

}  // namespace

std::string encoding_on_page(const Options& options) {
  return options.encoding == "all" ? "sinusoidal" : options.encoding;
}

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
        "Without positions attention does not know the order of the words: the lesson puts the same words in "
        "another order and shows that nothing else changes. Then sinusoidal and learned positions, relative "
        "ones (Shaw et al.), T5's buckets, ALiBi and RoPE, each with its table by position, how it enters "
        "the scores, and the property that makes it useful.",
    .options = {"sentence", "d-model", "heads", "encoding", "pairing", "seed", "rng", "draws", "weight-scale",
                "embeddings", "dtype"},
    .splits_heads = false,
    .defaults = {.sentence = {"the cat saw the dog"}, .d_model = 4, .heads = 2},
    .examples = {"positional --encoding rope --d-model 4",
                 "positional --encoding t5 --sentence \"one two three four five six seven eight nine ten\""},
    .inputs = positional_inputs,
    .probe =
        Probe{{.sentence = {"a b c d e f g h i j k l", "m n o p q r s", "t u v w"}, .d_model = 8, .heads = 3},
              sharpen_word,
              {"without/weights", "sinusoidal/weights", "learned/weights", "relative/weights", "t5/weights",
               "alibi/weights", "rope/output"}},
    .run = run_positional,
};

}  // namespace lessons
