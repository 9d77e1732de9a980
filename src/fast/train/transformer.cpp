#include "fast/train/transformer.hpp"

#include <algorithm>
#include <string>

#include "attn/error.hpp"

namespace attn::train {

std::string name_of(Positions positions) {
  constexpr const char* names[] = {"none", "sinusoidal", "learned", "rotary"};
  return names[static_cast<std::size_t>(positions)];
}

Positions positions_of(const std::string& name, const std::vector<Positions>& valid) {
  std::string known;
  for (const auto positions : valid) {
    if (name_of(positions) == name) return positions;
    known += (known.empty() ? "" : ", ") + name_of(positions);
  }
  throw Error("--positions: there is no encoding \"" + name + "\" here; valid: " + known);
}

namespace {

Rows rows_of(const std::vector<std::vector<int>>& sentences, bool by_sample) {
  const std::size_t batch = sentences.size();
  Rows rows;
  std::size_t positions = 0;
  for (const auto& sentence : sentences) {
    rows.lengths.push_back(sentence.size());
    positions = std::max(positions, sentence.size());
  }
  rows.ids.assign(positions * batch, -1);
  for (std::size_t sample = 0; sample < batch; ++sample)
    for (std::size_t position = 0; position < sentences[sample].size(); ++position)
      rows.ids[by_sample ? sample * positions + position : position * batch + sample] =
          sentences[sample][position];
  return rows;
}

}  // namespace

Rows rows_by_sample(const std::vector<std::vector<int>>& sentences) {
  return rows_of(sentences, true);
}

Rows rows_by_position(const std::vector<std::vector<int>>& sentences) {
  return rows_of(sentences, false);
}

template class Sublayers<float>;
template class Sublayers<double>;

std::string layer_name(std::size_t layer) {
  return "layer=" + std::to_string(layer + 1) + "/";
}

void add_layer(WeightTable& table, const std::string& layer, const TransformerSizes& sizes, bool has_memory) {
  const auto add_attention = [&](const std::string& group) {
    table.add(layer + group + "/W_Q", sizes.d_model, sizes.heads * sizes.d_k);
    table.add(layer + group + "/W_K", sizes.d_model, sizes.heads * sizes.d_k);
    table.add(layer + group + "/W_V", sizes.d_model, sizes.heads * sizes.d_v);
    table.add(layer + group + "/W_O", sizes.heads * sizes.d_v, sizes.d_model);
  };
  const auto add_norm = [&](const std::string& name) {
    if (!sizes.has_norm) return;
    table.add_vector(layer + name + "/gain", sizes.d_model);
    table.add_vector(layer + name + "/bias", sizes.d_model);
  };
  add_attention("attention");
  add_norm("norm_1");
  if (has_memory) {
    add_attention("cross");
    add_norm("norm_cross");
  }
  if (sizes.d_ff == 0) return;
  table.add(layer + "W_1", sizes.d_model, sizes.d_ff);
  table.add_vector(layer + "b_1", sizes.d_ff);
  table.add(layer + "W_2", sizes.d_ff, sizes.d_model);
  table.add_vector(layer + "b_2", sizes.d_model);
  add_norm("norm_2");
}

template <class T>
Variable<T> block(Sublayers<T>& sublayers, const TransformerSizes& sizes, const Variable<T>& x,
                  const Attended<T>& attended, const std::string& layer) {
  const auto norm = [&](const Variable<T>& sum, const std::string& name) {
    return sizes.has_norm ? sublayers.norm(sum, layer + name) : sum;
  };
  const auto mixed = sublayers.mixed(attended, layer + "attention");
  const auto between = norm(sublayers.residual(x, mixed), "norm_1");
  if (sizes.d_ff == 0) return between;
  return norm(sublayers.residual(between, sublayers.feed_forward(between, layer)), "norm_2");
}

WeightTable weights_of(const TransformerSizes& sizes) {
  WeightTable table;
  table.add("embedding", sizes.words, sizes.d_model);
  if (sizes.positions == Positions::learned) table.add("positions", sizes.longest, sizes.d_model);
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) add_layer(table, layer_name(layer), sizes);
  table.add("output/W", sizes.d_model, sizes.classes);
  if (sizes.has_output_bias) table.add_vector("output/b", sizes.classes);
  return table;
}

template <class T>
TransformerRun<T> run(Tape<T>& tape, const Weights<T>& weights, const TransformerSizes& sizes,
                      const Rows& rows, double dropout_probability, Random* random) {
  Sublayers<T> sublayers(tape, weights, dropout_probability, random);
  TransformerRun<T> result;
  result.sizes = {rows.lengths.size(), rows.positions(), rows.positions(), sizes.heads, sizes.is_causal};
  auto x = sublayers.words("embedding", rows, sizes.positions);
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    const auto name = layer_name(layer);
    result.attended.push_back(
        sublayers.attention(x, x, name + "attention", result.sizes, rows.lengths, sizes.positions));
    x = block(sublayers, sizes, x, result.attended.back(), name);
  }
  const auto read = sizes.is_of_sentence ? mean_rows(tape, x, rows.lengths) : x;
  result.logits = sizes.has_output_bias ? linear(tape, read, weights("output/W"), {weights("output/b")})
                                        : linear(tape, read, weights("output/W"));
  return result;
}

template Variable<float> block(Sublayers<float>&, const TransformerSizes&, const Variable<float>&,
                               const Attended<float>&, const std::string&);
template Variable<double> block(Sublayers<double>&, const TransformerSizes&, const Variable<double>&,
                                const Attended<double>&, const std::string&);
template TransformerRun<float> run(Tape<float>&, const Weights<float>&, const TransformerSizes&, const Rows&,
                                   double, Random*);
template TransformerRun<double> run(Tape<double>&, const Weights<double>&, const TransformerSizes&,
                                    const Rows&, double, Random*);

}  // namespace attn::train
