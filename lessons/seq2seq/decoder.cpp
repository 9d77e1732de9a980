#include "lessons/seq2seq/decoder.hpp"

#include <algorithm>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/steps.hpp"

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
    logits = weights.logits()(trace.step({.id = "attentional"}, attn::tanh(weights.c()(both))));
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

}  // namespace lessons
