#include "fast/train/transformer_translator.hpp"

#include <algorithm>
#include <stdexcept>

#include "fast/train/translation_model.hpp"

namespace attn::train {

namespace {

std::string block_name(const char* part, std::size_t layer) {
  return part + ("/layer=" + std::to_string(layer + 1)) + "/";
}

void add_block(WeightTable& table, const std::string& layer, const TransformerTranslatorSizes& sizes,
               bool has_memory) {
  const AttentionSizes attention = {sizes.d_model, sizes.heads, sizes.d_k, sizes.d_v};
  add_attention(table, layer + "attention", attention);
  add_layer_norm(table, layer + "norm_1", sizes.d_model);
  if (has_memory) {
    add_attention(table, layer + "cross", attention);
    add_layer_norm(table, layer + "norm_cross", sizes.d_model);
  }
  add_feed_forward(table, layer, sizes.d_model, sizes.d_ff);
  add_layer_norm(table, layer + "norm_2", sizes.d_model);
}

/// The encoder's output.
template <class T>
struct Memory {
  Variable<T> rows;  ///< [batch·positions × d_model]
  Lengths lengths;
  std::size_t positions;
};

template <class T>
struct Decoded {
  Variable<T> logits;              ///< [batch·positions × words]
  std::vector<Attended<T>> cross;  ///< of each layer
};

template <class T>
class EncoderAndDecoder {
 public:
  EncoderAndDecoder(Tape<T>& tape, const Weights<T>& weights, const TransformerTranslatorSizes& sizes,
                    double probability, Random* random)
      : tape_(tape), weights_(weights), sizes_(sizes), sublayers_(tape, weights, probability, random) {}

  Memory<T> encode(const std::vector<std::vector<int>>& sources) {
    const auto rows = rows_by_sample(sources);
    auto x = sublayers_.words("source/embedding", rows, sizes_.positions);
    for (std::size_t layer = 0; layer < sizes_.layers; ++layer) {
      const auto name = block_name("encoder", layer);
      x = feed_forward(self_attention(x, rows, name, false), name);
    }
    return {x, rows.lengths, rows.positions()};
  }

  Decoded<T> decode(const std::vector<std::vector<int>>& read, const Memory<T>& memory) {
    const auto rows = rows_by_sample(read);
    const HeadSizes heads = {rows.lengths.size(), rows.positions(), memory.positions, sizes_.heads};
    Decoded<T> decoded;
    auto x = sublayers_.words("target/embedding", rows, sizes_.positions);
    for (std::size_t layer = 0; layer < sizes_.layers; ++layer) {
      const auto name = block_name("decoder", layer);
      x = self_attention(x, rows, name, true);
      decoded.cross.push_back(
          sublayers_.attention(x, memory.rows, name + "cross", heads, memory.lengths, Positions::none));
      x = add_and_norm(x, sublayers_.mixed(decoded.cross.back(), name + "cross"), name + "norm_cross");
      x = feed_forward(x, name);
    }
    decoded.logits = linear(tape_, x, weights_("output/W"), {weights_("output/b")}, Gradient::in_place);
    return decoded;
  }

 private:
  Variable<T> add_and_norm(const Variable<T>& x, const Variable<T>& found, const std::string& name) {
    return sublayers_.norm(sublayers_.residual(x, found), name);
  }

  Variable<T> self_attention(const Variable<T>& x, const Rows& rows, const std::string& layer,
                             bool is_causal) {
    const HeadSizes heads = {rows.lengths.size(), rows.positions(), rows.positions(), sizes_.heads,
                             is_causal};
    const auto attended =
        sublayers_.attention(x, x, layer + "attention", heads, rows.lengths, sizes_.positions);
    return add_and_norm(x, sublayers_.mixed(attended, layer + "attention"), layer + "norm_1");
  }

  Variable<T> feed_forward(const Variable<T>& x, const std::string& layer) {
    return add_and_norm(x, sublayers_.feed_forward(x, layer), layer + "norm_2");
  }

