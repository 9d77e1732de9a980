/// Cross-attention: the queries come from one sentence, the keys and values from another.
/// Sources: Bahdanau et al. 2014 (the idea, for translation); Vaswani et al. 2017, section 3.2.3 (this form).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/width.hpp"
#include "lessons/cross_attention/trained.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead.hpp"
#include "lessons/self_attention.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

void claim_independent_lengths(Workbench& bench, const Projections& projected, const Attention<3>& attention,
                               const std::optional<Mask<3>>& mask) {
  auto mute = bench.mute();
  const auto& [Q, K, V] = projected;
  const auto output = attention.dropped ? attn::matmul(attention.weights, V) : attention.output;
  const auto limit =
      rounding(bench.trace, magnitude_of_scores(Q, K, divisor_of(bench.d_k(), bench.options.temperature)) *
                                attn::max_abs(V));

  const auto mask_of_first = mask ? std::optional(attn::first_rows(*mask, 1)) : std::nullopt;
  const auto alone = scaled_dot_product_attention(mute, attn::first_rows(Q, 1), K, V, mask_of_first);
  bench.trace.claim({.id = "queries-are-independent",
                     .claim = "the first target word alone: its output is the same",
                     .formula = "max |attention(Q[:1], K, V) − output[:1]|",
                     .value = attn::max_abs_difference(alone.output, attn::first_rows(output, 1)),
                     .limit = limit});

  const auto doubled_mask = mask ? std::optional(attn::columns_twice(*mask)) : std::nullopt;
  const auto doubled =
      scaled_dot_product_attention(mute, Q, attn::rows_twice(K), attn::rows_twice(V), doubled_mask);
  bench.trace.claim({.id = "key-count-is-free",
                     .claim = "each row of X_source twice: the output is the same",
                     .formula = "max |attention(Q, [K; K], [V; V]) − output|",
                     .value = attn::max_abs_difference(doubled.output, output),
                     .limit = limit});
}

/// The way of both sentences through a single attention, with shapes.
std::vector<std::string> cross_attention_flow(const Workbench& bench, bool is_masked) {
  const auto n_q = bench.plan.target.length(), n_k = bench.plan.source.length();
  const auto target = fmt::format("X_target [{}×{}] ", n_q, bench.d_model()),
             source = fmt::format("X_source [{}×{}] ", n_k, bench.d_model());
  const auto left = std::max(attn::display_width(target), attn::display_width(source));
  const auto attention = attention_flow(bench, n_q, n_k, is_masked, 0);
  for (const bool has_shapes : {true, false}) {
    const auto names = names_of_projections(bench, has_shapes);
    const auto& [W_Q, W_K, W_V] = names;
    const std::vector<std::string> lines = {
        attn::pad_right(target, left) + "─ " + W_Q + attention[0],
        std::string(left + attn::display_width(W_Q) + 2, ' ') + attention[1],
        attn::pad_right(source, left) + "┬ " + W_K + attention[2],
        std::string(left, ' ') + "└ " + W_V + attention[3]};
    if (width_of_flow(lines) <= columns_of_flow) return lines;
  }
  std::vector<std::string> lines = {target + "─ W_Q → Q", source + "─ W_K → K, W_V → V"};
  lines.insert(lines.end(), attention.begin(), attention.end());
  return lines;
}

