/// A classifier of sentences with attention: embeddings, positions, one layer of multi-head attention, the
/// mean over the tokens, and a score for each class. Sources: Vaswani et al. 2017, sections 3.2.2 and 3.5,
/// for attention and positions; Lin et al. 2014, "Network in Network", section 3.2, for the mean in place of
/// a larger network.

#include "lessons/classifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "attn/ops/pooling.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/positional.hpp"
#include "lessons/transformer_block.hpp"
#include "lessons/transformer_block/numpy.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// The classes that `attnlab train sentiment` tells apart, in its order.
constexpr std::array<const char*, 2> sentiments = {"negative", "positive"};

struct AttendedAndNormalized {
  Tensor<4> weights;
  Tensor<3> residual, normalized;
};

/// Multi-head attention with its residual connection and its layer norm, all in the group `attention`.
AttendedAndNormalized attend_and_normalize(Workbench& bench, const Named& encoded,
                                           const ClassifierWeights& weights,
                                           const std::optional<Mask<3>>& mask) {
  const auto attention = multihead_attention(bench, encoded, encoded, weights.attention, mask);
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "each row of attention/weights sums to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = attn::row_sum_deviation(attention.attention.weights),
                     .limit = rounding(bench.trace)});
  const auto residual = attention_residual(bench, encoded, {"output", attention.output});
  const auto normalized = attention_norm(bench, residual, weights.norm);
  return {attention.attention.weights, residual.tensor, normalized.tensor};
}

/// How much attention each word of the first sentence gets on average, in each head.
void explain_attention_received(Workbench& bench, const Tensor<4>& weights) {
  constexpr std::size_t columns = 70, width = 9;
  const std::size_t heads = weights.shape(1), n = bench.plan.sentence.lengths().front();
  const auto tokens = bench.plan.sentence.labels().of(0);
  const auto received = [&](std::size_t head, std::size_t key) {
    double sum = 0.0;
    for (std::size_t query = 0; query < n; ++query) sum += weights(0, head, query, key);
    return sum / static_cast<double>(n);
  };
  std::size_t label_width = width;
  for (std::size_t key = 0; key < n; ++key)
    label_width = std::max(label_width, attn::display_width(tokens[key]) + 2);
  const auto right = [&](const std::string& text) {
    return std::string(label_width - attn::display_width(text), ' ') + text;
  };
  std::string table;
  const std::size_t a_line = std::max<std::size_t>(1, (columns - 6) / label_width);
  for (std::size_t first = 0; first < n; first += a_line) {
    const auto last = std::min(n, first + a_line);
    table += first == 0 ? "      " : "\n\n      ";
    for (std::size_t key = first; key < last; ++key) table += right(tokens[key]);
    for (std::size_t head = 0; head < heads; ++head) {
      table += fmt::format("\n{:<6}", fmt::format("head {}", head));
      for (std::size_t key = first; key < last; ++key)
        table += right(fmt::format("{:.4f}", received(head, key)));
    }
  }
  bench.trace.note("attention-received", "Attention received: the mean of each column of weights",
                   fmt::format("Even shares would be 1/{} = {:.4f}. A word that gets more weighs more in the "
                               "mean of the rows. This is a hint at what decides, but no proof.",
                               n, 1.0 / static_cast<double>(n)),
                   table);
}

/// pooled W_class, and b_class where there is one.
Tensor<2> logits_of_classes(Workbench& bench, const Tensor<2>& pooled, const ClassifierWeights& weights) {
  const auto& b_class = weights.b_class;
  const attn::Known known_pooled{"pooled", pooled};
  const attn::Known<2> W_class{"W_class", weights.W_class};
  std::vector<std::string> from = {"pooled", "W_class"};
  if (b_class) from.push_back("b_class");
  return bench.trace.step(
      {.id = "logits",
       .title = "A logit, or score, for each class",
       .formula = b_class ? "pooled W_class + b_class" : "pooled W_class",
       .from = from,
       .axes = {"class"},
       .note = std::string("Logit c is the dot product of pooled and column c of W_class: the more the two "
                           "point the same way, the higher it is. ") +
               (b_class ? "The bias b_class is what a class gets in any case. "
                        : "A bias would be 0 before training, and is left out. ") +
               "(In training PyTorch's cross_entropy, which compares with the right class, is given these "
               "logits: it takes the softmax itself.)",
       .worked = b_class ? attn::worked_linear(known_pooled, W_class, attn::Known<1>{"b_class", *b_class})
                         : attn::worked_linear(known_pooled, W_class)},
      b_class ? attn::linear(pooled, weights.W_class, *b_class) : attn::linear(pooled, weights.W_class));
}

}  // namespace