  Tape<T>& tape_;
  const Weights<T>& weights_;
  const TransformerTranslatorSizes& sizes_;
  Sublayers<T> sublayers_;
};

}  // namespace

WeightTable weights_of(const TransformerTranslatorSizes& sizes) {
  if (sizes.positions == Positions::learned)
    throw std::invalid_argument("[weights_of] a transformer that translates has no table of positions");
  WeightTable table;
  table.add("source/embedding", sizes.source_words, sizes.d_model);
  table.add("target/embedding", sizes.target_words + 1, sizes.d_model);
  for (std::size_t layer = 0; layer < sizes.layers; ++layer)
    add_block(table, block_name("encoder", layer), sizes, false);
  for (std::size_t layer = 0; layer < sizes.layers; ++layer)
    add_block(table, block_name("decoder", layer), sizes, true);
  table.add("output/W", sizes.d_model, sizes.target_words + 1);
  table.add_vector("output/b", sizes.target_words + 1);
  return table;
}

template <class T>
Variable<T> translation_loss(Tape<T>& tape, const Weights<T>& weights,
                             const TransformerTranslatorSizes& sizes,
                             const std::vector<std::vector<int>>& sources,
                             const std::vector<std::vector<int>>& targets, T scale,
                             double dropout_probability, Random* random) {
  EncoderAndDecoder<T> model(tape, weights, sizes, dropout_probability, random);
  const auto memory = model.encode(sources);
  const auto decoded = model.decode(words_read(targets, sizes.mark()), memory);
  return cross_entropy(tape, decoded.logits, rows_by_sample(words_to_write(targets, sizes.mark())).ids,
                       scale);
}

std::vector<std::vector<int>> translate(const Weights<float>& weights,
                                        const TransformerTranslatorSizes& sizes,
                                        const std::vector<std::vector<int>>& sources,
                                        std::size_t most_words) {
  Tape<float> tape(false);
  EncoderAndDecoder<float> model(tape, weights, sizes, 0, nullptr);
  const auto memory = model.encode(sources);
  std::vector<std::vector<int>> read(sources.size(), {sizes.mark()}), written(sources.size());
  std::vector<bool> has_ended(sources.size(), false);
  for (std::size_t step = 0; step < most_words; ++step) {
    const auto logits = model.decode(read, memory).logits;
    for (std::size_t sample = 0; sample < sources.size(); ++sample) {
      const int word =
          likeliest(logits.value + (sample * (step + 1) + step) * logits.columns, logits.columns);
      read[sample].push_back(word);
      has_ended[sample] = has_ended[sample] || word == sizes.mark();
      if (!has_ended[sample]) written[sample].push_back(word);
    }
    if (std::find(has_ended.begin(), has_ended.end(), false) == has_ended.end()) break;
  }
  return written;
}

std::vector<std::vector<std::vector<std::vector<float>>>> forced_cross_attention(
    const Weights<float>& weights, const TransformerTranslatorSizes& sizes,
    const std::vector<std::vector<int>>& sources, const std::vector<std::vector<int>>& targets) {
  Tape<float> tape(false);
  EncoderAndDecoder<float> model(tape, weights, sizes, 0, nullptr);
  const auto memory = model.encode(sources);
  const auto read = words_read(targets, sizes.mark());
  const auto decoded = model.decode(read, memory);
  const std::size_t queries = rows_by_sample(read).positions();
  std::vector<std::vector<std::vector<std::vector<float>>>> heads;
  for (const auto& cross : decoded.cross)
    for (std::size_t head = 0; head < sizes.heads; ++head) {
      auto& samples = heads.emplace_back(sources.size());
      for (std::size_t sample = 0; sample < sources.size(); ++sample)
        for (std::size_t target = 0; target < targets[sample].size(); ++target) {
          const std::size_t row = (sample * sizes.heads + head) * queries + target;
          const float* first = cross.weights.value + row * memory.positions;
          samples[sample].emplace_back(first, first + sources[sample].size());
        }
    }
  return heads;
}

template Variable<float> translation_loss(Tape<float>&, const Weights<float>&,
                                          const TransformerTranslatorSizes&,
                                          const std::vector<std::vector<int>>&,
                                          const std::vector<std::vector<int>>&, float, double, Random*);
template Variable<double> translation_loss(Tape<double>&, const Weights<double>&,
                                           const TransformerTranslatorSizes&,
                                           const std::vector<std::vector<int>>&,
                                           const std::vector<std::vector<int>>&, double, double, Random*);

}  // namespace attn::train