std::vector<std::string> cross_attention_flow_of_heads(const Workbench& bench) {
  const auto n_q = bench.plan.target.length(), n_k = bench.plan.source.length();
  const auto d = bench.d_model(), h = bench.heads(), kv = bench.kv_heads();
  const auto target = fmt::format("X_target [{}×{}] ", n_q, d),
             source = fmt::format("X_source [{}×{}] ", n_k, d);
  const auto left = std::max(attn::display_width(target), attn::display_width(source));
  const auto of_head = [](const char* name, std::size_t heads, std::size_t rows, std::size_t columns) {
    return fmt::format("{} [{}×{}×{}]", name, heads, rows, columns);
  };
  const auto Q = of_head("Q_heads", h, n_q, bench.d_k()), K = of_head("K_heads", kv, n_k, bench.d_k()),
             V = of_head("V_heads", kv, n_k, bench.d_v());
  const auto width = std::max({attn::display_width(Q), attn::display_width(K), attn::display_width(V)});
  const auto weights = of_head("weights", h, n_q, n_k);
  std::string line;
  for (std::size_t i = 0; i < attn::display_width(weights) + 1; ++i) line += "─";
  return {attn::pad_right(target, left) + "→ " + attn::pad_right(Q, width) + " ┐",
          attn::pad_right(source, left) + "→ " + attn::pad_right(K, width) + " ┴ " + weights + " ┐",
          std::string(left, ' ') + "↘ " + attn::pad_right(V, width) + " ──" + line + "┴ heads",
          fmt::format("{} → concat [{}×{}] → W_O → output [{}×{}]", of_head("heads", h, n_q, bench.d_v()),
                      n_q, h * bench.d_v(), n_q, d)};
}

