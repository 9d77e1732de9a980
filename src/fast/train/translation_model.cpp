#include <algorithm>
#include <stdexcept>

#include "fast/train/models.hpp"

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

WeightTable weights_of_network(const EncoderDecoderSizes& sizes) {
  WeightTable table;
  const std::size_t width = sizes.width(), written = sizes.target_words + 1;
  table.add("source/embedding", sizes.source_words, sizes.d_model);
  table.add("target/embedding", sizes.target_words + 1, sizes.d_model);
  add_lstm(table, "encoder", sizes.d_model, sizes.hidden);
  add_lstm(table, "encoder/reverse", sizes.d_model, sizes.hidden);
  add_lstm(table, "decoder", sizes.d_model + (reads_context(sizes) ? width : 0), width);
  if (reads_context(sizes)) {
    const bool asks_with_word = sizes.attention == DecoderAttention::bahdanau_input;
    table.add("attention/W_q", width + (asks_with_word ? sizes.d_model : 0), sizes.d_a);
    table.add("attention/W_k", width, sizes.d_a);
    table.add_vector("attention/v_a", sizes.d_a);
  } else if (sizes.attention == DecoderAttention::luong_general) {
    table.add("attention/W_a", width, width);
    table.add("attention/W_c", 2 * width, width);
  }
  table.add("output/W", reads_context(sizes) ? 2 * width : width, written);
  if (reads_context(sizes)) table.add_vector("output/b", written);
  return table;
}

WeightTable weights_of_network(const TransformerTranslatorSizes& sizes) {
  const auto& blocks = sizes.blocks;
  if (blocks.positions == Positions::learned)
    throw std::invalid_argument("[weights_of] a transformer that translates has no table of positions");
  WeightTable table;
  table.add("source/embedding", sizes.source_words, blocks.d_model);
  table.add("target/embedding", sizes.target_words + 1, blocks.d_model);
  for (const std::string part : {"encoder/", "decoder/"})
    for (std::size_t layer = 0; layer < blocks.layers; ++layer)
      add_layer(table, part + layer_name(layer), blocks, part == "decoder/");
  table.add("output/W", blocks.d_model, sizes.target_words + 1);
  table.add_vector("output/b", sizes.target_words + 1);
  return table;
}

template <class T, class Sizes>
class Network;

/// Two LSTMs while they run. Rows lie by position.
template <class T>
class Network<T, EncoderDecoderSizes> {
 public:
  Network(Tape<T>& tape, const Weights<T>& weights, const EncoderDecoderSizes& sizes, double probability,
          Random* random)
      : tape_(tape),
        weights_(weights),
        sizes_(sizes),
        sublayers_(tape, weights, probability, random),
        decoder_(lstm("decoder")) {}

  static Rows rows(const Sequences& sentences) { return rows_by_position(sentences); }

  void encode(const Sequences& sources) {
    const Rows source = rows(sources);
    const std::size_t batch = source.lengths.size(), last = (source.positions() - 1) * batch;
    const auto x = sublayers_.words("source/embedding", source, Positions::none);
    const LstmState<T> nothing = {zeros(batch), zeros(batch)};
    const auto forward = tape_.lstm(x, nothing, lstm("encoder"), source.lengths, Direction::forwards);
    const auto reverse =
        tape_.lstm(x, nothing, lstm("encoder/reverse"), source.lengths, Direction::backwards);
    lengths_ = source.lengths;
    states_ = tape_.concatenate({forward.h, reverse.h});
    state_ = {tape_.concatenate({forward.h.slice(last, batch), reverse.h.slice(0, batch)}),
              tape_.concatenate({forward.c.slice(last, batch), reverse.c.slice(0, batch)})};
    if (reads_context(sizes_)) keys_ = tape_.linear(states_, weights_("attention/W_k"));
  }

  /// Reads these words, one after the other.
  void decode(const Sequences& read) {
    const Rows words = rows(read);
    const auto y = sublayers_.words("target/embedding", words, Positions::none);
    const std::size_t batch = words.lengths.size();
    for (std::size_t position = 0; position < words.positions(); ++position)
      add_step(y.slice(position * batch, batch));
  }

