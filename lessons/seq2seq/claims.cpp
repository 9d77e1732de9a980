#include "lessons/seq2seq/claims.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/claims.hpp"

namespace lessons {

namespace {

/// How large the sums before the gates may become, and the memory.
double cell_magnitude(const attn::LstmWeights& weights, const Tensor<3>& x, const Tensor<3>& c) {
  const auto d_in = static_cast<double>(weights.W_ih.shape(1)),
             hidden = static_cast<double>(weights.hidden());
  return d_in * attn::max_abs(weights.W_ih) * attn::max_abs(x) + hidden * attn::max_abs(weights.W_hh) +
         attn::max_abs(c);
}

/// How large a number of x W may become where no number of x [d] is beyond ±1; 1 without W.
double largest_projection(const std::optional<Tensor<2>>& W) {
  return W ? static_cast<double>(W->shape(0)) * attn::max_abs(*W) : 1.0;
}

/// How large the terms of a score may become together.
double score_magnitude(const attn::SourceAttentionWeights& weights, std::size_t width) {
  const double q = largest_projection(weights.W_Q), k = largest_projection(weights.W_K);
  if (weights.v_a) return static_cast<double>(weights.v_a->size()) * attn::max_abs(*weights.v_a) * (q + k);
  return static_cast<double>(width) * q * k;
}

void claim_rows_sum_to_1(Workbench& bench, const Seq2SeqRun& run) {
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "each row of decoder/weights sums to 1, and so does each row of "
                              "decoder/probabilities",
                     .formula = "max |Σⱼ row − 1|",
                     .value = attn::maximum({attn::row_sum_deviation(run.decoder.source.attention.weights),
                                             attn::row_sum_deviation(run.probabilities)}),
                     .limit = rounding(bench.trace)});
}

/// Asks for all steps at once, with the states as they are shown.
void claim_state_that_asks(Workbench& bench, const attn::SourceAttentionWeights& weights,
                           const Seq2SeqRun& run, bool attends_first) {
  const auto& h = run.decoder.lstm.h;
  const auto queries = attends_first ? attn::delay(run.encoder.last.h, h) : h;
  const auto source = attn::prepare_source(run.encoder.states, run.lengths, weights);
  const auto again = attn::attend_to_source(queries, source, weights);
  bench.trace.claim(
      {.id = "state-that-asks",
       .claim = attends_first ? "the state before asks: the scores of step t are those of sₜ₋₁"
                              : "the current state asks: the scores of step t are those of hₜ",
       .formula = attends_first ? "max |score([s_0; decoder/h without its last row]) − decoder/scores|"
                                : "max |score(decoder/h) − decoder/scores|",
       .value = attn::max_abs_difference(again.attention.scores, run.decoder.source.attention.scores),
       .limit = rounding(bench.trace, score_magnitude(weights, h.shape(2)))});
}

void claim_what_the_cell_reads(Workbench& bench, const attn::RecurrentDecoderWeights& weights,
                               const Seq2SeqRun& run) {
  const bool feeds_context = weights.attends_first();
  const auto x = feeds_context ? attn::join(run.X_target, run.decoder.source.context) : run.X_target;
  const std::vector<std::size_t> every_step(x.shape(0), x.shape(1));
  bench.trace.claim(
      {.id = "what-the-cell-reads",
       .claim = feeds_context ? "the context is fed in: each state is what the cell makes of [yₜ; contextₜ]"
                              : "the context is not fed in: each state is what the cell makes of yₜ alone",
       .formula = feeds_context ? "max |cell([yₜ; contextₜ], sₜ₋₁) − sₜ|" : "max |cell(yₜ, hₜ₋₁) − hₜ|",
       .value = attn::deviation_from_cell(run.decoder.lstm, x, run.encoder.last, weights.lstm, every_step),
       .limit = rounding(bench.trace, cell_magnitude(weights.lstm, x, run.decoder.lstm.c))});
}

void claim_cell_steps(Workbench& bench, const attn::RecurrentEncoderWeights& weights,
                      const Seq2SeqRun& run) {
  const auto initial = attn::zero_state(run.X_source.shape(0), weights.forward.hidden());
  const auto& [forward, reverse, states, last] = run.encoder;
  double deviation = attn::deviation_from_cell(forward, run.X_source, initial, weights.forward, run.lengths);
  double magnitude = cell_magnitude(weights.forward, run.X_source, forward.c);
  if (reverse) {
    deviation =
        attn::maximum({deviation, attn::deviation_from_cell(*reverse, run.X_source, initial, *weights.reverse,
                                                            run.lengths, attn::Direction::reverse)});
    magnitude = std::max(magnitude, cell_magnitude(*weights.reverse, run.X_source, reverse->c));
  }
  bench.trace.claim({.id = "equals-cell-by-cell",
                     .claim = "the encoder equals its cell, run word by word over each sentence alone",
                     .formula = "max |cell(xₜ, hₜ₋₁, cₜ₋₁) − (hₜ, cₜ)|",
                     .value = deviation,
                     .limit = rounding(bench.trace, magnitude)});
}

