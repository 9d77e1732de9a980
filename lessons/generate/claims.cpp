#include "lessons/generate/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

double deviation_from_full_pass(Workbench& mute, const CausalDecoder& decoder,
                                const std::vector<Tensor<2>>& logits_by_step, const Tensor<3>& hidden) {
  const auto rows = hidden.shape(1), steps = logits_by_step.size();
  if (steps > rows)
    throw std::invalid_argument(fmt::format(
        "[deviation_from_full_pass] there are {} steps but the full pass has {} rows", steps, rows));
  double largest = 0.0;
  for (std::size_t step = 0; step < steps; ++step)
    largest = attn::maximum(
        {largest, attn::max_abs_difference(logits_by_step[step], score_words(mute, decoder, 0, {"", hidden},
                                                                             rows - steps + step))});
  return largest;
}

namespace {

/// A decoder whose token vectors differ from these by the part `part` of each number, up and down in turn.
CausalDecoder nudged(CausalDecoder decoder, double part) {
  for (auto* table : {&decoder.embedding, &decoder.positions})
    for (std::size_t i = 0; i < table->size(); ++i) table->data()[i] *= i % 2 == 0 ? 1.0 + part : 1.0 - part;
  return decoder;
}

/// All that the steps have read, sent through the layers at once: what the last layer leaves.
Tensor<3> full_pass(Workbench& mute, const CausalDecoder& decoder, const Decoding& decoding) {
  Decoding whole;
  whole.tokens.assign(decoding.tokens.begin(), decoding.tokens.end() - 1);
  whole.caches.assign(decoder.layers.size(), empty_cache(mute.kv_heads(), mute.d_k(), mute.d_v()));
  return read_tokens(mute, decoder, 0, whole).tensor;
}

/// How far rounding may move the logits. Each layer magnifies what rounding leaves of the one before. By how
/// much is measured: token vectors that differ by as much as is allowed for rounding go through the same
/// pass.
attn::Limit rounding_of_logits(Workbench& mute, const CausalDecoder& decoder, const Decoding& decoding,
                               const Tensor<3>& hidden) {
  const double part = rounding(mute.trace).bound;
  const auto logits = attn::linear(hidden, decoder.W_vocabulary);
  const auto moved = attn::linear(full_pass(mute, nudged(decoder, part), decoding), decoder.W_vocabulary);
  const double last_product = part * static_cast<double>(decoder.W_vocabulary.shape(0)) *
                              attn::max_abs(hidden) * attn::max_abs(decoder.W_vocabulary);
  return roughly_at_most(attn::maximum({attn::max_abs_difference(moved, logits), last_product}));
}

/// How many of the tokens written score less in the full pass than the best one, by more than `rounding`.
double count_other_tokens(Workbench& mute, const CausalDecoder& decoder, const Decoding& decoding,
                          const Tensor<3>& hidden, double rounding) {
  double others = 0.0;
  for (std::size_t i = mute.plan.sentence.length(); i < decoding.tokens.size(); ++i) {
    const auto logits = score_words(mute, decoder, 0, {"", hidden}, i - 1);
    if (!(logits(0, greedy_token(logits)) - logits(0, decoding.tokens[i]) <= rounding)) others += 1.0;
  }
  return others;
}

/// `full/logits`: those of each step from one pass over the whole text, `hidden` [1×token×d_model].
void show_full_pass(Workbench& bench, const CausalDecoder& decoder, std::size_t steps,
                    const Tensor<3>& hidden) {
  auto mute = bench.mute();
  auto logits = Tensor<2>::from_shape({steps, decoder.words.size()});
  for (std::size_t step = 0; step < steps; ++step) {
    const auto row = score_words(mute, decoder, 0, {"", hidden}, hidden.shape(1) - steps + step);
    std::copy(row.begin(), row.end(), &logits(step, 0));
  }
  std::vector<std::string> from = {"W_vocabulary"};
  for (std::size_t step = 0; step + 1 < steps; ++step) from.push_back(fmt::format("step={}/token", step));
  bench.trace.step(
      {.id = "full/logits",
       .title = "Without a cache",
       .formula = "rows of one pass",
       .from = from,
       .axes = {"step", "vocabulary"},
       .note =
           "Nothing was kept here: every token went through the model once more, in one pass whose steps are "
           "not shown. The cache saves work and changes no number."},
      logits);
}

/// The largest weight that falls on a token behind the query's own, in the prefill of every layer.
double largest_weight_on_the_future(const Decoding& decoding) {
  double largest = 0.0;
  for (std::size_t layer = 0; layer < decoding.caches.size(); ++layer) {
    const auto& weights = decoding.weights[layer];
    const auto mask = attn::repeat_mask(attn::causal_mask(weights.shape(2), weights.shape(3)), 1);
    for (std::size_t head = 0; head < weights.shape(1); ++head)
      largest = attn::maximum({largest, attn::largest_hidden_weight(attn::head(weights, head), mask)});
  }
  return largest;
}

}  // namespace

void claim_full_pass(Workbench& bench, const CausalDecoder& decoder, const Decoding& decoding) {
  auto mute = bench.mute();
  const auto hidden = full_pass(mute, decoder, decoding);
  show_full_pass(bench, decoder, decoding.logits.size(), hidden);
  const auto limit = rounding_of_logits(mute, decoder, decoding, hidden);
  double largest = 0.0;
  for (const auto& logits : decoding.logits) largest = attn::maximum({largest, attn::max_abs(logits)});
  if (limit.bound > 0.01 * largest) {
    bench.trace.note(
        "cached-equals-full", "Rounding decides too much here",
        fmt::format("One pass over the whole text, without a cache, gives the same logits but for "
                    "rounding. With the numbers of this run rounding alone may move them by {:g}, "
                    "and the largest is {:g}: nothing is claimed of them, nor of the tokens.",
                    limit.bound, largest));
    return;
  }
  bench.trace.claim({.id = "cached-equals-full",
                     .claim = "one pass without a cache gives the same logits",
                     .formula = "max |step=T/logits − full pass, row of the token read last|",
                     .value = deviation_from_full_pass(mute, decoder, decoding.logits, hidden),
                     .limit = limit});
  bench.trace.claim({.id = "same-text",
                     .claim = "without the cache the same tokens are written",
                     .formula = "tokens other than the argmax of the full pass",
                     .value = count_other_tokens(mute, decoder, decoding, hidden, limit.bound),
                     .limit = attn::exactly(0.0)});
}

void claim_weights(Workbench& bench, const Decoding& decoding) {
  bench.trace.claim({.id = "future-weights-are-0",
                     .claim = "in the prefill no token looks at a later one",
                     .formula = "max weights[i, j] where j > i",
                     .value = largest_weight_on_the_future(decoding),
                     .limit = attn::exactly(0.0)});
  double deviation = 0.0;
  for (const auto& weights : decoding.weights)
    deviation = attn::maximum({deviation, attn::row_sum_deviation(weights)});
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "in every step each row of weights sums to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = deviation,
                     .limit = rounding(bench.trace)});
}

}  // namespace lessons
