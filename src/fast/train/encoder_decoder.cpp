#include "fast/train/encoder_decoder.hpp"

#include <algorithm>

#include "fast/train/translation_model.hpp"

namespace attn::train {

namespace {

bool reads_context(const EncoderDecoderSizes& sizes) {
  return sizes.attention == DecoderAttention::bahdanau || sizes.attention == DecoderAttention::bahdanau_input;
}

void add_lstm(WeightTable& table, const std::string& name, std::size_t inputs, std::size_t hidden) {
  table.add(name + "/W_ih", 4 * hidden, inputs);
  table.add(name + "/W_hh", 4 * hidden, hidden);
  table.add_vector(name + "/b_ih", 4 * hidden);
  table.add_vector(name + "/b_hh", 4 * hidden);
}

void add_attention(WeightTable& table, const EncoderDecoderSizes& sizes) {
  const std::size_t width = sizes.width();
  switch (sizes.attention) {
    case DecoderAttention::bahdanau:
    case DecoderAttention::bahdanau_input:
      table.add("attention/W_q", width + (sizes.attention == DecoderAttention::bahdanau ? 0 : sizes.d_model),
                sizes.d_a);
      table.add("attention/W_k", width, sizes.d_a);
      table.add_vector("attention/v_a", sizes.d_a);
      break;
    case DecoderAttention::luong_general:
      table.add("attention/W_a", width, width);
      table.add("attention/W_c", 2 * width, width);
      break;
    case DecoderAttention::none:
      break;
  }
}

/// The encoder's states, what attention reads of them, and the state that the decoder begins with.
template <class T>
struct Encoded {
  Variable<T> states;  ///< [positions·batch × width]
  Variable<T> keys;    ///< projected once for all steps, where there is attention
  LstmState<T> last;   ///< [batch × width]
  Lengths lengths;
};

template <class T>
LstmState<T> zero_state(Tape<T>& tape, std::size_t batch, std::size_t hidden) {
  const LstmState<T> state = {tape.constant(batch, hidden), tape.constant(batch, hidden)};
  std::fill_n(state.h.value, state.h.size(), T{0});
  std::fill_n(state.c.value, state.c.size(), T{0});
  return state;
}

template <class T>
LstmWeights<T> lstm_weights(Tape<T>& tape, const Weights<T>& weights, const std::string& name) {
  return lstm_weights(tape, weights(name + "/W_ih"), weights(name + "/W_hh"), weights(name + "/b_ih"),
                      weights(name + "/b_hh"));
}

template <class T>
class Translator {
 public:
  Translator(Tape<T>& tape, const Weights<T>& weights, const EncoderDecoderSizes& sizes, double probability,
             Random* random)
      : tape_(tape),
        weights_(weights),
        sizes_(sizes),
        decoder_(lstm_weights(tape, weights, "decoder")),
        probability_(probability),
        random_(random) {}

  Encoded<T> encode(const Sentences& source) {
    const std::size_t batch = source.lengths.size(), last = (source.positions() - 1) * batch;
    const auto x = drop(embed(tape_, weights_("source/embedding"), source.ids));
    const auto nothing = zero_state(tape_, batch, sizes_.hidden);
    const auto forward = lstm(tape_, x, nothing, lstm_weights(tape_, weights_, "encoder"), source.lengths,
                              Direction::forwards);
    const auto reverse = lstm(tape_, x, nothing, lstm_weights(tape_, weights_, "encoder/reverse"),
                              source.lengths, Direction::backwards);
    Encoded<T> encoded;
    encoded.states = concatenate<T>(tape_, {forward.h, reverse.h});
    encoded.last = {concatenate<T>(tape_, {forward.h.slice(last, batch), reverse.h.slice(0, batch)}),
                    concatenate<T>(tape_, {forward.c.slice(last, batch), reverse.c.slice(0, batch)})};
    encoded.lengths = source.lengths;
    if (reads_context(sizes_)) encoded.keys = linear(tape_, encoded.states, weights_("attention/W_k"));
    return encoded;
  }

  /// The vectors of the words that are read.
  Variable<T> read(const std::vector<int>& ids) {
    return drop(embed(tape_, weights_("target/embedding"), ids));
  }

  struct Step {
    LstmState<T> state;
    Variable<T> context;  ///< without attention nothing
    Variable<T> weights;  ///< [batch × positions]
  };