Classification classify(Workbench& bench, const Tensor<3>& encoded, const ClassifierWeights& weights,
                        const std::vector<std::size_t>& lengths, const std::optional<Mask<3>>& mask) {
  auto& trace = bench.trace;
  auto attended = trace.within("attention", [&] {
    return attend_and_normalize(bench, {"encoded", encoded}, weights, mask);
  });
  const auto& normalized = attended.normalized;
  if (bench.options.model && !bench.is_mute()) explain_attention_received(bench, attended.weights);

  const bool is_padded = bench.plan.sentence.is_padded();
  std::vector<std::string> from = {"attention/normalized"};
  if (is_padded) from.push_back("lengths");
  const auto pooled = trace.step(
      {.id = "pooled",
       .title = "One vector for the sentence",
       .formula = is_padded ? "Σ normalized over the real tokens / lengths"
                            : fmt::format("Σ normalized over the tokens / {}", encoded.shape(1)),
       .from = from,
       .axes = {"d_model"},
       .note = fmt::format("This vector is as long for any sentence. One more word adds a row to "
                           "normalized, a row and a column to weights, and the mean divides by {}.",
                           is_padded ? std::string("one more") : fmt::format("{}", encoded.shape(1) + 1)),
       .worked = attn::worked_mean_pool({"attention/normalized", normalized}, lengths)},
      attn::mean_pool(normalized, lengths));

  const auto logits = logits_of_classes(bench, pooled, weights);
  const auto probabilities = trace.step(
      {.id = "probabilities",
       .title = "The probability of each class",
       .formula = "softmax(logits)",
       .from = {"logits"},
       .axes = {"class"},
       .note = bench.options.model
                   ? "Training moved each parameter a little, again and again, to make the right class of "
                     "known sentences likelier. Nobody told it which words to look at."
                   : "Nothing has been trained: the parameters are drawn at random, and the verdict means "
                     "nothing. Training would show the model sentences whose class is known, and move each "
                     "parameter a little so that the probability of the right class grows.",
       .worked = attn::worked_softmax(attn::Known{"logits", logits})},
      attn::softmax(logits));
  return {std::move(attended.residual), pooled, logits, probabilities};
}

