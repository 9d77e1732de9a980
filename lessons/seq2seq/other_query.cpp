#include <algorithm>
#include <utility>

#include "attn/attention.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/workbench/model.hpp"

namespace lessons {

namespace {

attn::LstmParameters lstm_of(const ModelInputs& inputs, const std::string& group) {
  return {.W_ih = inputs.matrix(group + "/W_ih"),
          .W_hh = inputs.matrix(group + "/W_hh"),
          .b_ih = inputs.vector(group + "/b_ih"),
          .b_hh = inputs.vector(group + "/b_hh")};
}

/// The states of an LSTM after each row of X [n×d_model], and its memory after the last one that it reads.
struct Read {
  Tensor<2> states, last_h, last_c;
};

Read read(const Tensor<2>& X, const attn::LstmParameters& lstm, std::size_t hidden, bool is_reversed) {
  const auto n = X.shape(0);
  const Tensor<2> nothing({1, hidden}, 0.0);
  Read result = {Tensor<2>({n, hidden}), nothing, nothing};
  for (std::size_t step = 0; step < n; ++step) {
    const auto t = is_reversed ? n - 1 - step : step;
    const auto [h, c] = attn::lstm_cell(attn::rows(X, t, t + 1), result.last_h, result.last_c, lstm);
    result.last_h = h;
    result.last_c = c;
    std::copy(h.begin(), h.end(), &result.states(t, 0));
  }
  return result;
}

/// [target×source] of a model that attends as bahdanau or bahdanau-input, with an encoder that reads both
/// ways.
Tensor<2> taught_weights(const attn::Model& model, const Options& texts) {
  Options options;
  options.model = texts.model;
  options.read_as = texts.read_as;
  const ModelInputs inputs(seq2seq_lesson(), model, options, texts);
  const bool asks_with_word = model.said("attention") == "bahdanau-input";
  const auto hidden = inputs.number("hidden");
  const auto X = attn::sample(inputs.rows("source/embedding", "source_words", inputs.source()), 0);
  const auto forward = read(X, lstm_of(inputs, "encoder"), hidden, false),
             reverse = read(X, lstm_of(inputs, "encoder/reverse"), hidden, true);
  const auto states = attn::join(forward.states, reverse.states);
  auto h = attn::join(forward.last_h, reverse.last_h), c = attn::join(forward.last_c, reverse.last_c);
  const attn::AdditiveWeights attention = {.W_q = inputs.matrix("attention/W_q"),
                                           .W_k = inputs.matrix("attention/W_k"),
                                           .v_a = inputs.vector("attention/v_a")};
  const auto decoder = lstm_of(inputs, "decoder");
  const auto X_target =
      attn::sample(inputs.rows(target_embedding, "target_words", after_start(inputs.target())), 0);
  Tensor<2> rows({X_target.shape(0), states.shape(0)});
  for (std::size_t t = 0; t < rows.shape(0); ++t) {
    const auto y = attn::rows(X_target, t, t + 1);
    const auto found = attn::additive_attention(asks_with_word ? attn::join(h, y) : h, states, attention);
    const auto after = attn::lstm_cell(attn::join<2>(y, found.output), h, c, decoder);
    h = after.h;
    c = after.c;
    std::copy(found.weights.begin(), found.weights.end(), &rows(t, 0));
  }
  return rows;
}

}  // namespace

std::string query_in_words(const std::string& attention) {
  if (attention == "bahdanau") return "old h";
  return attention == "bahdanau-input" ? "old h, y" : "new h";
}

OtherQuery ask_otherwise(const Workbench& bench, const std::string& target) {
  Options texts;
  texts.source = bench.options.source;
  texts.target = {target};
  texts.read_as = bench.options.read_as;
  std::string name = bench.options.attention == "bahdanau" ? "translation" : "translation-bahdanau";
  const auto model = attn::shipped_model(name);
  texts.model = name;
  return {std::move(name), model->said("attention"), taught_weights(*model, texts)};
}

}  // namespace lessons