  /// What is predicted to follow the words that were read, as cross-entropy reads it.
  Variable<T> logits() {
    std::vector<std::vector<Variable<T>>> parts;
    for (const auto& step : steps_)
      parts.push_back(reads_context(sizes_) ? std::vector{step.h, step.context}
                      : heads() == 0        ? std::vector{step.h}
                                            : std::vector{step.context, step.h});
    auto shown = tape_.block(parts);
    if (sizes_.attention == DecoderAttention::luong_general)
      shown = tape_.tanh(tape_.linear(shown, weights_("attention/W_c")));
    if (reads_context(sizes_))
      return tape_.linear(sublayers_.drop(shown), weights_("output/W"), {weights_("output/b")},
                          Gradient::in_place);
    return tape_.linear(sublayers_.drop(shown), weights_("output/W"), {}, Gradient::in_place);
  }

  /// Reads the last word of each sample, the words before having been read.
  void go_on(const Sequences& read) {
    Sequences words;
    for (const auto& sentence : read) words.push_back({sentence.back()});
    steps_.clear();
    decode(words);
  }

  /// Of the logits, what is predicted to follow the last word of a sample.
  std::size_t last_row(std::size_t sample) const { return sample; }

  std::size_t heads() const { return sizes_.attention == DecoderAttention::none ? 0 : 1; }

  std::string name_of_head(std::size_t) const { return ""; }

  /// The weights of the source's words, when the word at a position was read.
  const T* looks(std::size_t, std::size_t sample, std::size_t position) const {
    const auto& weights = steps_[position].weights;
    return weights.value + sample * weights.columns;
  }

 private:
  struct Step {
    Variable<T> h;
    Variable<T> context;  ///< without attention nothing
    Variable<T> weights;  ///< [batch × positions]
  };

  LstmWeights<T> lstm(const std::string& name) {
    return tape_.lstm_weights(weights_(name + "/W_ih"), weights_(name + "/W_hh"), weights_(name + "/b_ih"),
                              weights_(name + "/b_hh"));
  }

  Variable<T> zeros(std::size_t batch) {
    const auto state = tape_.constant(batch, sizes_.hidden);
    std::fill_n(state.value, state.size(), T{0});
    return state;
  }

  void add_step(const Variable<T>& y) {
    Step step;
    const auto attend = [&](const Variable<T>& scores) {
      step.weights = tape_.softmax(scores, lengths_);
      step.context = tape_.weighted_sum(step.weights, states_, lengths_);
    };
    auto x = y;
    if (reads_context(sizes_)) {
      const bool asks_with_word = sizes_.attention == DecoderAttention::bahdanau_input;
      const auto asks = asks_with_word ? tape_.concatenate({state_.h, y}) : state_.h;
      const auto query = tape_.linear(asks, weights_("attention/W_q"));
      attend(tape_.additive_scores(query, keys_, weights_("attention/v_a"), lengths_));
      x = tape_.concatenate({y, step.context});
    }
    state_ = tape_.lstm(x, state_, decoder_, Lengths(lengths_.size(), 1), Direction::forwards);
    step.h = state_.h;
    if (sizes_.attention == DecoderAttention::luong_general)
      attend(tape_.dot_scores(tape_.linear(step.h, weights_("attention/W_a")), states_, lengths_));
    steps_.push_back(step);
  }

  Tape<T>& tape_;
  const Weights<T>& weights_;
  const EncoderDecoderSizes& sizes_;
  Sublayers<T> sublayers_;
  LstmWeights<T> decoder_;
  Lengths lengths_;     ///< of the sources
  Variable<T> states_;  ///< of the encoder, [positions·batch × width]
  Variable<T> keys_;    ///< projected once for all steps, where attention is additive
  LstmState<T> state_;  ///< of the decoder, [batch × width]
  std::vector<Step> steps_;
};

