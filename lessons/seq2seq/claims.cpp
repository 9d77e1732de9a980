#include "lessons/seq2seq/claims.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// How large the terms of a number of x W become together: Σ |x| |W|.
template <std::size_t N>
Tensor<N> term_sums(const Tensor<N>& x, const Tensor<2>& W) {
  return attn::linear(attn::absolute(x), attn::absolute(W));
}

/// The same of x W + b.
template <std::size_t N>
Tensor<N> term_sums(const Tensor<N>& x, const LinearMap& map) {
  const auto b = map.b ? attn::absolute(*map.b) : Tensor<1>({map.W.shape(1)}, 0.0);
  return attn::linear(attn::absolute(x), attn::absolute(map.W), b);
}

/// How large the sums before the gates become, and the memory.
double cell_magnitude(const attn::LstmWeights& weights, const Tensor<3>& x, const LstmState& states) {
  return attn::max_abs(term_sums(x, attn::transpose(weights.W_ih))) +
         attn::max_abs(term_sums(states.h, attn::transpose(weights.W_hh))) + attn::max_abs(states.c);
}

/// What rounding does to Σ v_a · tanh(query + key) is relative to. It moves a hidden unit x by a part of
/// `terms` + |key|, and tanh passes on 1 − tanh² of that.
double magnitude_through_tanh(const Tensor<3>& queries, const Tensor<3>& terms, const Tensor<3>& keys,
                              const Tensor<1>& v_a) {
  double largest = 0.0;
  for (std::size_t b = 0; b < queries.shape(0); ++b)
    for (std::size_t t = 0; t < queries.shape(1); ++t)
      for (std::size_t j = 0; j < keys.shape(1); ++j) {
        double sum = 0.0;
        for (std::size_t a = 0; a < v_a.size(); ++a) {
          const double unit = std::tanh(queries(b, t, a) + keys(b, j, a));
          const double moved = (1.0 - unit * unit) * (terms(b, t, a) + std::abs(keys(b, j, a)));
          sum += std::abs(v_a(a)) * (1.0 + moved);
        }
        largest = attn::maximum({largest, sum});
      }
  return largest;
}

/// How large the terms of a score become together.
double score_magnitude(const SourceAttentionWeights& weights, const Tensor<3>& queries,
                       const Source& source) {
  if (const auto& heads = weights.multihead)
    return magnitude_of_scores(term_sums(queries, heads->Q()), term_sums(source.states, heads->K()), 1.0);
  if (!weights.v_a)
    return magnitude_of_scores(weights.W_a ? term_sums(queries, weights.a()) : queries, source.keys, 1.0);
  const auto W_q = weights.W_q ? *weights.W_q : attn::rows(*weights.W_a, 0, weights.W_a->shape(0) / 2);
  const LinearMap q = {W_q, weights.b_q};
  return magnitude_through_tanh(q(queries), term_sums(queries, q), source.keys, *weights.v_a);
}

void claim_rows_sum_to_1(Workbench& bench, const Seq2SeqRun& run) {
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "each row of weights and of probabilities sums to 1",
                     .formula = "max |Σⱼ row − 1|",
                     .value = attn::maximum({attn::row_sum_deviation(run.decoder.weights),
                                             attn::row_sum_deviation(run.decoder.probabilities)}),
                     .limit = rounding(bench.trace)});
}

/// Asks for all steps at once, with the states as they are shown.
void claim_state_that_asks(Workbench& bench, const Seq2SeqRun& run) {
  const auto& weights = run.weights.decoder;
  const auto& h = run.decoder.states.h;
  const bool asks_with_input = asks_with_word(bench);
  auto queries = weights.attends_first() ? attn::delay(run.encoder.s_0, h) : h;
  if (asks_with_input) queries = attn::join(queries, run.X_target);
  auto mute = bench.mute();
  const auto again = attend_to_source(mute, queries, run.source, weights.attention);
  bench.trace.claim(
      {.id = "state-that-asks",
       .claim = asks_with_input           ? "step t asks with the state before and the word read"
                : weights.attends_first() ? "the state before asks: step t scores with hₜ₋₁"
                                          : "the new state asks: step t scores with hₜ",
       .formula =
           asks_with_input ? "max |score([s_0; decoder/h without its last row], X_target) − decoder/scores|"
           : weights.attends_first() ? "max |score([s_0; decoder/h without its last row]) − decoder/scores|"
                                     : "max |score(decoder/h) − decoder/scores|",
       .value = attn::max_abs_difference(again.scores, run.decoder.scores),
       .limit = rounding(bench.trace, score_magnitude(weights.attention, queries, run.source))});
}

