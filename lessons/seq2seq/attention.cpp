#include "lessons/seq2seq/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/scoring.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/sdpa/mistakes.hpp"
#include "lessons/seq2seq/encoder.hpp"
#include "lessons/worked.hpp"

namespace lessons {

bool attends_as(const Workbench& bench, const char* name) {
  return bench.options.attention == name;
}

bool attends_before_the_cell(const Options& options) {
  return options.attention == "bahdanau" || options.attention == "bahdanau-input";
}

bool asks_with_word(const Workbench& bench) {
  return attends_as(bench, "bahdanau-input");
}

bool compares_by_energy(const Workbench& bench) {
  return attends_before_the_cell(bench.options) || attends_as(bench, "luong-concat");
}

std::string plus_bias(const Workbench& bench, const std::string& name, const std::string& prefix) {
  return bias_code(bench, name, "attention/", prefix);
}

namespace {

SourceAttentionWeights draw_bahdanau(Workbench& bench) {
  const auto width = state_width(bench), d_a = *bench.options.d_a;
  SourceAttentionWeights weights;
  if (asks_with_word(bench))
    weights.W_q = bench.input<2>(
        {.id = "W_q",
         .title = "How scoring reads the decoder's state and the word",
         .note =
             fmt::format("Rows 0 to {} read the state before, the others the word that is read.", width - 1)},
        {width + bench.d_model(), d_a});
  else
    weights.W_q = bench.input<2>({.id = "W_q",
                                  .title = "How scoring reads the decoder's state",
                                  .note = "The transpose of W_a in Bahdanau et al., appendix A.1.2."},
                                 {width, d_a});
  weights.W_k = bench.input<2>({.id = "W_k",
                                .title = "How scoring reads a state of the encoder",
                                .note = "The transpose of U_a there."},
                               {width, d_a});
  weights.v_a = bench.input<1>({.id = "v_a", .title = "What each unit counts for"}, {d_a});
  weights.b_q = bench.input_if_given<1>({.id = "b_q", .title = "Added to what scoring reads of the query"});
  weights.b_k = bench.input_if_given<1>({.id = "b_k", .title = "Added to what scoring reads of a state"});
  return weights;
}

SourceAttentionWeights draw_luong_general(Workbench& bench) {
  const auto width = state_width(bench);
  SourceAttentionWeights weights;
  weights.W_a = bench.input<2>({.id = "W_a",
                                .title = "How the decoder's numbers meet the encoder's",
                                .note = "A row for each number of hₜ, a column for each number of eⱼ."},
                               {width, width});
  weights.b_a = bench.input_if_given<1>({.id = "b_a", .title = "Added to every hₜ W_a"});
  return weights;
}

SourceAttentionWeights draw_luong_concat(Workbench& bench) {
  const auto width = state_width(bench), d_a = *bench.options.d_a;
  SourceAttentionWeights weights;
  weights.W_a = bench.input<2>({.id = "W_a",
                                .title = "How scoring reads both states, end to end",
                                .note = fmt::format("Rows 0 to {} read hₜ, the others eⱼ.", width - 1)},
                               {2 * width, d_a});
  weights.v_a = bench.input<1>({.id = "v_a", .title = "What each unit counts for"}, {d_a});
  weights.b_a = bench.input_if_given<1>({.id = "b_a", .title = "Added to what scoring reads of both states"});
  return weights;
}

SourceAttentionWeights draw_multihead(Workbench& bench) {
  const auto width = state_width(bench);
  const auto draw = [&](const char* id, const char* title) {
    return bench.input<2>({.id = id, .title = title}, {width, width});
  };
  auto W_Q = draw("W_Q", "Makes the queries of all heads, from the decoder's states");
  auto W_K = draw("W_K", "Makes the keys of all heads, from the encoder's states");
  auto W_V = draw("W_V", "Makes the values of all heads, from the encoder's states");
  auto W_O = draw("W_O", "Mixes the outputs of the heads");
  SourceAttentionWeights weights;
  weights.multihead = {std::move(W_Q), std::move(W_K), std::move(W_V), std::move(W_O)};
  take_biases(bench, *weights.multihead);
  return weights;
}

/// The half of luong-concat's W_a that reads the query (0) or the key (1), so that no pairs need be formed:
/// [q; k] W_a = q W_a[upper half] + k W_a[lower half].
Tensor<2> half(const Tensor<2>& W_a, std::size_t index) {
  const std::size_t hidden = W_a.shape(0) / 2;
  return attn::rows(W_a, index * hidden, (index + 1) * hidden);
}

/// score(query, state) for every pair: [batch×target×source].
Tensor<3> score(const Workbench& bench, const Tensor<3>& queries, const Source& source,
                const SourceAttentionWeights& weights) {
  if (attends_before_the_cell(bench.options))
    return attn::additive_scores(weights.q()(queries), source.keys, *weights.v_a);
  if (attends_as(bench, "luong-concat"))
    return attn::additive_scores(attn::linear(queries, half(*weights.W_a, 0)), source.keys, *weights.v_a);
  if (attends_as(bench, "luong-general"))
    return attn::matmul(weights.a()(queries), attn::transpose(source.keys));
  return attn::matmul(queries, attn::transpose(source.keys));
}

/// Σₐ v_a (qᵢ + kⱼ) for every pair, without the tanh.
Tensor<3> additive_scores_without_tanh(const Tensor<3>& queries, const Tensor<3>& keys,
                                       const Tensor<1>& v_a) {
  auto scores = Tensor<3>::from_shape({queries.shape(0), queries.shape(1), keys.shape(1)});
  for (std::size_t b = 0; b < scores.shape(0); ++b)
    for (std::size_t i = 0; i < scores.shape(1); ++i)
      for (std::size_t j = 0; j < scores.shape(2); ++j) {
        double sum = 0.0;
        for (std::size_t a = 0; a < v_a.size(); ++a) sum += v_a(a) * (queries(b, i, a) + keys(b, j, a));
        scores(b, i, j) = sum;
      }
  return scores;
}

/// The classic mistakes of `scores`; `queries_before` may be null.
attn::Mistakes mistakes_of_score(const Workbench& bench, const Tensor<3>& queries,
                                 const Tensor<3>* queries_before, const Source& source,
                                 const SourceAttentionWeights& weights) {
  const auto width = static_cast<double>(queries.shape(2));
  attn::Mistakes mistakes = {{"scale-added", [&, width] {
                                return attn::divide(score(bench, queries, source, weights), std::sqrt(width));
                              }}};
  if (queries_before != nullptr)
    mistakes.emplace_back("query-step",
                          [&, queries_before] { return score(bench, *queries_before, source, weights); });
  if (weights.v_a)
    mistakes.emplace_back("additive-no-tanh", [&] {
      const auto asks = weights.W_q ? weights.q()(queries) : attn::linear(queries, half(*weights.W_a, 0));
      return additive_scores_without_tanh(asks, source.keys, *weights.v_a);
    });
  if (attends_as(bench, "luong-concat"))
    mistakes.emplace_back("concat-order:scores", [&] {
      return attn::additive_scores(attn::linear(queries, half(*weights.W_a, 1)),
                                   LinearMap{half(*weights.W_a, 0), weights.b_a}(source.states),
                                   *weights.v_a);
    });
  return mistakes;
}

/// Names the biases that a step reads.
void add_biases(const Workbench& bench, attn::About& about, const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (!plus_bias(bench, name).empty()) about.from.push_back("attention/b_" + name);
}

/// What the page says of `scores`.
attn::About about_scores(const Workbench& bench) {
  const auto states = encoder_states_id(bench);
  attn::About about = {.id = "scores",
                       .title = "How well does each source word match?",
                       .formula = "hₜ · eⱼ",
                       .from = {"h", states},
                       .axes = {"target", "source"},
                       .note =
                           "Nothing is learned here. It needs states of equal size that mean the same by the "
                           "same number."};
  if (attends_before_the_cell(bench.options)) {
    about.formula =
        fmt::format("v_a · tanh({} W_q{} + eⱼ W_k{})", asks_with_word(bench) ? "[hₜ₋₁; yₜ]" : "hₜ₋₁",
                    plus_bias(bench, "q"), plus_bias(bench, "k"));
    about.from = {"queries", states, "attention/W_q", "attention/W_k", "attention/v_a"};
    add_biases(bench, about, {"q", "k"});
    about.note =
        "A small network with one hidden layer compares what asks with every state of the "
        "encoder. Its eⱼ W_k needs no decoder and is computed once for all steps.";
  } else if (attends_as(bench, "luong-general")) {
    const auto bias = plus_bias(bench, "a");
    about.formula = bias.empty() ? "hₜ W_a · eⱼ" : fmt::format("(hₜ W_a{}) · eⱼ", bias);
    about.from = {"h", states, "attention/W_a"};
    add_biases(bench, about, {"a"});
    about.note = "A dot product that is learned.";
  } else if (attends_as(bench, "luong-concat")) {
    about.formula = fmt::format("v_a · tanh([hₜ; eⱼ] W_a{})", plus_bias(bench, "a"));
    about.from = {"h", states, "attention/W_a", "attention/v_a"};
    add_biases(bench, about, {"a"});
    about.note =
        "Bahdanau's network with both matrices in one, and asked by the state after the cell. The paper "
        "lists it beside dot and general, but it does not multiply the states: it is additive.";
  } else if (attends_as(bench, "multihead")) {
    about.formula = fmt::format("(hₜ W_Q{})ᵢ · (eⱼ W_K{})ᵢ for each head i", plus_bias(bench, "Q"),
                                plus_bias(bench, "K"));
    about.from = {"h", states, "attention/W_Q", "attention/W_K"};
    add_biases(bench, about, {"Q", "K"});
    about.note =
        "The lesson multihead shows how the heads are split. A scale follows, as in a transformer; the "
        "attentions of Bahdanau et al. and Luong et al. have none.";
  }
  return about;
}

attn::About about_masked(const std::string& last) {
  return {.id = "masked",
          .title = "Padding gets −∞",
          .formula = last + " where mask, −∞ elsewhere",
          .from = {last, "mask"},
          .axes = {"target", "source"},
          .note =
              "Code without this line gives <pad> a share of the attention, and the same sentence another "
              "translation in another batch."};
}

attn::About about_weights(const Workbench& bench, const std::string& last) {
  return {
      .id = "weights",
      .title = "The alignment",
      .formula = fmt::format("softmax({})", last),
      .from = {last},
      .axes = {"target", "source"},
      .note =
          std::string("Read a row as: to write this word, the decoder looks that much at each of those. ") +
          (bench.options.model
               ? "Nobody told the model which words belong together: it learned to look there."
               : "In a trained model the table shows which words translate which; these weights are drawn "
                 "at random and show nothing yet."),
      .distribution = true};
}

attn::About about_context(const Workbench& bench) {
  const auto states = encoder_states_id(bench);
  return {.id = "context",
          .title = "What each step takes home from the source",
          .formula = "weights · " + states,
          .from = {"weights", states},
          .axes = {"target", "hidden"},
          .note =
              "Row t is the average of the encoder's states, weighted with row t of the alignment. It may be "
              "another one at every step."};
}

/// The words of this page for the steps of the lesson multihead.
attn::Words words_for_multihead(const Workbench& bench, const Source& source) {
  const auto with_heads = [](attn::About about) {
    about.axes.insert(about.axes.begin(), "head");
    return about;
  };
  const auto states = encoder_states_id(bench);
  auto context = about_context(bench);
  context.formula = fmt::format("[head₁; …; headₕ] W_O{}, headᵢ = weightsᵢ ({} W_V{})ᵢ",
                                plus_bias(bench, "O"), states, plus_bias(bench, "V"));
  context.from = {"weights", states, "attention/W_V", "attention/W_O"};
  add_biases(bench, context, {"V", "O"});
  context.note = "";
  return {{"scores", with_heads(about_scores(bench))},
          {"scaled",
           {.id = "scaled",
            .title = "Scores of a size that does not depend on d_k",
            .formula = fmt::format("scores / √d_k = scores / √{}", state_width(bench) / bench.heads()),
            .from = {"scores"},
            .axes = {"head", "target", "source"}}},
          {"masked", with_heads(about_masked("scaled"))},
          {"weights", with_heads(about_weights(bench, source.is_padded() ? "masked" : "scaled"))},
          {"mean_weights",
           {.id = "mean_weights",
            .title = "The average of the heads' weights",
            .formula = fmt::format("Σᵢ weightsᵢ / {}", bench.heads()),
            .from = {"weights"},
            .axes = {"target", "source"},
            .note = "What PyTorch's nn.MultiheadAttention returns as weights unless told otherwise. "
                    "Nothing below is computed from it.",
            .distribution = true}},
          {"output", context}};
}

}  // namespace

SourceAttentionWeights draw_source_attention(Workbench& bench) {
  return bench.trace.within("attention", [&]() -> SourceAttentionWeights {
    if (attends_before_the_cell(bench.options)) return draw_bahdanau(bench);
    if (attends_as(bench, "luong-general")) return draw_luong_general(bench);
    if (attends_as(bench, "luong-concat")) return draw_luong_concat(bench);
    if (attends_as(bench, "multihead")) return draw_multihead(bench);
    return {};
  });
}

bool Source::is_padded() const {
  return std::any_of(lengths.begin(), lengths.end(),
                     [this](std::size_t length) { return length < states.shape(1); });
}

Source prepare_source(const Workbench& bench, const Tensor<3>& states,
                      const std::vector<std::size_t>& lengths, const SourceAttentionWeights& weights) {
  auto keys = states;
  if (attends_before_the_cell(bench.options)) keys = weights.k()(states);
  if (attends_as(bench, "luong-concat")) keys = LinearMap{half(*weights.W_a, 1), weights.b_a}(states);
  return {states, std::move(keys), lengths};
}

SourceAttention attend_to_source(Workbench& bench, const Tensor<3>& queries, const Source& source,
                                 const SourceAttentionWeights& weights, const Tensor<3>* queries_before) {
  auto& trace = bench.trace;
  std::optional<Mask<3>> mask;
  if (source.is_padded()) mask = attn::padding_mask(source.lengths, queries.shape(1), source.states.shape(1));

  if (weights.multihead) {
    const auto heads = bench.heads();
    auto several = trace.in_words(words_for_multihead(bench, source), [&] {
      return multihead_attention(bench, {"h", queries}, {encoder_states_id(bench), source.states},
                                 *weights.multihead, {heads, heads}, mask);
    });
    return {std::move(several.attention.scores), std::move(several.output)};
  }

  const auto scores = trace.step(about_scores(bench), score(bench, queries, source, weights),
                                 mistakes_of_score(bench, queries, queries_before, source, weights));
  const auto masked = mask ? trace.step(about_masked("scores"), attn::apply_mask(scores, *mask),
                                        mistakes_of_masked(bench, scores, *mask))
                           : scores;
  const auto shares = trace.step(about_weights(bench, mask ? "masked" : "scores"), attn::softmax(masked),
                                 mistakes_of_weights(bench, masked, scores, mask, 1.0));
  const auto mixture = attn::matmul(shares, source.states);
  const auto context =
      trace.step(about_context(bench), mixture, mistakes_of_output(bench, shares, source.states));
  return {attn::stack_heads(std::vector{scores}), context};
}

namespace {

using attn::Index;
using attn::Known;
using attn::Worked;
using attn::WorkedOut;

/// Σₖ xₖ W[first_row + k, column], x the row of what `rows` works out that begins with `at`, and + b[column].
struct Projection {
  WorkedOut rows;
  Known<2> W;
  std::size_t first_row, length;
  std::optional<Known<1>> b{};