  Step step(const Variable<T>& y, const LstmState<T>& before, const Encoded<T>& encoded) {
    const Lengths one(encoded.lengths.size(), 1);
    const auto run = [&](const Variable<T>& x) {
      return lstm(tape_, x, before, decoder_, one, Direction::forwards);
    };
    switch (sizes_.attention) {
      case DecoderAttention::bahdanau:
      case DecoderAttention::bahdanau_input: {
        const auto asks =
            sizes_.attention == DecoderAttention::bahdanau ? before.h : concatenate<T>(tape_, {before.h, y});
        const auto query = linear(tape_, asks, weights_("attention/W_q"));
        const auto shares = softmax(
            tape_, additive_scores(tape_, query, encoded.keys, weights_("attention/v_a"), encoded.lengths),
            encoded.lengths);
        const auto context = weighted_sum(tape_, shares, encoded.states, encoded.lengths);
        return {run(concatenate<T>(tape_, {y, context})), context, shares};
      }
      case DecoderAttention::luong_general: {
        const auto state = run(y);
        const auto query = linear(tape_, state.h, weights_("attention/W_a"));
        const auto shares =
            softmax(tape_, dot_scores(tape_, query, encoded.states, encoded.lengths), encoded.lengths);
        return {state, weighted_sum(tape_, shares, encoded.states, encoded.lengths), shares};
      }
      case DecoderAttention::none:
        return {run(y), {}, {}};
    }
    return {};
  }

  /// The number of each word, for the rows of one or more steps, as cross-entropy reads it.
  Variable<T> logits(const std::vector<Step>& steps) {
    std::vector<std::vector<Variable<T>>> parts;
    for (const auto& step : steps) parts.push_back(read_out(step));
    const auto shown = block(tape_, parts);
    const auto W = weights_("output/W");
    switch (sizes_.attention) {
      case DecoderAttention::bahdanau:
      case DecoderAttention::bahdanau_input:
        return linear(tape_, drop(shown), W, {weights_("output/b")}, Gradient::in_place);
      case DecoderAttention::luong_general:
        return linear(tape_, drop(tanh(tape_, linear(tape_, shown, weights_("attention/W_c")))), W, {},
                      Gradient::in_place);
      case DecoderAttention::none:
        return linear(tape_, drop(shown), W, {}, Gradient::in_place);
    }
    return {};
  }

 private:
  /// What a step shows to the output, side by side.
  std::vector<Variable<T>> read_out(const Step& step) const {
    if (reads_context(sizes_)) return {step.state.h, step.context};
    if (sizes_.attention == DecoderAttention::none) return {step.state.h};
    return {step.context, step.state.h};
  }

  Variable<T> drop(const Variable<T>& x) { return dropout(tape_, x, probability_, random_); }

