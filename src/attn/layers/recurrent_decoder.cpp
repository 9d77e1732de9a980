#include "attn/layers/recurrent_decoder.hpp"

#include <algorithm>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/steps.hpp"

namespace attn {

namespace {

SourceAttention attend_with(const Tensor<2>& query, const PreparedSource& source,
                               const RecurrentDecoderWeights& weights) {
  return attend_to_source(stack_steps(std::vector{query}), source, weights.attention);
}

Tensor<2> read_out(const Tensor<2>& x, const RecurrentDecoderWeights& weights) {
  return weights.b ? linear(x, weights.W, *weights.b) : linear(x, weights.W);
}

/// One tensor of every step, side by side.
template <class Part>
auto stacked(const std::vector<RecurrentDecoderStep>& steps, Part part) {
  std::vector<std::decay_t<decltype(part(steps[0]))>> parts;
  for (const auto& step : steps) parts.push_back(part(step));
  return stack_steps(parts);
}

Lstm stacked_lstm(const std::vector<RecurrentDecoderStep>& steps) {
  const auto gather = [&](Tensor<2> LstmStep::*part) {
    return stacked(steps, [part](const auto& step) { return step.lstm.*part; });
  };
  return {.i = gather(&LstmStep::i),
          .f = gather(&LstmStep::f),
          .g = gather(&LstmStep::g),
          .o = gather(&LstmStep::o),
          .c = gather(&LstmStep::c),
          .h = gather(&LstmStep::h),
          .last = steps.back().lstm.state()};
}

SourceAttention stacked_attention(const std::vector<RecurrentDecoderStep>& steps) {
  const auto gather = [&](Tensor<4> Attention<4>::*part) {
    return stacked(steps, [part](const auto& step) { return step.source.attention.*part; });
  };
  SourceAttention all;
  all.attention.scores = gather(&Attention<4>::scores);
  all.attention.scaled = gather(&Attention<4>::scaled);
  if (steps[0].source.attention.masked)
    all.attention.masked = stacked(steps, [](const auto& step) { return *step.source.attention.masked; });
  all.attention.weights = gather(&Attention<4>::weights);
  all.attention.output = gather(&Attention<4>::output);
  all.context = stacked(steps, [](const auto& step) { return step_of(step.source.context, 0); });
  return all;
}

/// The first of the largest numbers in row b.
std::size_t likeliest(const Tensor<2>& logits, std::size_t b) {
  const double* row = &logits(b, 0);
  return static_cast<std::size_t>(std::max_element(row, row + logits.shape(1)) - row);
}

}  // namespace

RecurrentDecoderStep decoder_step(const Tensor<2>& y, const LstmState& before,
                                     const PreparedSource& source,
                                     const RecurrentDecoderWeights& weights) {
  RecurrentDecoderStep step;
  if (weights.attends_first()) {
    step.query = before.h;
    step.source = attend_with(step.query, source, weights);
    const auto context = step_of(step.source.context, 0);
    step.lstm = lstm_cell(join(y, context), before, weights.lstm);
    step.logits = read_out(join(step.lstm.h, context), weights);
  } else {
    step.lstm = lstm_cell(y, before, weights.lstm);
    step.query = step.lstm.h;
    step.source = attend_with(step.query, source, weights);
    const auto context = step_of(step.source.context, 0);
    step.attentional = tanh(linear(join(context, step.lstm.h), *weights.W_c));
    step.logits = read_out(*step.attentional, weights);
  }
  return step;
}

RecurrentDecoder recurrent_decoder(const Tensor<3>& X_target, const LstmState& initial,
                                      const PreparedSource& source,
                                      const RecurrentDecoderWeights& weights) {
  std::vector<RecurrentDecoderStep> steps;
  for (std::size_t t = 0; t < X_target.shape(1); ++t)
    steps.push_back(
        decoder_step(step_of(X_target, t), t == 0 ? initial : steps.back().lstm.state(), source, weights));
  RecurrentDecoder all;
  all.queries = stacked(steps, [](const auto& step) { return step.query; });
  all.lstm = stacked_lstm(steps);
  all.source = stacked_attention(steps);
  if (steps[0].attentional)
    all.attentional = stacked(steps, [](const auto& step) { return *step.attentional; });
  all.logits = stacked(steps, [](const auto& step) { return step.logits; });
  return all;
}

std::vector<std::vector<std::size_t>> decode_greedily(Tensor<2> y, const LstmState& initial,
                                                      const PreparedSource& source,
                                                      const RecurrentDecoderWeights& weights,
                                                      const WrittenWith& vocabulary,
                                                      const std::vector<std::size_t>& most_steps) {
  std::vector<std::vector<std::size_t>> written(y.shape(0));
  const auto is_finished = [&](std::size_t b) {
    return written[b].size() >= most_steps.at(b) ||
           (!written[b].empty() && written[b].back() == vocabulary.end);
  };
  auto state = initial;
  for (bool is_writing = true; is_writing;) {
    const auto step = decoder_step(y, state, source, weights);
    state = step.lstm.state();
    is_writing = false;
    for (std::size_t b = 0; b < written.size(); ++b) {
      if (is_finished(b)) continue;
      const auto word = likeliest(step.logits, b);
      written[b].push_back(word);
      std::copy_n(&vocabulary.embedding(word, 0), y.shape(1), &y(b, 0));
      is_writing = is_writing || !is_finished(b);
    }
  }
  return written;
}


}  // namespace attn
