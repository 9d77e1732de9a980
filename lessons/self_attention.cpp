/// Self-attention: queries, keys and values all come from one sentence.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.

#include "lessons/self_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/self_attention/mistakes.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

Tensor<3> LinearMap::operator()(const Tensor<3>& X) const {
  return b ? attn::linear(X, W, *b) : attn::linear(X, W);
}

attn::WorkedOut worked_linear_map(const attn::WorkedOut& x, const std::string& name, const LinearMap& map) {
  const attn::Known<2> W{"W_" + name, map.W};
  if (!map.b) return attn::worked_linear(x, W);
  return attn::worked_linear(x, W, attn::Known<1>{"b_" + name, *map.b});
}

Tensor<3> show_linear(Workbench& bench, attn::About about, const Named& x, const std::string& name,
                      const LinearMap& map, const attn::Mistakes& mistakes) {
  about.formula = fmt::format("{} W_{}", x.id, name);
  about.from = {x.id, "W_" + name};
  if (map.b) {
    about.formula += " + b_" + name;
    about.from.push_back("b_" + name);
  }
  if (!about.worked) about.worked = worked_linear_map(attn::Known{x.id, x.tensor}, name, map);
  return bench.trace.step(about, map(x.tensor), mistakes);
}

ProjectionWeights draw_projection_weights(Workbench& bench) {
  auto W_Q = bench.input<2>({.id = "W_Q", .title = "Makes queries"});
  auto W_K = bench.input<2>({.id = "W_K", .title = "Makes keys"});
  auto W_V = bench.input<2>({.id = "W_V", .title = "Makes values"});
  auto b_Q = bench.input_if_given<1>({.id = "b_Q", .title = "Added to every query"});
  auto b_K = bench.input_if_given<1>({.id = "b_K", .title = "Added to every key"});
  auto b_V = bench.input_if_given<1>({.id = "b_V", .title = "Added to every value"});
  return {std::move(W_Q), std::move(W_K), std::move(W_V), std::move(b_Q), std::move(b_K), std::move(b_V)};
}

std::vector<Input> projection_input_list() {
  return {{"W_Q", {"d_model", "d_k"}, Draw::weight},
          {"W_K", {"d_model", "d_k"}, Draw::weight},
          {"W_V", {"d_model", "d_v"}, Draw::weight}};
}

std::vector<Input> projection_bias_list() {
  return {{"b_Q", {"d_k"}, Draw::given}, {"b_K", {"d_k"}, Draw::given}, {"b_V", {"d_v"}, Draw::given}};
}

std::string bias_code(const Workbench& bench, const std::string& name, const std::string& group,
                      const std::string& prefix) {
  return bench.plan.given.count(group + "b_" + name) > 0 ? fmt::format(" + {}b_{}", prefix, name) : "";
}

std::string attention_formula(const Options& options, bool is_masked) {
  return fmt::format("softmax(Q Kᵀ / {}{}) V", options.temperature == 1.0 ? "√d_k" : "(√d_k · T)",
                     is_masked ? " where mask, −∞ elsewhere" : "");
}

std::string temperature_in_words(const Options& options) {
  if (options.temperature == 1.0) return "";
  return fmt::format(" The scores are divided by T = {:g} besides, which makes {}.", options.temperature,
                     options.temperature > 1.0 ? "the shares more alike" : "the largest share larger");
}

std::vector<std::string> projection_code(const Workbench& bench, const std::string& X_query,
                                         const std::string& X_key) {
  const auto product = [&](const std::string& X, const char* name) {
    return fmt::format("{} @ W_{}{}", X, name, bias_code(bench, name));
  };
  const auto Q = product(X_query, "Q"), K = product(X_key, "K"), V = product(X_key, "V");
  const auto line = fmt::format("Q, K, V = {}, {}, {}", Q, K, V);
  constexpr std::size_t most_columns = 72;
  if (line.size() <= most_columns) return {line};
  return {"Q = " + Q, fmt::format("K, V = {}, {}", K, V)};
}

namespace {

/// With trained weights a query and the key that it looks at, the first of their numbers: the pair that later
/// steps work out.
struct RowsToWorkOut {
  std::optional<attn::Index> query, key;
};

RowsToWorkOut rows_to_work_out(const Workbench& bench, const Tensor<3>& X_query, const Tensor<3>& X_key,
                               const ProjectionWeights& weights) {
  if (!bench.options.model) return {};
  const auto query = followed_row(X_query.shape(1));
  const auto q = attn::rows(attn::sample(weights.Q()(X_query), 0), query, query + 1),
             K = attn::sample(weights.K()(X_key), 0);
  const auto scores = attn::matmul(q, attn::transpose(K));
  const auto key = attn::argmax(scores.data(), scores.size());
  return {attn::Index{query, 0}, attn::Index{key, 0}};
}

}  // namespace