namespace {

/// The classifier once more, with nothing shown, for sentences of these lengths.
Classification classify_again(const Workbench& bench, const Tensor<3>& encoded,
                              const ClassifierWeights& weights, const std::vector<std::size_t>& lengths) {
  auto mute = bench.mute();
  return classify(mute, encoded, weights, lengths,
                  attn::padding_mask(lengths, encoded.shape(1), encoded.shape(1)));
}

/// `encoded` with two more positions behind each sentence, which hold no token.
Tensor<3> with_more_padding(const Tensor<3>& encoded) {
  const auto n = encoded.shape(1), d_model = encoded.shape(2);
  auto added = attn::sinusoidal_encoding(n + 2, d_model);
  std::fill_n(added.begin(), n * d_model, 0.0);
  return attn::add_positions(attn::with_zero_rows(encoded, 2), added);
}

/// Whether the classes are those of the model sentiment.
bool has_sentiment(const Workbench& bench) {
  return bench.options.model && *bench.options.classes == sentiments.size();
}

/// What the tutorial's code does with padding and with dropout, and how far that goes wrong.
void explain_tutorial(Workbench& bench, const Tensor<3>& encoded, const Tensor<2>& pooled,
                      const ClassifierWeights& weights) {
  const auto padded = with_more_padding(encoded);
  const std::vector<std::size_t> all(padded.shape(0), padded.shape(1));
  const double shift = attn::max_abs_difference(classify_again(bench, padded, weights, all).pooled, pooled);
  const auto example = fmt::format(
      "With two more positions of padding here, that would move numbers of the pooled vector by up to "
      "{:.4f}. ",
      shift);
  bench.trace.note("padding", "Padding is no word",
                   "Tutorials write torch.mean(x, dim=1) and give attention no mask. For one sentence that "
                   "is right. In a batch the shorter sentences are filled up with padding, and then every "
                   "query looks at it too and the mean counts it. " +
                       (shift >= 0.0001 ? example : "") +
                       "Hide the padding from attention and divide by the number of real tokens.");
  bench.trace.note("training-mode", "Switch dropout off before you use it",
                   "The tutorial makes its model and calls it. A PyTorch model begins in training mode, so "
                   "dropout is on, in attention and behind W_O, and every call gives other scores. "
                   "model.eval() switches it off. There is no dropout in this lesson.");
}

/// What the first sentence would get if its tokens stood in reverse.
void explain_order(Workbench& bench, const Tensor<3>& X, const Tensor<2>& positions,
                   const Tensor<2>& probabilities, const ClassifierWeights& weights) {
  const auto& sentence = bench.plan.sentence;
  const auto& tokens = sentence.tokens[0];
  if (std::equal(tokens.begin(), tokens.end(), tokens.rbegin())) return;
  const auto backwards = attn::permute_rows(X, attn::reversal(sentence.lengths(), sentence.length()));
  const auto reversed =
      classify_again(bench, attn::add_positions(backwards, positions), weights, sentence.lengths());
  const double backward = reversed.probabilities(0, 0), forward = probabilities(0, 0);
  bench.trace.note(
      "word-order", "Word order can matter because of the positions",
      fmt::format("The mean is the same in whatever order the rows come, so only the positions tell the "
                  "order. With its words in reverse {} would get {:.4f} instead of {:.4f} for {}{}. Without "
                  "positions it would get the same both ways.",
                  sentence.size() == 1 ? "the sentence" : "the first sentence", backward, forward,
                  has_sentiment(bench) ? "negative" : "class 0",
                  std::abs(backward - forward) < 0.05 ? ": here the order matters little" : ""));
}

/// What rounding may do to the mean of layer norm(residual).
attn::Limit rounding_of_pooled(const attn::Trace& trace, const Tensor<3>& residual,
                               const attn::LayerNormWeights& norm) {
  return rounding(trace, attn::max_abs(residual) * attn::magnification(residual) * attn::max_abs(norm.gain) +
                             attn::max_abs(norm.bias));
}

void claim_classifier(Workbench& bench, const Tensor<3>& X, const Tensor<3>& encoded,
                      const ClassifierWeights& weights, const Tensor<2>& pooled,
                      const Tensor<2>& probabilities) {
  const auto& sentence = bench.plan.sentence;
  const auto lengths = sentence.lengths();
  auto& trace = bench.trace;
  trace.claim({.id = "probabilities-sum-to-1",
               .claim = "the probabilities sum to 1",
               .formula = "max |Σ probabilities − 1|",
               .value = attn::row_sum_deviation(probabilities),
               .limit = rounding(bench.trace)});

  const auto again = classify_again(bench, encoded, weights, lengths);
  trace.claim({.id = "equals-layer",
               .claim = "the whole classifier, computed once more from encoded, gives the same probabilities",
               .formula = "max |classifier(encoded) − probabilities|",
               .value = attn::max_abs_difference(again.probabilities, probabilities),
               .limit = attn::exactly(0.0)});

  const auto padded = classify_again(bench, with_more_padding(encoded), weights, lengths);
  trace.claim({.id = "padding-changes-nothing",
               .claim = "two more <pad>, hidden by the mask: the same pooled",
               .formula = "max |pooled of the padded sentence − pooled|",
               .value = attn::max_abs_difference(padded.pooled, pooled),
               .limit = rounding_of_pooled(bench.trace, again.residual, weights.norm)});

  const auto backwards = attn::reversal(lengths, sentence.length());
  const auto bag = classify_again(bench, X, weights, lengths);
  const auto reversed_bag = classify_again(bench, attn::permute_rows(X, backwards), weights, lengths);
  trace.claim({.id = "no-order-without-positions",
               .claim = "without positions, reversed words: the same pooled",
               .formula = "max |pooled(reverse(X)) − pooled(X)|",
               .value = attn::max_abs_difference(reversed_bag.pooled, bag.pooled),
               .limit = rounding_of_pooled(bench.trace, bag.residual, weights.norm)});
}

/// Drawn in the order attention, classes.
ClassifierWeights draw_classifier_weights(Workbench& bench) {
  auto& trace = bench.trace;
  auto attention = trace.within("attention", [&] { return draw_multihead_weights(bench); });
  auto norm = trace.within("attention", [&] { return layer_norm_weights(bench, "norm"); });
  auto W_class = bench.input<2>(
      {.id = "W_class", .title = "Makes a score for each class", .note = "A column for each class."});
  std::optional<Tensor<1>> b_class;
  if (trace.is_given("b_class"))
    b_class = bench.input<1>({.id = "b_class", .title = "A bias for each class: what no word decides"});
  return {std::move(attention), std::move(norm), std::move(W_class), std::move(b_class)};
}

/// The class of the first sentence, and what it is worth.
std::string about_verdict(const attn::Event& probabilities) {
  const auto& shares = *probabilities.tensor;
  const bool is_batch = shares.shape.size() > 1;
  std::size_t verdict = 0;
  for (std::size_t c = 1; c < shares.shape.back(); ++c)
    if (shares.at(c) > shares.at(verdict)) verdict = c;
  const auto name = name_along(probabilities, shares.shape.size() - 1, verdict);
  return fmt::format("The verdict{}: {}{}, with {:.4f}. ", is_batch ? " on the first sentence" : "",
                     probabilities.labels.back().empty() ? "class " : "", name, shares.at(verdict)) +
         probabilities.note;
}

/// Where the position's number in the worked entry comes from: column 0 is the sine of the place.
std::string about_encoded(const attn::Event& encoded) {
  const std::string same_word = "The same word at two places has two different rows.";
  const auto at = attn::entry_to_work_out(encoded);
  if (!at || at->back() != 0) return same_word;
  const auto place = (*at)[at->size() - 2];
  double added = 0.0;
  encoded.worked(*at).for_each_entry([&](const attn::Operand&, double value) { added = value; });
  if (std::abs(added - std::sin(static_cast<double>(place))) > 1e-6) return same_word;
  return fmt::format("{} = sin({}): \"{}\" is at place {}, counted from 0.",
                     attn::worked_number({{}, added}, 4), place,
                     name_along(encoded, encoded.axes.size() - 2, place), place);
}

/// What each head has learned to look for, as far as this sentence shows it.
std::string what_heads_look_for(const attn::Event& weights) {
  return "The verdict needs the word of praise or blame, and whether it is negated. " +
         heads_look_at(weights) +
         " The verdict uses only the mean over the words, so training had no reason to let different words "
         "look at different places.";
}

void choose_trained_page(Workbench& bench) {
  using attn::in_one_line;
  std::vector<attn::OnPage> page;
  for (const auto* id : {"lengths", "X", "positions"}) page.push_back(in_one_line(id));
  page.push_back(attn::without_table("encoded", about_encoded));
  for (const auto* id : {"mask", "Q", "K", "V", "scores", "scaled", "masked"})
    page.push_back(in_one_line(std::string("attention/") + id));
  page.push_back({"attention/weights", what_heads_look_for});
  page.push_back({"attention-received"});
  page.push_back(in_one_line("attention/heads"));
  page.push_back(in_one_line("attention/output"));
  page.push_back(attn::without_table("attention/residual", [](const auto&) {
    return "A residual connection: what attention found is added to each token.";
  }));
  page.push_back(attn::without_table("attention/normalized", [](const auto&) {
    return "LN(x) = (x − mean) / √(variance + 1e−05) · gain + bias. Mean and variance are those of the "
           "token's row. Gain and bias are learned.";
  }));
  page.push_back({"pooled"});
  page.push_back({"logits", [](const auto&) {
                    return "A logit is pooled times a column of W_class, plus a bias (--steps W_class).";
                  }});
  page.push_back({"probabilities", about_verdict});
  page.push_back({"word-order"});
  bench.trace.page(page, {"probabilities-sum-to-1", "padding-changes-nothing", "no-order-without-positions"});
}

void choose_classifier_page(Workbench& bench) {
  if (bench.options.model) return choose_trained_page(bench);
  std::vector<attn::OnPage> page = {attn::in_one_line("lengths"), {"X"}, {"positions"}, {"encoded"}};
  for (const auto* id : {"mask", "Q", "K", "V", "scores", "scaled", "masked", "weights", "heads", "output"})
    page.push_back(attn::in_one_line(std::string("attention/") + id));
  page.push_back({"attention/residual", [](const attn::Event&) {
                    return "What attention found is added to each token. A query is a token that asks: the "
                           "rows are those of the tokens.";
                  }});
  page.push_back({"attention/normalized"});
  for (const auto* id : {"pooled", "W_class", "logits"}) page.push_back({id});
  page.push_back({"probabilities", about_verdict});
  page.push_back({"word-order"});
  bench.trace.page(page, {"attention/rows-sum-to-1", "probabilities-sum-to-1", "padding-changes-nothing",
                          "no-order-without-positions"});
}

std::vector<std::string> classifier_flow(const Workbench& bench) {
  const auto n = bench.plan.sentence.length(), d = bench.d_model(), classes = *bench.options.classes;
  return {fmt::format("X [{0}×{1}] + positions [{0}×{1}] → attention + residual → LN [{0}×{1}]", n, d),
          fmt::format("   → mean over the tokens → pooled [{}]", d),
          fmt::format("   → W_class [{1}×{0}]{2} → logits [{0}] → softmax → probabilities", classes, d,
                      bench.trace.is_given("b_class") ? " + b_class" : ""),
          fmt::format("with {} in attention", shapes_of_projections(bench))};
}

void show_classifier_code(Workbench& bench, const std::optional<Mask<3>>& mask, bool has_more_positions) {
  const bool takes_biases = !given_biases(bench, "attention/").empty();
  bench.trace.within("attention", [&] { bench.code(multihead_definition(bench, mask, takes_biases)); });
  const bool has_weights = bench.options.model.has_value();
  std::vector<std::string> lines = {
      has_weights ? "# --all shows softmax() and split(); hstack puts the heads side by side"
                  : "# softmax(), multihead(): attention as in the lesson multihead; see --all"};
  for (auto& line : layer_norm_code()) lines.push_back(std::move(line));
  lines.emplace_back("");
  lines.emplace_back(has_more_positions ? "encoded = X + positions[:len(X)]" : "encoded = X + positions");
  for (auto& line : has_weights ? attention_code_with_weights(bench.d_k(), "encoded", mask.has_value())
                                : multihead_call(bench, "attention", "encoded", "encoded", mask.has_value()))
    lines.push_back(std::move(line));
  const std::vector<std::string> more = {
      "attention_residual = encoded + attention_output",
      "attention_normalized = LN(attention_residual, attention_norm_gain,",
      "                          attention_norm_bias)",
      fmt::format("pooled = attention_normalized{}.mean(axis=0)",
                  bench.plan.sentence.is_padded() ? "[:lengths]" : ""),
      bench.trace.is_given("b_class") ? "logits = pooled @ W_class + b_class" : "logits = pooled @ W_class",
      "probabilities = softmax(logits)"};
  lines.insert(lines.end(), more.begin(), more.end());
  bench.code(lines);
}

void run_classifier(Workbench& bench) {
  require_pairs(bench.options, "sinusoidal positions");
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);
  auto& trace = bench.trace;
  if (has_sentiment(bench)) trace.label("class", {{{sentiments.begin(), sentiments.end()}}});
  choose_classifier_page(bench);
  bench.idea(
      "A sentence goes in, a verdict comes out: " +
          (has_sentiment(bench) ? std::string("is it negative or positive?")
           : *bench.options.classes == 2
               ? std::string("is it a complaint (class 1) or not?")
               : fmt::format("which of {} classes does it belong to?", *bench.options.classes)) +
          "\n1. The vector of each word, its embedding, is added to that of its position.\n2. Attention and "
          "layer norm (LN) rewrite each word, given the others.\n3. The mean of the words is one vector for "
          "the sentence.\n4. The matrix W_class makes of it a score for each class." +
          (bench.options.model ? "\nAll weights were trained (attnlab train sentiment)." : ""),
      trace.is_given("b_class") ? "pooled = mean(LN(encoded + attention(encoded)))\n"
                                  "probabilities = softmax(pooled W_class + b_class)"
                                : "probabilities = softmax(mean(LN(encoded + attention(encoded))) W_class)");
  bench.flow(classifier_flow(bench));
  bench.show_lengths(sentence);
  const auto X = bench.input<3>(
      {.id = "X",
       .title = "The sentence as vectors",
       .note = "The embedding: one row a token; the same word has the same row wherever it stands."});
  const auto n = sentence.length(), rows = bench.length_of_given("positions", "position", n);
  const auto all_positions =
      trace.input({.id = "positions",
                   .title = "What says where a token stands",
                   .formula = "sin and cos of p · 10000^(−2i/d), at 2i and 2i + 1",
                   .axes = {"position", "d_model"},
                   .note = "Row p stands for position p; the numbers 2i and 2i + 1 of a row belong together. "
                           "This is the sinusoidal encoding of the first transformer (see the lesson "
                           "positional). It is computed, not learned, and needs an even d_model." +
                           (rows > n ? fmt::format(" Of the {} given rows the first {} are in use.", rows, n)
                                     : std::string())},
                  attn::sinusoidal_encoding(rows, bench.d_model()));
  const auto positions = attn::rows(all_positions, 0, n);
  const auto weights = draw_classifier_weights(bench);
  const auto mask = trace.within("attention", [&] { return bench.padding_mask(sentence); });
  show_classifier_code(bench, mask, rows > n);