/// The transformer while it runs. Rows lie by sample.
template <class T>
class Network<T, TransformerTranslatorSizes> {
 public:
  Network(Tape<T>& tape, const Weights<T>& weights, const TransformerTranslatorSizes& sizes,
          double probability, Random* random)
      : tape_(tape),
        weights_(weights),
        blocks_(sizes.blocks),
        sublayers_(tape, weights, probability, random) {}

  static Rows rows(const Sequences& sentences) { return rows_by_sample(sentences); }

  void encode(const Sequences& sources) {
    const Rows source = rows(sources);
    memory_ = {sublayers_.words("source/embedding", source, blocks_.positions), source.lengths};
    for (std::size_t layer = 0; layer < blocks_.layers; ++layer)
      memory_.rows =
          sublayers_.block(memory_.rows, "encoder/" + layer_name(layer), blocks_, source.lengths).output;
  }

  void decode(const Sequences& read) {
    const Rows words = rows(read);
    auto causal = blocks_;
    causal.is_causal = true;
    queries_ = words.positions();
    cross_.clear();
    decoded_ = sublayers_.words("target/embedding", words, blocks_.positions);
    for (std::size_t layer = 0; layer < blocks_.layers; ++layer) {
      const auto block =
          sublayers_.block(decoded_, "decoder/" + layer_name(layer), causal, words.lengths, &memory_);
      cross_.push_back(block.cross);
      decoded_ = block.output;
    }
  }

  Variable<T> logits() {
    return tape_.linear(decoded_, weights_("output/W"), {weights_("output/b")}, Gradient::in_place);
  }

  void go_on(const Sequences& read) { decode(read); }

  std::size_t last_row(std::size_t sample) const { return (sample + 1) * queries_ - 1; }

  std::string name_of_head(std::size_t head) const {
    return "layer " + std::to_string(head / blocks_.heads + 1) + ", head " +
           std::to_string(head % blocks_.heads);
  }

  std::size_t heads() const { return blocks_.layers * blocks_.heads; }

  const T* looks(std::size_t head, std::size_t sample, std::size_t position) const {
    const auto& weights = cross_[head / blocks_.heads].weights;
    return weights.value +
           ((sample * blocks_.heads + head % blocks_.heads) * queries_ + position) * weights.columns;
  }

 private:
  Tape<T>& tape_;
  const Weights<T>& weights_;
  const TransformerSizes& blocks_;
  Sublayers<T> sublayers_;
  Memory<T> memory_{};
  Variable<T> decoded_;             ///< [batch·positions × d_model]
  std::vector<Attended<T>> cross_;  ///< of each layer
  std::size_t queries_ = 0;         ///< positions that were read
};

/// What a decoder reads to write each sentence: the mark and all words but the last.
Sequences words_read(Sequences targets, int mark) {
  for (auto& words : targets) words.insert(words.begin(), mark);
  return targets;
}

/// What it is to write: the words and the mark.
Sequences words_to_write(Sequences targets, int mark) {
  for (auto& words : targets) words.push_back(mark);
  return targets;
}

std::map<std::string, std::string> text_of(const EncoderDecoderSizes& sizes) {
  return {{"attention", name_of(sizes.attention)},
          {"d_model", std::to_string(sizes.d_model)},
          {"hidden", std::to_string(sizes.hidden)},
          {"d_a", std::to_string(sizes.d_a)},
          {"bidirectional", "true"}};
}

std::map<std::string, std::string> text_of(const TransformerTranslatorSizes& sizes) {
  auto text = sizes_as_text(sizes.blocks);
  text["attention"] = "transformer";
  text["norm"] = "post";
  return text;
}

/// Calls `use(network, mark)` with a network that has read the sources, and with the id of its marks.
template <class T, class Use>
auto with_encoded(Tape<T>& tape, const Weights<T>& weights, const TranslatorSizes& sizes,
                  const Sequences& sources, double dropout_probability, Random* random, const Use& use) {
  return std::visit(
      [&](const auto& one) {
        Network<T, std::decay_t<decltype(one)>> network(tape, weights, one, dropout_probability, random);
        network.encode(sources);
        return use(network, one.mark());
      },
      sizes);
}

}  // namespace