/// What the cell makes of all inputs of a sequence side by side, each with the state before it as it stands
/// in the sequence: the largest difference from the state and memory that follow there.
double deviation_from_cell(Workbench& mute, const Tensor<3>& x, const LstmState& before,
                           const LstmState& after, const attn::LstmWeights& weights, const LstmWords& words) {
  const auto again = lstm_cell(mute, x, before, weights, words);
  return attn::maximum(
      {attn::max_abs_difference(again.h, after.h), attn::max_abs_difference(again.c, after.c)});
}

void claim_what_the_cell_reads(Workbench& bench, const Seq2SeqRun& run) {
  const auto& weights = run.weights.decoder;
  const auto& states = run.decoder.states;
  const bool feeds_context = weights.attends_first();
  const auto x = feeds_context ? attn::join(run.X_target, run.decoder.context) : run.X_target;
  const LstmState before = {attn::delay(run.encoder.s_0, states.h), attn::delay(run.encoder.c_0, states.c)};
  auto mute = bench.mute();
  bench.trace.claim(
      {.id = "what-the-cell-reads",
       .claim = feeds_context ? "the cell reads the word before and the context"
                              : "the cell reads the word before, not the context",
       .formula = feeds_context ? "max |cell([yₜ; contextₜ], hₜ₋₁) − hₜ|" : "max |cell(yₜ, hₜ₋₁) − hₜ|",
       .value = deviation_from_cell(mute, x, before, states, weights.lstm, decoder_words(bench)),
       .limit = rounding(bench.trace, cell_magnitude(weights.lstm, x, states))});
}

/// A sentence of the batch [batch×n×d] by itself, without padding: [1×length×d].
Tensor<3> real_rows(const Tensor<3>& X, std::size_t sample, std::size_t length) {
  return attn::as_batch(attn::rows(attn::sample(X, sample), 0, length));
}

/// Each row of a sentence [1×n×d] as it is read before the next one, and zeros before the first that is read.
Tensor<3> row_before(const Tensor<3>& x, Direction direction) {
  const std::size_t n = x.shape(1);
  if (direction == Direction::reverse) return attn::steps_of(attn::with_zero_rows(x, 1), 1, n + 1);
  return attn::delay(xt::zeros<double>({x.shape(0), x.shape(2)}), x);
}

/// Checks each sentence of the batch alone.
double deviation_from_cell(Workbench& mute, const Seq2SeqRun& run, const Lstm& lstm,
                           const attn::LstmWeights& weights, Direction direction) {
  double deviation = 0.0;
  for (std::size_t b = 0; b < run.lengths.size(); ++b) {
    const auto alone = [&](const Tensor<3>& x) { return real_rows(x, b, run.lengths[b]); };
    const LstmState after = {alone(lstm.h), alone(lstm.c)};
    const LstmState before = {row_before(after.h, direction), row_before(after.c, direction)};
    deviation = attn::maximum({deviation, deviation_from_cell(mute, alone(run.X_source), before, after,
                                                              weights, encoder_words(mute, direction))});
  }
  return deviation;
}

void claim_cell_steps(Workbench& bench, const Seq2SeqRun& run) {
  const auto& [forward, reverse, states, s_0, c_0] = run.encoder;
  const auto& weights = run.weights.encoder;
  auto mute = bench.mute();
  double deviation = deviation_from_cell(mute, run, forward, weights.forward, Direction::forward);
  double magnitude = cell_magnitude(weights.forward, run.X_source, {forward.h, forward.c});
  if (reverse) {
    deviation = attn::maximum(
        {deviation, deviation_from_cell(mute, run, *reverse, *weights.reverse, Direction::reverse)});
    magnitude = std::max(magnitude, cell_magnitude(*weights.reverse, run.X_source, {reverse->h, reverse->c}));
  }
  bench.trace.claim({.id = "equals-cell-by-cell",
                     .claim = "the encoder equals its cell, run word by word over each sentence alone",
                     .formula = "max |cell(xₜ, hₜ₋₁, cₜ₋₁) − (hₜ, cₜ)|",
                     .value = deviation,
                     .limit = rounding(bench.trace, magnitude)});
}