  const auto encoded =
      trace.step({.id = "encoded",
                  .title = "Each token and its place",
                  .formula = rows > n ? fmt::format("X + positions[:{}]", n) : "X + positions",
                  .from = {"X", "positions"},
                  .axes = {"token", "d_model"},
                  .note = "Row p of the positions is added to token p, so the same word at two places has "
                          "two different rows. (The first transformer multiplies the embeddings by √d_model "
                          "before; this lesson does not.)",
                  .worked = attn::worked_add_positions({"X", X}, {"positions", positions})},
                 attn::add_positions(X, positions));
  const auto shown = classify(bench, encoded, weights, sentence.lengths(), mask);

  explain_tutorial(bench, encoded, shown.pooled, weights);
  explain_order(bench, X, positions, shown.probabilities, weights);
  claim_classifier(bench, X, encoded, weights, shown.pooled, shown.probabilities);
  if (bench.options.model)
    return bench.try_next({{"classifier --sentence \"the film was good\"", "without \"not\""},
                           {"classifier --sentence \"the film was hardly good\"", "another negator?"},
                           {"generate", "a model that writes: its classes are words"}});
  bench.try_next(
      {{"classifier --model none --sentence \"good not was film the\"", "the same words in reverse"},
       {"classifier --sentence \"the film was not good\" --sentence \"i love cats\"",
        "two sentences of different length: what does <pad> get?"},
       {"generate", "a model that writes: its classes are words"}});
}

