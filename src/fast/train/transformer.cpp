#include "fast/train/transformer.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace attn::train {

namespace {

std::string layer_name(std::size_t layer) {
  return "layer=" + std::to_string(layer + 1) + "/";
}

void add_norm(WeightTable& table, const std::string& name, std::size_t width) {
  table.add_vector(name + "/gain", width);
  table.add_vector(name + "/bias", width);
}

void add_layer(WeightTable& table, const std::string& layer, const TransformerSizes& sizes) {
  table.add(layer + "attention/W_Q", sizes.d_model, sizes.heads * sizes.d_k);
  table.add(layer + "attention/W_K", sizes.d_model, sizes.heads * sizes.d_k);
  table.add(layer + "attention/W_V", sizes.d_model, sizes.heads * sizes.d_v);
  table.add(layer + "attention/W_O", sizes.heads * sizes.d_v, sizes.d_model);
  if (sizes.has_norm) add_norm(table, layer + "norm_1", sizes.d_model);
  if (sizes.d_ff == 0) return;
  table.add(layer + "W_1", sizes.d_model, sizes.d_ff);
  table.add_vector(layer + "b_1", sizes.d_ff);
  table.add(layer + "W_2", sizes.d_ff, sizes.d_model);
  table.add_vector(layer + "b_2", sizes.d_model);
  if (sizes.has_norm) add_norm(table, layer + "norm_2", sizes.d_model);
}

template <class T>
class Layers {
 public:
  Layers(Tape<T>& tape, const Weights<T>& weights, const TransformerSizes& sizes, const Rows& rows,
         double probability, Random* random)
      : tape_(tape),
        weights_(weights),
        sizes_(sizes),
        rows_(rows),
        head_sizes_{rows.lengths.size(), rows.positions(), rows.positions(), sizes.heads, sizes.is_causal},
        probability_(probability),
        random_(random) {}

  const HeadSizes& head_sizes() const { return head_sizes_; }

  Variable<T> input() {
    const auto words = embed(tape_, weights_("embedding"), rows_.ids);
    if (sizes_.positions == Positions::sinusoidal) return drop(add(tape_, words, sinusoids()));
    if (sizes_.positions == Positions::learned)
      return drop(add(tape_, words, embed(tape_, weights_("positions"), position_ids())));
    return drop(words);
  }

  Attended<T> attention(const Variable<T>& x, const std::string& layer) {
    auto Q = linear(tape_, x, weights_(layer + "attention/W_Q"));
    auto K = linear(tape_, x, weights_(layer + "attention/W_K"));
    const auto V = linear(tape_, x, weights_(layer + "attention/W_V"));
    if (sizes_.positions == Positions::rotary) {
      Q = rotate(tape_, Q, rows_.positions(), sizes_.heads);
      K = rotate(tape_, K, rows_.positions(), sizes_.heads);
    }
    return attend(tape_, Q, K, V, head_sizes_, rows_.lengths);
  }

  /// The block of the lesson `transformer-block`, the norm after each residual.
  Variable<T> block(const Variable<T>& x, const Attended<T>& attended, const std::string& layer) {
    const auto mixed = linear(tape_, attended.output, weights_(layer + "attention/W_O"));
    const auto between = norm(add(tape_, x, drop(mixed)), layer + "norm_1");
    if (sizes_.d_ff == 0) return between;
    const auto hidden =
        relu(tape_, linear(tape_, between, weights_(layer + "W_1"), {weights_(layer + "b_1")}));
    const auto made = linear(tape_, hidden, weights_(layer + "W_2"), {weights_(layer + "b_2")});
    return norm(add(tape_, between, drop(made)), layer + "norm_2");
  }

  Variable<T> logits(const Variable<T>& x) {
    const auto read = sizes_.is_of_sentence ? mean_rows(tape_, x, rows_.lengths) : x;
    if (!sizes_.has_output_bias) return linear(tape_, read, weights_("output/W"));
    return linear(tape_, read, weights_("output/W"), {weights_("output/b")});
  }