/// Multi-head cross-attention in NumPy, as these options have it.
std::vector<std::string> cross_attention_code_of_heads(const Workbench& bench,
                                                       const std::optional<Mask<3>>& mask) {
  const auto h = bench.heads(), kv = bench.kv_heads();
  auto lines = softmax_code();
  const auto add = [&](std::vector<std::string> more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  const auto repeated = [&](const std::string& name) {
    return kv == h ? name : fmt::format("{}.repeat({}, axis=0)", name, h / kv);
  };
  add({"def split(x, heads):", "    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)", ""});
  add(projection_code(bench, "X_target", "X_source"));
  add({fmt::format("Q_heads, K_heads, V_heads = split(Q, {0}), split(K, {1}), split(V, {1})", h, kv)});
  add({fmt::format("scores = Q_heads @ {}.swapaxes(1, 2)", repeated("K_heads")),
       bench.options.temperature == 1.0
           ? "scaled = scores / np.sqrt(Q_heads.shape[2])"
           : fmt::format("scaled = scores / (np.sqrt(Q_heads.shape[2]) * {})", bench.options.temperature)});
  if (mask) add({"masked = np.where(mask, scaled, -np.inf)"});
  const bool drops = bench.options.dropout > 0.0;
  add({mask && attn::has_empty_row(*mask) ? "weights = np.nan_to_num(softmax(masked))"
       : mask                             ? "weights = softmax(masked)"
                                          : "weights = softmax(scaled)"});
  if (drops) add({fmt::format("dropped = weights * dropout_mask / {}", 1.0 - bench.options.dropout)});
  const auto used = drops ? "dropped" : "weights";
  add({fmt::format("mean_weights = {}.mean(axis=0)", used),
       fmt::format("heads = {} @ {}", used, repeated("V_heads")),
       "concat = heads.swapaxes(0, 1).reshape(len(Q), -1)", "output = concat @ W_O" + bias_code(bench, "O")});
  return lines;
}

/// With a trained model beside it another head of its layer.
void attend_with_one_head(Workbench& bench, const Named& X_target, const Named& X_source,
                          const std::optional<AligningHeads>& heads) {
  const auto weights = draw_projection_weights(bench);
  const auto mask = bench.mask(bench.plan.target, bench.plan.source);
  bench.code(attention_code(bench, mask, projection_code(bench, "X_target", "X_source")));
  bench.flow(cross_attention_flow(bench, mask.has_value()));
  const auto projected = project(bench, X_target, X_source, weights,
                                 {.Q = "What each target word asks",
                                  .K = "What each source word can be found by",
                                  .V = "What each source word has to give"});
  const auto& [Q, K, V] = projected;
  const auto attention = scaled_dot_product_attention(bench, Q, K, V, mask);
  if (heads) {
    const auto other = show_other_head(bench, X_target, X_source, mask);
    show_gold_links(bench, *heads, attention.weights, other);
  }
  claim_attention(bench, attention, Q, K, V);
  claim_independent_lengths(bench, projected, attention, mask);
}

void attend_with_heads(Workbench& bench, const Named& X_target, const Named& X_source) {
  const auto weights = draw_multihead_weights(bench);
  const auto mask = bench.mask(bench.plan.target, bench.plan.source);
  bench.code(cross_attention_code_of_heads(bench, mask));
  bench.flow(cross_attention_flow_of_heads(bench));
  explain_parameters(bench);
  const auto attention = multihead_attention(bench, X_target, X_source, weights, mask);
  claim_multihead(bench, X_target, X_source, weights, attention, mask);
}

/// The source word that all target words together look at most; nothing of several heads, or where two are
/// the same but for rounding.
std::string most_looked_at(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const std::size_t rank = shape.size(), n_q = shape[rank - 2], n_k = shape.back();
  const auto strongest = strongest_pair(weights);
  if (weights.axes.front() == "head" || n_k < 2) return strongest;
  std::vector<double> totals(n_k, 0.0);
  for (std::size_t i = 0; i < n_q * n_k; ++i) totals[i % n_k] += weights.tensor->at(i);
  auto sorted = totals;
  std::sort(sorted.rbegin(), sorted.rend());
  if (!(sorted[0] - sorted[1] > 1e-3)) return strongest;
  const auto most = attn::argmax(totals.data(), totals.size());
  return fmt::format(
      "{} Each row sums to 1. The column of \"{}\" sums to {:.2f}: all target words together look at it "
      "most.",
      strongest, name_along(weights, rank - 1, most), totals[most]);
}

std::string what_a_word_more_would_do(const attn::Event& output) {
  const auto rows = output.tensor->shape[output.tensor->shape.size() - 2];
  return fmt::format(
      "One output row for each target word, here {}, whatever the source. One more target word adds a row to "
      "scores, weights and output, no more. One more source word adds a column to scores and weights; old "
      "weights get smaller. If each source word is doubled, copies share its weight and have its value.",
      rows);
}

std::vector<attn::OnPage> page_of_one_head() {
  return {
      {"X_target"},
      {"X_source"},
      attn::in_one_line("Q"),
      attn::in_one_line("K"),
      attn::in_one_line("V"),
      attn::in_one_line("mask"),
      {"scores", [](const auto&) { return "A row for each target word, a column for each source word."; }},
      attn::in_one_line("scaled"),
      attn::in_one_line("masked"),
      {"weights", most_looked_at},
      {"dropped"},
      {"dropout-at-inference"},
      {"output", what_a_word_more_would_do}};
}

/// Where the factors of the worked score stand.
std::string which_rows_are_multiplied(const attn::Event& scores) {
  if (!scores.worked_at) return "";
  const auto axes = scores.axes.size();
  return fmt::format("The first factors are the row \"{}\" of Q, the second the row \"{}\" of K.",
                     name_along(scores, axes - 2, (*scores.worked_at)[axes - 2]),
                     name_along(scores, axes - 1, (*scores.worked_at)[axes - 1]));
}

/// ` The whole row "chat": -0.3512, 0.1234.`: the worked row of a tensor, where it is short.
std::string worked_row(const attn::Event& event) {
  constexpr std::size_t most = 8;
  const auto length = event.tensor->shape.back();
  if (!event.worked_at || length > most) return "";
  const auto row = (*event.worked_at)[event.axes.size() - 2];
  std::vector<std::string> numbers;
  for (std::size_t j = 0; j < length; ++j)
    numbers.push_back(fmt::format("{:.4f}", event.tensor->at(row * length + j)));
  return fmt::format(" The whole row \"{}\": {}.", name_along(event, event.axes.size() - 2, row),
                     fmt::join(numbers, ", "));
}

std::string what_a_word_more_would_do_to_heads(const attn::Event& output) {
  std::string factors;
  if (output.worked_at)
    factors = fmt::format("The second factors are column {} of V (--steps V).{}\n", output.worked_at->back(),
                          worked_row(output));
  return factors +
         "One more target word at the end adds a row and leaves the others. One more source word adds a "
         "column and changes all: the encoder mixes the words.";
}

/// The page with trained weights: two heads of one layer.
std::vector<attn::OnPage> page_of_trained_heads(const AligningHeads& heads) {
  const auto what_crosses = [heads](const attn::Event& weights) {
    const auto crossing = words_that_cross(weights, weights.tensor->shape[weights.axes.size() - 2]);
    return fmt::format("This is head {} of the heads 0 to {}. {}", heads.aligning, heads.count - 1,
                       crossing.empty() ? "Here the words have one order in both languages." : crossing);
  };
  return {attn::in_one_line("Q"),
          attn::in_one_line("K"),
          attn::in_one_line("V"),
          attn::in_one_line("mask"),
          {"scores", which_rows_are_multiplied},
          attn::in_one_line("scaled"),
          attn::in_one_line("masked"),
          {"weights", what_crosses},
          {"dropped"},
          {"dropout-at-inference"},
          attn::without_table("output", what_a_word_more_would_do_to_heads),
          {"gold"}};
}

std::vector<attn::OnPage> page_of_heads() {
  std::vector<attn::OnPage> page;
  for (const auto* id :
       {"Q", "K", "V", "Q_heads", "K_heads", "V_heads", "mask", "scores", "scaled", "masked"})
    page.push_back(attn::in_one_line(id));
  page.insert(page.end(), {{"weights", most_looked_at},
                           {"dropped"},
                           {"dropout-at-inference"},
                           attn::in_one_line("heads"),
                           attn::in_one_line("concat"),
                           {"output", what_a_word_more_would_do}});
  return page;
}

/// A model has several heads, which the lesson multihead teaches; this page looks at one and then at another.
std::string about_the_transformer(const AligningHeads& heads, const attn::TokenBatch& target) {
  const auto& words = target.tokens.front();
  const auto row = followed_row(words.size());
  return fmt::format(
      "The numbers are those of a trained transformer. X_source is what its encoder made of the source. "
      "X_target is what its decoder made of the words that it had read. A row is named after the word to be "
      "written next: the row \"{0}\" has read \"<s>{1}\", where <s> is the start, but not \"{0}\".\n"
      "A layer of the decoder has {2} such attentions, called heads (lesson multihead). Each has its own "
      "W_Q, W_K and W_V. This page shows the head that finds best which word comes from which, and at the "
      "end the worst.",
      as_row_name(words[row]), row == 0 ? "" : " " + as_row_name(words[0]), heads.count);
}

void run_cross_attention(Workbench& bench) {
  const auto& source = bench.plan.source;
  const auto& target = bench.plan.target;
  bench.label({"source", "key"}, source);
  bench.label({"target", "query"}, target);

  const bool is_trained = shows_trained_heads(bench.options);
  const auto heads = is_trained ? std::optional(aligning_heads(bench)) : std::nullopt;
  bench.trace.page(
      bench.options.heads ? page_of_heads()
      : is_trained        ? page_of_trained_heads(*heads)
                          : page_of_one_head(),
      {"rows-sum-to-1", "queries-are-independent", "key-count-is-free", "equals-separate-heads"});
  bench.idea(
      "A translator has an encoder, which reads the source sentence, and a decoder, which writes the target "
      "sentence. The decoder looks into the source: queries come from the target, keys and values from the "
      "source.\n" +
          std::string(is_trained ? about_the_transformer(*heads, target)
                                 : "Trained weights tell which words belong together: chat looks at cat. "
                                   "Here they are random.") +
          temperature_in_words(bench.options),
      "Q = X_target W_Q,   K = X_source W_K,   V = X_source W_V\n"
      "Attention(Q, K, V) = " +
          attention_formula(bench.options, source.is_padded() || bench.trace.is_given("mask")));

  bench.show_lengths(source);
  if (is_trained) show_error_rates(bench);
  const auto X_target =
      bench.input<3>({.id = "X_target", .title = "The target sentence as vectors", .note = ""});
  const auto X_source =
      bench.input<3>({.id = "X_source",
                      .title = "The source sentence as vectors",
                      .note = "Worked lines use a row of Q, a row of K, a column of V; --all prints these."});
  if (bench.options.heads)
    attend_with_heads(bench, {"X_target", X_target}, {"X_source", X_source});
  else
    attend_with_one_head(bench, {"X_target", X_target}, {"X_source", X_source}, heads);
  if (is_trained)
    return bench.try_next({{"cross-attention --source \"I love cats\" --target \"J'aime les chats\"",
                            "\"les\" has no English word: where does it look?"},
                           {"masking", "hide words from each other"}},
                          {{"cross-attention --source \"a cat slept\" --target \"un chat dormait\"",
                            "one word for one: where do the heads differ?"}});
  bench.try_next(
      {{"cross-attention --source \"the cat\" --target \"le petit chat\"", "which tables get smaller?"},
       {"cross-attention --heads 2", "two of them at once (lesson multihead)"},
       {"masking", "hide words from each other"}});
}

std::vector<Input> cross_attention_inputs(const Options& options) {
  return joined(
      {{{"X_target", {"target", "d_model"}, Draw::embedding},
        {"X_source", {"source", "d_model"}, Draw::embedding}},
       options.heads ? multihead_input_list() : projection_input_list(),
       options.heads ? multihead_bias_list() : projection_bias_list(),
       shows_trained_heads(options) ? other_head_input_list() : std::vector<Input>(),
       {{"mask", {"query", "key"}, Draw::page}, {"dropout_mask", {"[head]", "query", "key"}, Draw::page}}});
}

}  // namespace