Projections project(Workbench& bench, const Named& X_query, const Named& X_key,
                    const ProjectionWeights& weights, const ProjectionTitles& titles) {
  const std::vector maps = {weights.Q(), weights.K(), weights.V()};
  const double divisor = divisor_of(weights.W_Q.shape(1), bench.options.temperature);
  const auto at = rows_to_work_out(bench, X_query.tensor, X_key.tensor, weights);
  auto Q = show_linear(bench, {.id = "Q", .title = titles.Q, .axes = {"query", "d_k"}, .worked_at = at.query},
                       X_query, "Q", maps[0], mistakes_of_queries(X_query.tensor, maps, divisor));
  auto K = show_linear(bench, {.id = "K", .title = titles.K, .axes = {"key", "d_k"}, .worked_at = at.key},
                       X_key, "K", maps[1], mistakes_of_keys(X_query, X_key, maps, divisor));
  auto V = show_linear(bench, {.id = "V", .title = titles.V, .axes = {"key", "d_v"}}, X_key, "V", maps[2],
                       mistakes_of_keys_or_values(X_query, X_key, maps, 2));
  return {std::move(Q), std::move(K), std::move(V)};
}

Attention<3> single_head_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                   const ProjectionWeights& weights, const std::optional<Mask<3>>& mask) {
  const auto [Q, K, V] = project(bench, X_query, X_key, weights);
  return scaled_dot_product_attention(bench, Q, K, V, mask);
}

std::array<std::string, 3> names_of_projections(const Workbench& bench, bool has_shapes) {
  const auto with_shape = [&](const char* name, std::size_t columns) {
    return fmt::format("{} [{}×{}]", name, bench.d_model(), columns);
  };
  constexpr std::size_t most_columns = 13;
  std::array<std::string, 3> names = {with_shape("W_Q", bench.d_k()), with_shape("W_K", bench.d_k()),
                                      with_shape("W_V", bench.d_v())};
  const auto width = std::max(attn::display_width(names[0]), attn::display_width(names[2]));
  if (!has_shapes || width > most_columns) return {"W_Q → ", "W_K → ", "W_V → "};
  for (auto& name : names) name = attn::pad_right(name, width) + " → ";
  return names;
}

