#include "lessons/seq2seq/other_query.hpp"

#include <algorithm>
#include <utility>

#include "lessons/lesson.hpp"
#include "lessons/seq2seq/decoder.hpp"
#include "lessons/seq2seq/taught.hpp"
#include "lessons/seq2seq/trained.hpp"
#include "lessons/trained/said_of.hpp"
#include "lessons/workbench/model.hpp"
#include "lessons/workbench/silence.hpp"

namespace lessons {

namespace {

attn::LstmWeights lstm_weights(const ModelInputs& inputs, const std::string& group) {
  return {inputs.matrix(group + "/W_ih"), inputs.matrix(group + "/W_hh"), inputs.vector(group + "/b_ih"),
          inputs.vector(group + "/b_hh")};
}

EncoderWeights encoder_weights(const ModelInputs& inputs) {
  return {lstm_weights(inputs, "encoder"), lstm_weights(inputs, "encoder/reverse")};
}

DecoderWeights decoder_weights(const ModelInputs& inputs) {
  return {.lstm = lstm_weights(inputs, "decoder"),
          .attention = {.W_q = inputs.matrix("attention/W_q"),
                        .W_k = inputs.matrix("attention/W_k"),
                        .W_a = std::nullopt,
                        .v_a = inputs.vector("attention/v_a")},
          .W_c = std::nullopt,
          .W = inputs.matrix("output/W"),
          .b = inputs.vector("output/b")};
}

/// [target×source] of a model that attends as bahdanau or bahdanau-input, with an encoder that reads both
/// ways.
Tensor<2> taught_weights(const attn::Model& model, const Options& texts) {
  Options options;
  options.model = texts.model;
  options.read_as = texts.read_as;
  const ModelInputs inputs(seq2seq_lesson(), model, options, texts);
  options.attention = said_of(model, "attention");
  options.bidirectional = true;
  options.hidden = inputs.number("hidden");
  options.d_model = inputs.number("d_model");
  const Silence silence(seq2seq_lesson(), options);
  auto mute = silence.mute();
  const auto weights = decoder_weights(inputs);
  const auto encoder =
      encode(mute, inputs.rows("source/embedding", "source_words", inputs.source()), encoder_weights(inputs));
  const auto source = prepare_source(mute, encoder.states, inputs.source().lengths(), weights.attention);
  const auto X_target = inputs.rows(target_embedding, "target_words", after_start(inputs.target()));
  Tensor<2> rows({X_target.shape(1), encoder.states.shape(1)});
  std::size_t t = 0;
  for (const auto& step : decode_taught(mute, X_target, encoder.last, source, weights))
    std::copy_n(&step.attention.weights(0, 0, 0, 0), rows.shape(1), &rows(t++, 0));
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
  return {std::move(name), said_of(*model, "attention"), taught_weights(*model, texts)};
}

}  // namespace lessons
