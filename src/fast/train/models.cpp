#include "fast/train/models.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/error.hpp"
#include "attn/lists.hpp"

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

Rows padded_rows(const Sequences& sentences, bool by_sample) {
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

Rows rows_by_sample(const Sequences& sentences) {
  return padded_rows(sentences, true);
}

Rows rows_by_position(const Sequences& sentences) {
  return padded_rows(sentences, false);
}

template class Sublayers<float>;
template class Sublayers<double>;

std::map<std::string, std::string> sizes_as_text(const TransformerSizes& sizes) {
  return {{"d_model", std::to_string(sizes.d_model)}, {"heads", std::to_string(sizes.heads)},
          {"d_k", std::to_string(sizes.d_k)},         {"d_v", std::to_string(sizes.d_v)},
          {"d_ff", std::to_string(sizes.d_ff)},       {"layers", std::to_string(sizes.layers)},
          {"positions", name_of(sizes.positions)}};
}

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
  auto x = sublayers.words("embedding", rows, sizes.positions);
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    const auto block = sublayers.block(x, layer_name(layer), sizes, rows.lengths);
    result.attended.push_back(block.attended);
    x = block.output;
  }
  const auto read = sizes.is_of_sentence ? tape.mean_rows(x, rows.lengths) : x;
  result.logits = sizes.has_output_bias ? tape.linear(read, weights("output/W"), {weights("output/b")})
                                        : tape.linear(read, weights("output/W"));
  return result;
}

template TransformerRun<float> run(Tape<float>&, const Weights<float>&, const TransformerSizes&, const Rows&,
                                   double, Random*);
template TransformerRun<double> run(Tape<double>&, const Weights<double>&, const TransformerSizes&,
                                    const Rows&, double, Random*);

Vocabulary::Vocabulary(std::vector<std::string> words) : words_(std::move(words)) {
  for (std::size_t i = 0; i < words_.size(); ++i) ids_.emplace(words_[i], static_cast<int>(i));
}

int Vocabulary::id(const std::string& word) const {
  if (const auto* id = value_in(ids_, word)) return *id;
  throw std::logic_error("the vocabulary has no word " + word);
}

std::vector<int> Vocabulary::ids(const std::vector<std::string>& words) const {
  std::vector<int> result;
  for (const auto& word : words) result.push_back(id(word));
  return result;
}

std::string Vocabulary::text(const std::vector<int>& ids, const char* separator) const {
  std::string text;
  for (const int id : ids) text += (text.empty() ? "" : separator) + words_[static_cast<std::size_t>(id)];
  return text;
}

Examples examples_of(const TransformerSizes& sizes, std::vector<Labelled> labelled) {
  Examples examples;
  for (const auto& [input, targets] : labelled) {
    examples.lengths.push_back(input.size());
    examples.predictions.push_back(static_cast<std::size_t>(
        std::count_if(targets.begin(), targets.end(), [](int target) { return target >= 0; })));
  }
  examples.loss = [sizes, all = std::move(labelled)](auto& tape, const auto& weights, const auto& numbers,
                                                     float scale, double dropout, Random* random) {
    std::vector<std::vector<int>> inputs, targets;
    for (const std::size_t number : numbers) {
      inputs.push_back(all[number].input);
      targets.push_back(all[number].targets);
    }
    const auto result = run(tape, weights, sizes, rows_by_sample(inputs), dropout, random);
    return tape.cross_entropy(result.logits, rows_by_sample(targets).ids, scale);
  };
  return examples;
}

Numbers rows_of(const float* matrix, std::size_t rows, std::size_t columns) {
  Numbers result;
  for (; rows > 0; --rows, matrix += columns) result.emplace_back(matrix, matrix + columns);
  return result;
}

Reading read(const Weights<float>& weights, const TransformerSizes& sizes, const std::vector<int>& input) {
  Tape<float> tape(false);
  const auto result = run(tape, weights, sizes, rows_by_sample({input}));
  Reading reading = {.logits = rows_of(result.logits.value, result.logits.rows, sizes.classes)};
  for (const auto& row : reading.logits) reading.classes.push_back(static_cast<int>(strongest(row)));
  const std::size_t n = input.size();
  for (const auto& attended : result.attended) {
    auto& heads = reading.weights.emplace_back();
    for (std::size_t head = 0; head < sizes.heads; ++head)
      heads.push_back(rows_of(attended.weights.value + head * n * n, n, n));
  }
  return reading;
}

Share accuracy(const Weights<float>& weights, const TransformerSizes& sizes,
               const std::vector<Labelled>& examples) {
  Share share = {0, 0};
  for (const auto& example : examples) {
    const auto classes = read(weights, sizes, example.input).classes;
    for (std::size_t i = 0; i < example.targets.size(); ++i) {
      if (example.targets[i] >= 0) share.count(classes[i] == example.targets[i]);
    }
  }
  return share;
}

}  // namespace attn::train