void claim_memory(Workbench& bench, const Seq2SeqRun& run) {
  const auto& [forward, reverse, states, last] = run.encoder;
  auto left = attn::sum_of_kept(forward, attn::kept_to_the_end(forward, run.lengths));
  if (reverse)
    left = attn::join(left, attn::sum_of_kept(*reverse, attn::kept_to_the_end(*reverse, run.lengths,
                                                                              attn::Direction::reverse)));
  bench.trace.claim({.id = "memory-is-what-is-left",
                     .claim = "the last memory is the sum of what is left of each word",
                     .formula = "max |Σₜ bottleneck/keptₜ ∘ iₜ ∘ gₜ − decoder/c_0|",
                     .value = attn::max_abs_difference(left, last.c),
                     .limit = rounding(bench.trace, static_cast<double>(forward.h.shape(1)))});
}

/// A sentence of the batch [batch×n×d] by itself, without padding: [1×length×d].
Tensor<3> real_rows(const Tensor<3>& X, std::size_t sample, std::size_t length) {
  return attn::as_batch(attn::rows(attn::sample(X, sample), 0, length));
}

}  // namespace

void claim_recurrence(Workbench& bench, const Seq2SeqWeights& weights, const Seq2SeqRun& run) {
  claim_rows_sum_to_1(bench, run);
  claim_state_that_asks(bench, weights.decoder.attention, run, weights.decoder.attends_first());
  claim_what_the_cell_reads(bench, weights.decoder, run);
  claim_cell_steps(bench, weights.encoder, run);
  claim_memory(bench, run);
}

void claim_padding_changes_nothing(Workbench& bench, const Seq2SeqWeights& weights,
                                   const Seq2SeqRun& run, const Writing& writing) {
  const auto& decoder = weights.decoder;
  double deviation = 0.0;
  for (std::size_t b = 0; b < run.lengths.size(); ++b) {
    const std::vector<std::size_t> length = {run.lengths[b]};
    const auto source = real_rows(run.X_source, b, run.lengths[b]);
    const auto target = real_rows(run.X_target, b, writing.reads.tokens[b].size());
    const auto encoder = attn::recurrent_encoder(source, weights.encoder, length);
    const auto alone = attn::recurrent_decoder(
        target, encoder.last, attn::prepare_source(encoder.states, length, decoder.attention), decoder);
    const auto rows = attn::rows(attn::sample(run.probabilities, b), 0, writing.reads.tokens[b].size());
    deviation = attn::maximum(
        {deviation, attn::max_abs_difference(attn::softmax(attn::sample(alone.logits, 0)), rows)});
  }
  const double read_out = largest_projection(decoder.W_c) * largest_projection(decoder.attention.W_V) *
                          largest_projection(decoder.attention.W_O) * largest_projection(decoder.W);
  bench.trace.claim({.id = "padding-changes-nothing",
                     .claim = "padding changes nothing: each sentence alone gets the same probabilities",
                     .formula = "max |decoder/probabilities of the sentence alone − those in the batch|",
                     .value = deviation,
                     .limit = rounding(bench.trace, read_out)});
}

void claim_greedy(Workbench& bench, const Seq2SeqRun& run, const Writing& writing) {
  const auto& written = writing.words;
  double shortfall = 0.0;
  for (std::size_t b = 0; b < written.size(); ++b) {
    const auto probabilities = attn::sample(run.probabilities, b);
    for (std::size_t t = 0; t < written[b].size(); ++t) {
      const auto row = attn::rows(probabilities, t, t + 1);
      shortfall = attn::maximum({shortfall, attn::max_abs(row) - static_cast<double>(row(0, written[b][t]))});
    }
  }
  bench.trace.claim({.id = "greedy-is-likeliest",
                     .claim = "with its own words as the target, each word it wrote is again the likeliest",
                     .formula = "max over rows of (largest probability − that of the word written)",
                     .value = shortfall,
                     .limit = attn::exactly(0.0)});
}


}  // namespace lessons