 private:
  Variable<T> drop(const Variable<T>& x) { return dropout(tape_, x, probability_, random_); }

  Variable<T> norm(const Variable<T>& x, const std::string& name) {
    if (!sizes_.has_norm) return x;
    return layer_norm(tape_, x, weights_(name + "/gain"), weights_(name + "/bias"));
  }

  std::vector<int> position_ids() const {
    std::vector<int> ids(rows_.ids.size(), -1);
    for (std::size_t row = 0; row < ids.size(); ++row)
      if (rows_.ids[row] >= 0) ids[row] = static_cast<int>(row % rows_.positions());
    return ids;
  }

  Variable<T> sinusoids() {
    const auto encoding = tape_.constant(rows_.ids.size(), sizes_.d_model);
    for (std::size_t position = 0; position < rows_.positions(); ++position) {
      const auto row = sinusoidal_position(position, sizes_.d_model);
      for (std::size_t sample = 0; sample < rows_.lengths.size(); ++sample)
        std::transform(row.begin(), row.end(), encoding.slice(sample * rows_.positions() + position, 1).value,
                       [](double number) { return static_cast<T>(number); });
    }
    return encoding;
  }

  Tape<T>& tape_;
  const Weights<T>& weights_;
  const TransformerSizes& sizes_;
  const Rows& rows_;
  HeadSizes head_sizes_;
  double probability_;
  Random* random_;
};

}  // namespace

WeightTable weights_of(const TransformerSizes& sizes) {
  WeightTable table;
  table.add("embedding", sizes.words, sizes.d_model);
  if (sizes.positions == Positions::learned) table.add("positions", sizes.longest, sizes.d_model);
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) add_layer(table, layer_name(layer), sizes);
  table.add("output/W", sizes.d_model, sizes.classes);
  if (sizes.has_output_bias) table.add_vector("output/b", sizes.classes);
  return table;
}

Rows rows_by_sample(const std::vector<std::vector<int>>& sentences) {
  Rows rows;
  std::size_t positions = 0;
  for (const auto& sentence : sentences) {
    rows.lengths.push_back(sentence.size());
    positions = std::max(positions, sentence.size());
  }
  rows.ids.assign(positions * sentences.size(), -1);
  for (std::size_t sample = 0; sample < sentences.size(); ++sample)
    std::copy(sentences[sample].begin(), sentences[sample].end(),
              rows.ids.begin() + static_cast<std::ptrdiff_t>(sample * positions));
  return rows;
}

std::vector<double> sinusoidal_position(std::size_t position, std::size_t d_model) {
  std::vector<double> row(d_model);
  for (std::size_t column = 0; column < d_model; ++column) {
    const double exponent = -static_cast<double>(column / 2 * 2) / static_cast<double>(d_model);
    const double angle = static_cast<double>(position) * std::pow(10000.0, exponent);
    row[column] = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
  }
  return row;
}

template <class T>
TransformerRun<T> run(Tape<T>& tape, const Weights<T>& weights, const TransformerSizes& sizes,
                      const Rows& rows, double dropout_probability, Random* random) {
  Layers<T> layers(tape, weights, sizes, rows, dropout_probability, random);
  TransformerRun<T> result;
  result.sizes = layers.head_sizes();
  auto x = layers.input();
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    result.attended.push_back(layers.attention(x, layer_name(layer)));
    x = layers.block(x, result.attended.back(), layer_name(layer));
  }
  result.logits = layers.logits(x);
  return result;
}

template TransformerRun<float> run(Tape<float>&, const Weights<float>&, const TransformerSizes&, const Rows&,
                                   double, Random*);
template TransformerRun<double> run(Tape<double>&, const Weights<double>&, const TransformerSizes&,
                                    const Rows&, double, Random*);

}  // namespace attn::train