namespace {

/// Attention with its claims; returns its output without dropout. The scores of a long text fill the memory:
/// they are given back before another claim computes them again.
Tensor<3> attend_and_claim(Workbench& bench, const Tensor<3>& Q, const Tensor<3>& K, const Tensor<3>& V,
                           const std::optional<Mask<3>>& mask) {
  auto attention = scaled_dot_product_attention(bench, Q, K, V, mask);
  claim_attention(bench, attention, Q, K, V);
  return attention.dropped ? attn::matmul(attention.weights, V) : std::move(attention.output);
}

/// Reverses the real tokens of each sentence, attends again and puts the rows of the result back.
void claim_equivariance(Workbench& bench, const Tensor<3>& output, const Tensor<3>& Q, const Tensor<3>& K,
                        const Tensor<3>& V, const std::optional<Mask<3>>& mask) {
  auto mute = bench.mute();
  const auto backwards = attn::reversal(bench.plan.sentence.lengths(), bench.plan.sentence.length());
  const auto reversed_mask = mask ? std::optional(attn::permute_pairs(*mask, backwards)) : std::nullopt;
  const auto reversed =
      scaled_dot_product_attention(mute, attn::permute_rows(Q, backwards), attn::permute_rows(K, backwards),
                                   attn::permute_rows(V, backwards), reversed_mask)
          .output;
  bench.trace.claim(
      {.id = "permutation-equivariance",
       .claim = mask ? "reversed rows of X and mask give these outputs, reversed"
                     : "reversed rows of X give these outputs, reversed",
       .formula = "max |reverse(attention(reverse(X))) − attention(X)|",
       .value = attn::max_abs_difference(attn::permute_rows(reversed, backwards), output),
       .limit = rounding(bench.trace,
                         magnitude_of_scores(Q, K, divisor_of(bench.d_k(), bench.options.temperature)) *
                             attn::max_abs(V))});
}

/// "X [5×4] → W_Q → " before Q, and so on, to the left of the way through attention.
std::vector<std::string> self_attention_flow(const Workbench& bench, bool is_masked) {
  const auto tokens = bench.plan.sentence.length();
  const auto X = fmt::format("X [{}×{}] ", tokens, bench.d_model());
  const std::string margin(attn::display_width(X), ' ');
  const auto names = names_of_projections(bench);
  const auto& [W_Q, W_K, W_V] = names;
  const std::string gap(attn::display_width(W_Q), ' ');
  const auto room = columns_of_flow - attn::display_width("┌ " + W_Q);
  auto lines = attention_flow(bench, tokens, tokens, is_masked, room - std::min(room, margin.size()));
  if (width_of_flow(lines) + margin.size() > room)
    return {X, "├ " + W_Q + lines[0], "│ " + gap + lines[1], "├ " + W_K + lines[2], "└ " + W_V + lines[3]};
  lines[0] = margin + "┌ " + W_Q + lines[0];
  lines[1] = margin + "│ " + gap + lines[1];
  lines[2] = X + "┼ " + W_K + lines[2];
  lines[3] = margin + "└ " + W_V + lines[3];
  return lines;
}

std::string what_a_word_more_would_do(const attn::Event&) {
  return "One more word adds a row to X, Q, K, V and output, a row and a column to scores and weights.";
}

std::string order_and_a_word_more(const attn::Event&) {
  return "Order counts only through what is in X. One more word at the end adds a row "
         "to X, Q, K, V and "
         "output, a row and a column to scores and weights.";
}

std::string who_looks_at_whom(const attn::Event& weights) {
  return "See sdpa for scores and V. " + who_is_about_whom(weights);
}

/// Equal words have equal rows: without positions attention cannot tell them apart.
std::string equal_words(const attn::Event& weights) {
  const auto& labels = weights.labels[weights.axes.size() - 2];
  const auto tokens = labels.empty() ? std::vector<std::string>() : labels.of(0);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (std::size_t j = i + 1; j < tokens.size(); ++j)
      if (tokens[i] == tokens[j])
        return fmt::format(
            "The words \"{0}\" have the same vector in X. So their rows of Q, K, V, scores, weights and "
            "output are the same, and their columns of scores and weights: attention by itself does not know "
            "where a word stands (lesson positional).",
            tokens[i]);
  return strongest_pair(weights);
}

/// What a row of X is, what the three matrices make of it and why, and where all four come from.
std::string about_X_and_the_three(const Workbench& bench) {
  const bool is_trained = bench.options.model.has_value();
  return fmt::format(
      "A row of X has {} numbers (d_model): {}. {}W_Q, W_K and W_V turn it into query, key and value. "
      "Without W_Q and W_K two words would score each other alike, but a verb needs its subject more than a "
      "subject its verb.{}",
      bench.d_model(),
      is_trained ? "what a first layer made of the word and its neighbours" : "the vector of a word",
      is_trained ? "The trained " : "", is_trained ? "" : " What is not given is random.");
}

/// Where the factors of the worked entry of Q stand.
std::string which_factors_make_a_query(const attn::Event& Q, std::size_t d_model) {
  if (!Q.worked_at) return "";
  const auto axes = Q.axes.size();
  return fmt::format("These are {} products: row \"{}\" of X times column {} of W_Q (--steps X,W_Q).",
                     d_model, name_along(Q, axes - 2, (*Q.worked_at)[axes - 2]), Q.worked_at->back());
}

void run_self_attention(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);