void give_sentiment(ModelInputs& inputs) {
  if (inputs.number("layers") != 1 || inputs.number("d_ff") != 0)
    throw attn::Error(
        "this lesson's classifier has one layer of attention and no feed-forward network, the model has "
        "more; valid: --model sentiment, one that was trained without --layers and --d-ff, or none");
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", inputs.rows("embedding", "words", inputs.sentence()));
  for (const std::string id : {"W_Q", "W_K", "W_V", "W_O"})
    inputs.give("attention/" + id, inputs.matrix("layer=1/attention/" + id));
  for (const std::string id : {"gain", "bias"})
    inputs.give("attention/norm/" + id, inputs.vector("layer=1/norm_1/" + id));
  inputs.give("W_class", inputs.matrix("output/W"));
  inputs.give("b_class", inputs.vector("output/b"));
}

std::vector<Input> classifier_inputs(const Options&) {
  return joined({{{"X", {"token", "d_model"}, Draw::embedding},
                  {"positions", {"position=token…", "d_model"}, Draw::page}},
                 in_group("attention", multihead_input_list()),
                 in_group("attention", multihead_bias_list()),
                 {{"attention/norm/gain", {"d_model"}, Draw::ones},
                  {"attention/norm/bias", {"d_model"}, Draw::zeros},
                  {"W_class", {"d_model", "class"}, Draw::weight},
                  {"b_class", {"class"}, Draw::zeros},
                  {"attention/mask", {"query", "key"}, Draw::page}}});
}

}  // namespace

extern const Lesson classifier;
const Lesson classifier = {
    .name = "classifier",
    .title = "from a sentence to a class: embed, attend, average, decide",
    .teaches =
        "How attention becomes a classifier of sentences: embeddings and sinusoidal positions, one layer of "
        "multi-head attention with its residual connection and layer norm, the mean over the real tokens, "
        "and a linear layer with a softmax over the classes. What padding must not do, and why the positions "
        "are needed.",
    .options = {"sentence", "d-model", "d-k", "d-v", "heads", "kv-heads", "classes", "seed", "rng", "draws",
                "weight-scale", "embeddings", "model", "dtype"},
    .of_detail = {"d-k", "d-v", "kv-heads"},
    .defaults = {.sentence = {"the film was not good"}, .d_model = 4, .heads = 2, .classes = 2},
    .examples =
        {"classifier --sentence \"the movie was really great\"",
         "classifier --sentence \"a great movie\" --sentence \"not a great movie at all\" --classes 3"},
    .inputs = classifier_inputs,
    .trained = Trained{.task = "sentiment", .give = give_sentiment, .reads = Reads::alike},
    .run = run_classifier,
};

}  // namespace lessons