/// Σₜ over the rows of each sample: [batch×n×d] → [batch×d].
Tensor<2> sum_of_rows(const Tensor<3>& x) {
  Tensor<2> sum = xt::zeros<double>({x.shape(0), x.shape(2)});
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t t = 0; t < x.shape(1); ++t)
      for (std::size_t j = 0; j < x.shape(2); ++j) sum(b, j) += x(b, t, j);
  return sum;
}

void claim_memory(Workbench& bench, const Seq2SeqRun& run) {
  const auto& [forward, reverse, states, s_0, c_0] = run.encoder;
  auto written = attn::multiply(forward.i, forward.g);
  if (reverse) written = attn::join(written, attn::multiply(reverse->i, reverse->g));
  const auto left = sum_of_rows(attn::multiply(run.kept, written));
  bench.trace.claim({.id = "memory-is-what-is-left",
                     .claim = "the last memory is the sum of what is left of each word",
                     .formula = "max |Σₜ bottleneck/keptₜ ∘ iₜ ∘ gₜ − decoder/c_0|",
                     .value = attn::max_abs_difference(left, c_0),
                     .limit = rounding(bench.trace, static_cast<double>(states.shape(1)))});
}

/// How large the terms of a logit become together where no number of a state is beyond ±1.
double read_out_magnitude(const DecoderWeights& weights, std::size_t width) {
  const Tensor<2> state({std::size_t{1}, width}, 1.0);
  auto context = state;
  if (const auto& heads = weights.attention.multihead)
    context = term_sums(term_sums(context, heads->V()), heads->O());
  if (!weights.W_c) return attn::max_abs(term_sums(attn::join(state, context), weights.logits()));
  return attn::max_abs(term_sums(term_sums(attn::join(context, state), weights.c()), weights.logits()));
}

}  // namespace

void claim_recurrence(Workbench& bench, const Seq2SeqRun& run) {
  claim_rows_sum_to_1(bench, run);
  claim_state_that_asks(bench, run);
  claim_what_the_cell_reads(bench, run);
  claim_cell_steps(bench, run);
  claim_memory(bench, run);
}

void claim_padding_changes_nothing(Workbench& bench, const Seq2SeqRun& run) {
  // A probability that is a thousandth off is another one, whatever the weights make of rounding.
  constexpr double most = 1e-3;
  const auto& [encoder_weights, decoder_weights] = run.weights;
  const auto& target = bench.plan.target;
  auto mute = bench.mute();
  double deviation = 0.0;
  for (std::size_t b = 0; b < run.lengths.size(); ++b) {
    const auto steps = target.size() > 0 ? target.tokens[b].size() + 1 : run.written[b].size();
    const std::vector<std::size_t> length = {run.lengths[b]};
    const auto encoder = encode(mute, real_rows(run.X_source, b, length[0]), length, encoder_weights);
    const auto source = prepare_source(mute, encoder.states, length, decoder_weights.attention);
    const auto alone =
        decode_taught(mute, real_rows(run.X_target, b, steps), encoder.initial(), source, decoder_weights);
    deviation =
        attn::maximum({deviation, attn::max_abs_difference(alone.probabilities,
                                                           real_rows(run.decoder.probabilities, b, steps))});
  }
  const double magnitude = read_out_magnitude(decoder_weights, run.encoder.states.shape(2));
  bench.trace.claim({.id = "padding-changes-nothing",
                     .claim = "padding changes nothing: each sentence alone gets the same probabilities",
                     .formula = "max |decoder/probabilities of the sentence alone − those in the batch|",
                     .value = deviation,
                     .limit = attn::within_rounding(std::min(rounding(bench.trace, magnitude).bound, most))});
}

void claim_greedy(Workbench& bench, const Seq2SeqRun& run) {
  auto mute = bench.mute();
  const auto again =
      decode_taught(mute, run.X_target, run.encoder.initial(), run.source, run.weights.decoder).probabilities;
  double shortfall = 0.0;
  for (std::size_t b = 0; b < run.written.size(); ++b)
    for (std::size_t t = 0; t < run.written[b].size(); ++t) {
      const double* const row = &again(b, t, 0);
      const double largest = *std::max_element(row, row + again.shape(2));
      shortfall = attn::maximum({shortfall, largest - row[run.written[b][t]]});
    }
  bench.trace.claim({.id = "greedy-is-likeliest",
                     .claim = "with its own words as the target, each word it wrote is again the likeliest",
                     .formula = "max over rows of (largest probability − that of the word written)",
                     .value = shortfall,
                     .limit = attn::exactly(0.0)});
}

}  // namespace lessons