  const bool is_masked =
      bench.options.causal || bench.options.window || sentence.is_padded() || bench.trace.is_given("mask");
  const bool is_trained = bench.options.model.has_value();
  constexpr std::size_t most_rows_of_all_tables = 3;
  const bool has_room = sentence.size() * sentence.length() <= most_rows_of_all_tables;
  const auto is_wanted = [&](const std::string& W) {
    const auto& set = bench.options.set;
    return has_room && std::any_of(set.begin(), set.end(), [&](const std::string& one) {
             return one.starts_with("X=") || one.starts_with(W + "=");
           });
  };
  bench.trace.page({is_trained ? attn::without_table("") : attn::OnPage{"X", nothing_to_notice},
                    {"Q",
                     is_trained ? attn::Notice([&bench](const auto& Q) {
                       return which_factors_make_a_query(Q, bench.d_model());
                     }) : [](const auto&) {
                       return std::string("Second factors in worked lines: a column of W_Q, a row of K, a column of V.");
                     }},
                    is_trained || is_wanted("W_K") ? attn::OnPage{"K", nothing_to_notice} : attn::in_one_line("K"),
                    is_wanted("W_V") ? attn::OnPage{"V", nothing_to_notice} : attn::in_one_line("V"),
                    attn::in_one_line("mask"),
                    is_trained ? attn::without_table("scores") : attn::OnPage{"scores", nothing_to_notice},
                    attn::in_one_line("scaled"),
                    attn::in_one_line("masked"),
                    {"weights", bench.options.model ? who_looks_at_whom
                                : is_masked         ? strongest_pair
                                                    : equal_words},
                    {"dropped"},
                    {"dropout-at-inference"},
                    {"output", is_masked    ? nothing_to_notice
                               : is_trained ? order_and_a_word_more
                                            : what_a_word_more_would_do}},
                   {"rows-sum-to-1", "equals-fused-kernel", "permutation-equivariance"});
  bench.idea(
      fmt::format(
          "Each token, here a word, becomes a mixture of the values of {}. Its query says what it looks for. "
          "Its key says what it can be found by. Its value is what it has to give.{}\n{}",
          is_masked ? "those tokens of its sentence that the mask lets it see"
                    : "all tokens of its sentence, itself included",
          temperature_in_words(bench.options), about_X_and_the_three(bench)),
      "Q = X W_Q,   K = X W_K,   V = X W_V\n"
      "output = " +
          attention_formula(bench.options, is_masked));

  bench.show_lengths(sentence);
  const auto X = bench.input<3>(
      {.id = "X",
       .title = "The sentence: a row a token, here a word",
       .note = bench.options.model ? where_X_comes_from
                                   : "One row a token, here a word; the same word always has the same row."});
  const auto weights = draw_projection_weights(bench);
  const auto mask = bench.mask(sentence, sentence);

  bench.flow(self_attention_flow(bench, mask.has_value()));
  bench.code(attention_code(bench, mask, projection_code(bench, "X", "X")));
  const auto [Q, K, V] = project(bench, {"X", X}, {"X", X}, weights);
  const auto output = attend_and_claim(bench, Q, K, V, mask);
  claim_equivariance(bench, output, Q, K, V, mask);
  if (is_trained)
    return bench.try_next({{"self-attention --sentence \"the animal left the street: it was tired\"",
                            "whom does \"it\" look at? And with \"wide\" in place of \"tired\"?"},
                           {"cross-attention", "two sentences: one asks, the other answers"}},
                          {{"self-attention --temperature 5", "a mixture that one can see"},
                           {"self-attention --sentence \"the animal left the street: it was wide\"",
                            "whom does \"it\" look at?"}});
  bench.try_next({{"self-attention --model none --sentence \"girls saw the dog\"", "what stays?"},
                  {"self-attention --explain 'weights[saw, girls]'", "another entry"},
                  {"cross-attention", "two sentences: one asks, the other answers"}});
}

std::vector<Input> self_attention_inputs(const Options&) {
  return joined({{{"X", {"token", "d_model"}, Draw::embedding}},
                 projection_input_list(),
                 projection_bias_list(),
                 {{"mask", {"query", "key"}, Draw::page}, {"dropout_mask", {"query", "key"}, Draw::page}}});
}

}  // namespace

extern const Lesson self_attention;
const Lesson self_attention = {
    .name = "self-attention",
    .title = "every token looks at every token of its own sentence",
    .teaches =
        "How a sentence becomes queries, keys and values through three weight matrices, and how each token's "
        "output is a mixture of all tokens' values. Without a position, attention does not know the order of "
        "the words: the lesson reverses them and shows that nothing else changes.",
    .options = {"sentence", "d-model", "d-k", "d-v", "causal", "window", "dropout", "temperature", "seed",
                "rng", "draws", "weight-scale", "embeddings", "model", "dtype"},
    .defaults = {.sentence = {"girls saw the small cat"}, .d_model = 4},
    .examples = {"self-attention --sentence \"the cat sat on the mat\"",
                 "self-attention --sentence \"i love cats\" --sentence \"cats sleep\" --causal"},
    .inputs = self_attention_inputs,
    .trained = Trained{.task = "about", .give = give_about, .reads = Reads::english},
    .probe = Probe{{.sentence = {"a b c d e f g", "h i j k l", "m n o p"},
                    .d_model = 6,
                    .d_k = 5,
                    .d_v = 5,
                    .window = 3,
                    .causal = true},
                   sharpen_token},
    .worksheet = Worksheet{{.sentence = {"the cat slept"}, .d_model = 2, .d_k = 4, .d_v = 2}},
    .run = run_self_attention,
};

}  // namespace lessons