  Tape<T>& tape_;
  const Weights<T>& weights_;
  const EncoderDecoderSizes& sizes_;
  LstmWeights<T> decoder_;
  double probability_;
  Random* random_;
};

}  // namespace

std::string name_of(DecoderAttention attention) {
  switch (attention) {
    case DecoderAttention::bahdanau:
      return "bahdanau";
    case DecoderAttention::bahdanau_input:
      return "bahdanau-input";
    case DecoderAttention::luong_general:
      return "luong-general";
    case DecoderAttention::none:
      return "none";
  }
  return "";
}

WeightTable weights_of(const EncoderDecoderSizes& sizes) {
  WeightTable table;
  const std::size_t width = sizes.width(), written = sizes.target_words + 1;
  table.add("source/embedding", sizes.source_words, sizes.d_model);
  table.add("target/embedding", sizes.target_words + 1, sizes.d_model);
  add_lstm(table, "encoder", sizes.d_model, sizes.hidden);
  add_lstm(table, "encoder/reverse", sizes.d_model, sizes.hidden);
  add_lstm(table, "decoder", sizes.d_model + (reads_context(sizes) ? width : 0), width);
  add_attention(table, sizes);
  table.add("output/W", reads_context(sizes) ? 2 * width : width, written);
  if (reads_context(sizes)) table.add_vector("output/b", written);
  return table;
}

Sentences sentences_by_position(const std::vector<std::vector<int>>& sentences) {
  const std::size_t batch = sentences.size();
  Sentences result;
  std::size_t positions = 0;
  for (const auto& sentence : sentences) {
    result.lengths.push_back(sentence.size());
    positions = std::max(positions, sentence.size());
  }
  result.ids.assign(positions * batch, -1);
  for (std::size_t sample = 0; sample < batch; ++sample)
    for (std::size_t position = 0; position < sentences[sample].size(); ++position)
      result.ids[position * batch + sample] = sentences[sample][position];
  return result;
}

namespace {

/// The decoder's steps while it is made to write the targets, and what it has read.
template <class T>
std::vector<typename Translator<T>::Step> forced_steps(Translator<T>& translator, const Sentences& read,
                                                       const Encoded<T>& encoded) {
  const auto y = translator.read(read.ids);
  const std::size_t batch = read.lengths.size();
  std::vector<typename Translator<T>::Step> steps;
  auto state = encoded.last;
  for (std::size_t position = 0; position < read.positions(); ++position) {
    steps.push_back(translator.step(y.slice(position * batch, batch), state, encoded));
    state = steps.back().state;
  }
  return steps;
}

}  // namespace

template <class T>
Variable<T> translation_loss(Tape<T>& tape, const Weights<T>& weights, const EncoderDecoderSizes& sizes,
                             const std::vector<std::vector<int>>& sources,
                             const std::vector<std::vector<int>>& targets, T scale,
                             double dropout_probability, Random* random) {
  Translator<T> translator(tape, weights, sizes, dropout_probability, random);
  const auto encoded = translator.encode(sentences_by_position(sources));
  const auto steps =
      forced_steps(translator, sentences_by_position(words_read(targets, sizes.mark())), encoded);
  return cross_entropy(tape, translator.logits(steps),
                       sentences_by_position(words_to_write(targets, sizes.mark())).ids, scale);
}

std::vector<Translation> translate(const Weights<float>& weights, const EncoderDecoderSizes& sizes,
                                   const std::vector<std::vector<int>>& sources, std::size_t most_words) {
  Tape<float> tape(false);
  Translator<float> translator(tape, weights, sizes, 0, nullptr);
  const auto encoded = translator.encode(sentences_by_position(sources));
  const std::size_t batch = sources.size(), positions = encoded.states.rows / batch;
  std::vector<Translation> translations(batch);
  std::vector<bool> has_ended(batch, false);
  std::vector<int> words(batch, sizes.mark());
  auto state = encoded.last;
  for (std::size_t written = 0; written < most_words; ++written) {
    const auto step = translator.step(translator.read(words), state, encoded);
    const auto logits = translator.logits({step});
    for (std::size_t sample = 0; sample < batch; ++sample) {
      words[sample] = likeliest(logits.value + sample * logits.columns, logits.columns);
      if (words[sample] == sizes.mark()) has_ended[sample] = true;
      if (has_ended[sample]) continue;
      translations[sample].words.push_back(words[sample]);
      if (!step.weights.value) continue;
      const float* row = step.weights.value + sample * positions;
      translations[sample].weights.emplace_back(row, row + sources[sample].size());
    }
    if (std::find(has_ended.begin(), has_ended.end(), false) == has_ended.end()) break;
    state = step.state;
  }
  return translations;
}

std::vector<std::vector<std::vector<float>>> forced_alignment(const Weights<float>& weights,
                                                              const EncoderDecoderSizes& sizes,
                                                              const std::vector<std::vector<int>>& sources,
                                                              const std::vector<std::vector<int>>& targets) {
  Tape<float> tape(false);
  Translator<float> translator(tape, weights, sizes, 0, nullptr);
  const auto encoded = translator.encode(sentences_by_position(sources));
  const auto steps =
      forced_steps(translator, sentences_by_position(words_read(targets, sizes.mark())), encoded);
  const std::size_t positions = encoded.states.rows / sources.size();
  std::vector<std::vector<std::vector<float>>> alignments(sources.size());
  for (std::size_t sample = 0; sample < sources.size(); ++sample)
    for (std::size_t position = 0; position < targets[sample].size(); ++position) {
      const float* row = steps[position].weights.value + sample * positions;
      alignments[sample].emplace_back(row, row + sources[sample].size());
    }
  return alignments;
}

template Variable<float> translation_loss(Tape<float>&, const Weights<float>&, const EncoderDecoderSizes&,
                                          const std::vector<std::vector<int>>&,
                                          const std::vector<std::vector<int>>&, float, double, Random*);
template Variable<double> translation_loss(Tape<double>&, const Weights<double>&, const EncoderDecoderSizes&,
                                           const std::vector<std::vector<int>>&,
                                           const std::vector<std::vector<int>>&, double, double, Random*);

}  // namespace attn::train