std::string name_of(DecoderAttention attention) {
  constexpr const char* names[] = {"bahdanau", "bahdanau-input", "luong-general", "none"};
  return names[static_cast<std::size_t>(attention)];
}

WeightTable weights_of(const TranslatorSizes& sizes) {
  return std::visit([](const auto& one) { return weights_of_network(one); }, sizes);
}

std::map<std::string, std::string> configuration_of(const TranslatorSizes& sizes) {
  return std::visit([](const auto& one) { return text_of(one); }, sizes);
}

template <class T>
Variable<T> translation_loss(Tape<T>& tape, const Weights<T>& weights, const TranslatorSizes& sizes,
                             const Sequences& sources, const Sequences& targets, T scale,
                             double dropout_probability, Random* random) {
  return with_encoded(
      tape, weights, sizes, sources, dropout_probability, random, [&](auto& network, int mark) {
        network.decode(words_read(targets, mark));
        return tape.cross_entropy(network.logits(), network.rows(words_to_write(targets, mark)).ids, scale);
      });
}

Examples examples_of(const TranslatorSizes& sizes, Translations translations) {
  Examples examples;
  for (std::size_t i = 0; i < translations.sources.size(); ++i) {
    examples.lengths.push_back(translations.sources[i].size() + translations.targets[i].size());
    examples.predictions.push_back(translations.targets[i].size() + 1);
  }
  examples.loss = [sizes, all = std::move(translations)](auto& tape, const auto& weights, const auto& numbers,
                                                         float scale, double dropout, Random* random) {
    Sequences sources, targets;
    for (const std::size_t number : numbers) {
      sources.push_back(all.sources[number]);
      targets.push_back(all.targets[number]);
    }
    return translation_loss(tape, weights, sizes, sources, targets, scale, dropout, random);
  };
  return examples;
}

Sequences translate(const Weights<float>& weights, const TranslatorSizes& sizes, const Sequences& sources,
                    std::size_t most_words) {
  Tape<float> tape(false);
  return with_encoded(tape, weights, sizes, sources, 0, nullptr, [&](auto& network, int mark) {
    Sequences read(sources.size(), {mark}), written(sources.size());
    std::vector<bool> has_ended(sources.size(), false);
    for (std::size_t step = 0; step < most_words; ++step) {
      network.go_on(read);
      const auto logits = network.logits();
      for (std::size_t sample = 0; sample < sources.size(); ++sample) {
        const float* first = logits.value + network.last_row(sample) * logits.columns;
        const int word = static_cast<int>(std::max_element(first, first + logits.columns) - first);
        read[sample].push_back(word);
        has_ended[sample] = has_ended[sample] || word == mark;
        if (!has_ended[sample]) written[sample].push_back(word);
      }
      if (std::find(has_ended.begin(), has_ended.end(), false) == has_ended.end()) break;
    }
    return written;
  });
}

std::vector<AttendingHead> attending_heads(const Weights<float>& weights, const TranslatorSizes& sizes,
                                           const Sequences& sources, const Sequences& targets) {
  Tape<float> tape(false);
  return with_encoded(tape, weights, sizes, sources, 0, nullptr, [&](auto& network, int mark) {
    network.decode(words_read(targets, mark));
    std::vector<AttendingHead> heads;
    for (std::size_t head = 0; head < network.heads(); ++head) {
      auto& [name, samples] = heads.emplace_back();
      name = network.name_of_head(head);
      for (std::size_t sample = 0; sample < sources.size(); ++sample) {
        auto& rows = samples.emplace_back();
        for (std::size_t target = 0; target < targets[sample].size(); ++target) {
          const float* first = network.looks(head, sample, target);
          rows.emplace_back(first, first + sources[sample].size());
        }
      }
    }
    return heads;
  });
}

template Variable<float> translation_loss(Tape<float>&, const Weights<float>&, const TranslatorSizes&,
                                          const Sequences&, const Sequences&, float, double, Random*);
template Variable<double> translation_loss(Tape<double>&, const Weights<double>&, const TranslatorSizes&,
                                           const Sequences&, const Sequences&, double, double, Random*);

}  // namespace attn::train