  std::vector<Worked> products(Index at, std::size_t column) const {
    at.push_back(0);
    std::vector<Worked> products;
    for (; at.back() < length; ++at.back())
      products.push_back(Worked::product({rows(at), W({first_row + at.back(), column})}));
    if (b) products.push_back((*b)({column}));
    return products;
  }

  Worked operator()(const Index& at, std::size_t column) const { return Worked::sum(products(at, column)); }
};

/// x W_Q, and + b_Q, for `name` "Q".
Projection projection_of(const WorkedOut& rows, const std::string& name, const LinearMap& map) {
  Projection projection{rows, {"attention/W_" + name, map.W}, 0, map.W.shape(0)};
  if (map.b) projection.b.emplace(Known<1>{"attention/b_" + name, *map.b});
  return projection;
}

/// Σₐ v_a tanh(query W + state W).
WorkedOut worked_additive(const Projection& query, const Projection& state, Known<1> v_a) {
  return worked_of(4 * v_a.tensor.size() * query.length, [=](const Index& at) {
    std::vector<Worked> terms;
    for (std::size_t a = 0; a < v_a.tensor.size(); ++a) {
      auto products = query.products({at[0], at[1]}, a);
      for (auto& product : state.products({at[0], at[2]}, a)) products.push_back(std::move(product));
      terms.push_back(Worked::product({v_a({a}), tanh(Worked::sum(std::move(products)))}));
    }
    return Worked::sum(std::move(terms));
  });
}

/// Σₖ x(k) y(k) for k from `begin` to `end`.
template <class X, class Y>
Worked worked_dot(std::size_t begin, std::size_t end, X x, Y y) {
  std::vector<Worked> products;
  for (std::size_t k = begin; k < end; ++k) products.push_back(Worked::product({x(k), y(k)}));
  return Worked::sum(std::move(products));
}

WorkedOut worked_scores(const Workbench& bench, const WorkedOut& queries, const Known<3>& states,
                        const SourceAttentionWeights& weights) {
  const std::size_t width = states.tensor.shape(2);
  if (attends_before_the_cell(bench.options))
    return worked_additive(projection_of(queries, "q", weights.q()), projection_of(states, "k", weights.k()),
                           {"attention/v_a", *weights.v_a});
  if (attends_as(bench, "luong-concat")) {
    auto query = projection_of(queries, "a", {*weights.W_a, std::nullopt}),
         state = projection_of(states, "a", weights.a());
    query.length = state.length = state.first_row = width;
    return worked_additive(query, state, {"attention/v_a", *weights.v_a});
  }
  if (attends_as(bench, "multihead")) {
    const auto query = projection_of(queries, "Q", weights.multihead->Q()),
               key = projection_of(states, "K", weights.multihead->K());
    return worked_of(4 * width * (width / bench.heads()), [=, d_k = width / bench.heads()](const Index& at) {
      return worked_dot(
          at[1] * d_k, (at[1] + 1) * d_k,
          [&](std::size_t k) {
            return query({at[0], at[2]}, k);
          },
          [&](std::size_t k) {
            return key({at[0], at[3]}, k);
          });
    });
  }
  if (attends_as(bench, "luong-general"))
    return worked_of(2 * width * width,
                     [=, query = projection_of(queries, "a", weights.a())](const Index& at) {
                       return worked_dot(
                           0, width,
                           [&](std::size_t k) {
                             return query({at[0], at[1]}, k);
                           },
                           [&](std::size_t k) {
                             return states({at[0], at[2], k});
                           });
                     });
  return [=](const Index& at) {
    return worked_dot(
        0, width,
        [&](std::size_t k) {
          return queries({at[0], at[1], k});
        },
        [&](std::size_t k) {
          return states({at[0], at[2], k});
        });
  };
}

/// [head₁; …; headₕ] W_O, headᵢ = weightsᵢ (states W_V)ᵢ, each product with its bias.
WorkedOut worked_context_of_heads(std::size_t heads, const WorkedOut& shares, const Known<3>& states,
                                  const MultiHeadWeights& weights) {
  const std::size_t width = states.tensor.shape(2), n = states.tensor.shape(1);
  const auto value = projection_of(states, "V", weights.V());
  const auto head_output = [=](const Index& at) {
    return worked_dot(
        0, n,
        [&](std::size_t s) {
          return shares({at[0], at[2] / (width / heads), at[1], s});
        },
        [&](std::size_t s) {
          return value({at[0], s}, at[2]);
        });
  };
  return worked_of(2 * width * n * width,
                   [output = projection_of(head_output, "O", weights.O())](const Index& at) {
                     return output({at[0], at[1]}, at[2]);
                   });
}

/// With a model, the pair of a word in the middle and of the one that it looks at.
std::optional<Index> where_it_looks_most(const Workbench& bench, const attn::Recurrence& recurrence) {
  if (!bench.options.model || attends_as(bench, "multihead")) return std::nullopt;
  const auto weights = recurrence.sequence<3>("weights");
  Index at = {weights.shape(1) / 2, 0};
  for (std::size_t j = 1; j < weights.shape(2); ++j)
    if (weights(0, at[0], j) > weights(0, at[0], at[1])) at[1] = j;
  return at;
}

}  // namespace

void work_out_attention(Workbench& bench, attn::Recurrence& recurrence, const Source& source,
                        const SourceAttentionWeights& weights) {
  const auto queries = recurrence.entries(attends_before_the_cell(bench.options) ? "queries" : "h");
  const Known<3> states = {encoder_states_id(bench), source.states};
  const std::size_t n = source.states.shape(1), heads = weights.multihead ? bench.heads() : 1;
  recurrence.work_out("scores", worked_scores(bench, queries, states, weights));
  auto last = recurrence.entries("scores");
  if (weights.multihead) {
    const double d_k = static_cast<double>(source.states.shape(2) / heads);
    recurrence.work_out("scaled", [=](const Index& at) { return last(at) / sqrt(Worked(d_k)); });
    last = recurrence.entries("scaled");
  }
  if (source.is_padded()) {
    recurrence.work_out("masked", [=, &source](const Index& at) {
      const bool is_seen = at.back() < source.lengths[at[0]];
      return is_seen ? last(at) : Worked(-std::numeric_limits<double>::infinity());
    });
    last = recurrence.entries("masked");
  }
  const auto shares = recurrence.entries("weights");
  recurrence.work_out("weights", attn::worked_softmax(last, n), where_it_looks_most(bench, recurrence));
  if (!weights.multihead) return recurrence.work_out("context", attn::worked_matmul(shares, states));
  recurrence.work_out("mean_weights", [=](const Index& at) {
    std::vector<Worked> of_heads;
    for (std::size_t i = 0; i < heads; ++i) of_heads.push_back(shares({at[0], i, at[1], at[2]}));
    return mean_of(std::move(of_heads));
  });
  recurrence.work_out("context", worked_context_of_heads(heads, shares, states, *weights.multihead));
}

}  // namespace lessons