extern const Lesson cross_attention;
const Lesson cross_attention = {
    .name = "cross-attention",
    .title = "the words of one sentence look at the words of another",
    .teaches =
        "How a target sentence asks and a source sentence answers: queries from one, keys and values from "
        "the other, and an alignment table of target × source between them. By default the numbers are those "
        "of a trained transformer: a head that aligns the words, and one beside it that does not. With "
        "--heads it is multi-head cross-attention, the form inside a transformer's decoder.",
    .options = {"source", "target", "d-model", "d-k", "d-v", "heads", "kv-heads", "dropout", "temperature",
                "seed", "rng", "draws", "weight-scale", "embeddings", "model", "dtype"},
    .defaults = {.source = {"the black cat never slept"},
                 .target = {"le chat noir ne dormait jamais"},
                 .d_model = 4},
    .examples =
        {"cross-attention --source \"i love cats\" --target \"j'aime les chats\"",
         "cross-attention --source \"the cat sat on the mat\" --target \"le chat s'est assis\" --heads 2"},
    .inputs = cross_attention_inputs,
    .trained = Trained{.task = "translation",
                       .give = give_cross_attention,
                       .words = "source_words",
                       .target_words = "target_words",
                       .name = "translation-transformer",
                       .reads = Reads::pairs},
    .probe = Probe{{.source = {"a b c d e f g", "h i j k l", "m n o p"},
                    .target = {"q r s t u", "v w x", "y z"},
                    .d_model = 6,
                    .d_k = 5,
                    .d_v = 5,
                    .heads = 4,
                    .kv_heads = 2},
                   sharpen_source_and_target},
    .worksheet =
        Worksheet{
            {.source = {"the cat slept"}, .target = {"chat dormait"}, .d_model = 2, .d_k = 4, .d_v = 2}},
    .run = run_cross_attention,
};

}  // namespace lessons
