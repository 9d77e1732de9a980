#include "fast/train/transformer.hpp"

#include <string>

namespace attn::train {

std::string layer_name(std::size_t layer) {
  return "layer=" + std::to_string(layer + 1) + "/";
}

void add_layer(WeightTable& table, const std::string& layer, const TransformerSizes& sizes) {
  add_attention(table, layer + "attention", {sizes.d_model, sizes.heads, sizes.d_k, sizes.d_v});
  if (sizes.has_norm) add_layer_norm(table, layer + "norm_1", sizes.d_model);
  if (sizes.d_ff == 0) return;
  add_feed_forward(table, layer, sizes.d_model, sizes.d_ff);
  if (sizes.has_norm) add_layer_norm(table, layer + "norm_2", sizes.d_model);
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
