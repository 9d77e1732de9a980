#include "lessons/seq2seq/attention.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/scoring.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/seq2seq/encoder.hpp"

namespace lessons {

bool attends_before_the_cell(const Options& options) {
  return options.attention == "bahdanau" || options.attention == "bahdanau-input";
}

bool asks_with_word(const Workbench& bench) {
  return bench.options.attention == "bahdanau-input";
}

namespace {

bool attends_as(const Workbench& bench, std::string_view name) {
  return bench.options.attention == name;
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

}  // namespace

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

SourceAttention attend_to_source(Workbench& mute, const Tensor<3>& queries, const Source& source,
                                 const SourceAttentionWeights& weights) {
  auto& trace = mute.trace;
  std::optional<Mask<3>> mask;
  if (source.is_padded()) mask = attn::padding_mask(source.lengths, queries.shape(1), source.states.shape(1));
  if (weights.multihead) {
    const auto heads = mute.heads();
    auto several = multihead_attention(mute, {"h", queries}, {encoder_states_id(mute), source.states},
                                       *weights.multihead, {heads, heads}, mask);
    return {std::move(several.attention.scores), std::move(several.attention.weights),
            std::move(several.output)};
  }
  const auto scores = trace.step({.id = "scores"}, score(mute, queries, source, weights));
  const auto masked = mask ? trace.step({.id = "masked"}, attn::apply_mask(scores, *mask)) : scores;
  const auto shares = trace.step({.id = "weights"}, attn::softmax(masked));
  return {attn::stack_heads(std::vector{scores}), attn::stack_heads(std::vector{shares}),
          trace.step({.id = "context"}, attn::matmul(shares, source.states))};
}

}  // namespace lessons
