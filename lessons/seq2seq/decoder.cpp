#include "lessons/seq2seq/decoder.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <xtensor/xmath.hpp>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/scoring.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/seq2seq/encoder.hpp"

namespace lessons {

namespace {

/// The first of the largest numbers in the one row of sample b.
std::size_t likeliest(const Tensor<3>& probabilities, std::size_t b) {
  const double* row = &probabilities(b, 0, 0);
  return attn::argmax(row, probabilities.shape(2));
}

}  // namespace

DecoderStep decoder_step(Workbench& mute, const Tensor<3>& y, const LstmState& before, const Source& source,
                         const DecoderWeights& weights) {
  auto& trace = mute.trace;
  DecoderStep step;
  Tensor<3> logits;
  if (weights.attends_first()) {
    const auto query = asks_with_word(mute) ? attn::join(before.h, y) : before.h;
    step.attention = attend_to_source(mute, query, source, weights.attention);
    step.state = lstm_cell(mute, attn::join(y, step.attention.context), before, weights.lstm);
    logits = weights.logits()(attn::join(step.state.h, step.attention.context));
  } else {
    step.state = lstm_cell(mute, y, before, weights.lstm);
    step.attention = attend_to_source(mute, step.state.h, source, weights.attention);
    const auto both = attn::join(step.attention.context, step.state.h);
    logits = weights.logits()(trace.step({.id = "attentional"}, Tensor<3>(xt::tanh(weights.c()(both)))));
  }
  step.probabilities =
      trace.step({.id = "probabilities"}, attn::softmax(trace.step({.id = "logits"}, logits)));
  return step;
}

std::vector<DecoderStep> decode_taught(Workbench& mute, const Tensor<3>& X_target, const LstmState& initial,
                                       const Source& source, const DecoderWeights& weights) {
  std::vector<DecoderStep> steps;
  for (std::size_t t = 0; t < X_target.shape(1); ++t)
    steps.push_back(decoder_step(mute, attn::steps_of(X_target, t, t + 1),
                                 t == 0 ? initial : steps.back().state, source, weights));
  return steps;
}

GreedyWords decode_greedily(Workbench& mute, const Tensor<3>& start, const LstmState& initial,
                            const Source& source, const DecoderWeights& weights, const Tensor<2>& vectors,
                            const std::vector<std::size_t>& most_steps) {
  const std::size_t end = vectors.shape(0) - 1;
  GreedyWords written{.words = std::vector<std::vector<std::size_t>>(start.shape(0)), .steps = {}};
  auto& words = written.words;
  const auto is_finished = [&](std::size_t b) {
    return words[b].size() >= most_steps.at(b) || (!words[b].empty() && words[b].back() == end);
  };
  auto y = start;
  bool is_writing = true;
  while (is_writing) {
    written.steps.push_back(decoder_step(mute, mute.trace.step({.id = "X_target"}, y),
                                         written.steps.empty() ? initial : written.steps.back().state, source,
                                         weights));
    y.fill(0.0);
    is_writing = false;
    for (std::size_t b = 0; b < words.size(); ++b) {
      if (is_finished(b)) continue;
      const auto word = likeliest(written.steps.back().probabilities, b);
      words[b].push_back(word);
      if (is_finished(b)) continue;
      std::copy_n(&vectors(word, 0), y.shape(2), &y(b, 0, 0));
      is_writing = true;
    }
  }
  return written;
}

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
