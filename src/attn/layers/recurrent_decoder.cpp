#include "attn/layers/recurrent_decoder.hpp"

#include <algorithm>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/steps.hpp"

namespace attn {

namespace {

template <class T>
SourceAttention<T> attend_with(const Tensor<T, 2>& query, const PreparedSource<T>& source,
                               const RecurrentDecoderWeights<T>& weights) {
  return attend_to_source(stack_steps(std::vector{query}), source, weights.attention);
}

template <class T>
Tensor<T, 2> read_out(const Tensor<T, 2>& x, const RecurrentDecoderWeights<T>& weights) {
  return weights.b ? linear(x, weights.W, *weights.b) : linear(x, weights.W);
}

/// One tensor of every step, side by side.
template <class T, class Part>
auto stacked(const std::vector<RecurrentDecoderStep<T>>& steps, Part part) {
  std::vector<std::decay_t<decltype(part(steps[0]))>> parts;
  for (const auto& step : steps) parts.push_back(part(step));
  return stack_steps(parts);
}

template <class T>
Lstm<T> stacked_lstm(const std::vector<RecurrentDecoderStep<T>>& steps) {
  const auto gather = [&](Tensor<T, 2> LstmStep<T>::*part) {
    return stacked(steps, [part](const auto& step) { return step.lstm.*part; });
  };
  return {.i = gather(&LstmStep<T>::i),
          .f = gather(&LstmStep<T>::f),
          .g = gather(&LstmStep<T>::g),
          .o = gather(&LstmStep<T>::o),
          .c = gather(&LstmStep<T>::c),
          .h = gather(&LstmStep<T>::h),
          .last = steps.back().lstm.state()};
}

template <class T>
SourceAttention<T> stacked_attention(const std::vector<RecurrentDecoderStep<T>>& steps) {
  const auto gather = [&](Tensor<T, 4> Attention<T, 4>::*part) {
    return stacked(steps, [part](const auto& step) { return step.source.attention.*part; });
  };
  SourceAttention<T> all;
  all.attention.scores = gather(&Attention<T, 4>::scores);
  all.attention.scaled = gather(&Attention<T, 4>::scaled);
  if (steps[0].source.attention.masked)
    all.attention.masked = stacked(steps, [](const auto& step) { return *step.source.attention.masked; });
  all.attention.weights = gather(&Attention<T, 4>::weights);
  all.attention.output = gather(&Attention<T, 4>::output);
  all.context = stacked(steps, [](const auto& step) { return step_of(step.source.context, 0); });
  return all;
}

/// The first of the largest numbers in row b.
template <class T>
std::size_t likeliest(const Tensor<T, 2>& logits, std::size_t b) {
  const T* row = &logits(b, 0);
  return static_cast<std::size_t>(std::max_element(row, row + logits.shape(1)) - row);
}

}  // namespace

template <class T>
RecurrentDecoderStep<T> decoder_step(const Tensor<T, 2>& y, const LstmState<T>& before,
                                     const PreparedSource<T>& source,
                                     const RecurrentDecoderWeights<T>& weights) {
  RecurrentDecoderStep<T> step;
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

template <class T>
RecurrentDecoder<T> recurrent_decoder(const Tensor<T, 3>& X_target, const LstmState<T>& initial,
                                      const PreparedSource<T>& source,
                                      const RecurrentDecoderWeights<T>& weights) {
  std::vector<RecurrentDecoderStep<T>> steps;
  for (std::size_t t = 0; t < X_target.shape(1); ++t)
    steps.push_back(
        decoder_step(step_of(X_target, t), t == 0 ? initial : steps.back().lstm.state(), source, weights));
  RecurrentDecoder<T> all;
  all.queries = stacked(steps, [](const auto& step) { return step.query; });
  all.lstm = stacked_lstm(steps);
  all.source = stacked_attention(steps);
  if (steps[0].attentional)
    all.attentional = stacked(steps, [](const auto& step) { return *step.attentional; });
  all.logits = stacked(steps, [](const auto& step) { return step.logits; });
  return all;
}

template <class T>
std::vector<std::vector<std::size_t>> decode_greedily(Tensor<T, 2> y, const LstmState<T>& initial,
                                                      const PreparedSource<T>& source,
                                                      const RecurrentDecoderWeights<T>& weights,
                                                      const WrittenWith<T>& vocabulary,
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

#define INSTANTIATE(T)                                                                                \
  template RecurrentDecoderStep<T> decoder_step(const Tensor<T, 2>&, const LstmState<T>&,             \
                                                const PreparedSource<T>&,                             \
                                                const RecurrentDecoderWeights<T>&);                   \
  template RecurrentDecoder<T> recurrent_decoder(const Tensor<T, 3>&, const LstmState<T>&,            \
                                                 const PreparedSource<T>&,                            \
                                                 const RecurrentDecoderWeights<T>&);                  \
  template std::vector<std::vector<std::size_t>> decode_greedily(                                     \
      Tensor<T, 2>, const LstmState<T>&, const PreparedSource<T>&, const RecurrentDecoderWeights<T>&, \
      const WrittenWith<T>&, const std::vector<std::size_t>&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace attn
