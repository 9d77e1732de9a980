#include "fast/train/sublayers.hpp"

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

namespace attn::train {

std::string name_of(Positions positions) {
  switch (positions) {
    case Positions::none:
      return "none";
    case Positions::sinusoidal:
      return "sinusoidal";
    case Positions::learned:
      return "learned";
    case Positions::rotary:
      return "rotary";
  }
  return "";
}

Positions positions_of(const std::string& name, const std::vector<Positions>& valid) {
  std::string known;
  for (const auto positions : valid) {
    if (name_of(positions) == name) return positions;
    known += (known.empty() ? "" : ", ") + name_of(positions);
  }
  throw Error("--positions: there is no encoding \"" + name + "\" here; valid: " + known);
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

void add_attention(WeightTable& table, const std::string& group, const AttentionSizes& sizes) {
  table.add(group + "/W_Q", sizes.d_model, sizes.heads * sizes.d_k);
  table.add(group + "/W_K", sizes.d_model, sizes.heads * sizes.d_k);
  table.add(group + "/W_V", sizes.d_model, sizes.heads * sizes.d_v);
  table.add(group + "/W_O", sizes.heads * sizes.d_v, sizes.d_model);
}

void add_layer_norm(WeightTable& table, const std::string& name, std::size_t d_model) {
  table.add_vector(name + "/gain", d_model);
  table.add_vector(name + "/bias", d_model);
}

void add_feed_forward(WeightTable& table, const std::string& layer, std::size_t d_model, std::size_t d_ff) {
  table.add(layer + "W_1", d_model, d_ff);
  table.add_vector(layer + "b_1", d_ff);
  table.add(layer + "W_2", d_ff, d_model);
  table.add_vector(layer + "b_2", d_model);
}

namespace {

/// The position of each word; −1 for padding.
std::vector<int> position_ids(const Rows& rows) {
  std::vector<int> ids(rows.ids.size(), -1);
  for (std::size_t row = 0; row < ids.size(); ++row)
    if (rows.ids[row] >= 0) ids[row] = static_cast<int>(row % rows.positions());
  return ids;
}

}  // namespace

template <class T>
Variable<T> Sublayers<T>::words(const std::string& table, const Rows& rows, Positions positions) {
  const auto found = embed(tape_, weights_(table), rows.ids);
  if (positions == Positions::sinusoidal) return drop(add(tape_, found, sinusoids(rows, found.columns)));
  if (positions == Positions::learned)
    return drop(add(tape_, found, embed(tape_, weights_("positions"), position_ids(rows))));
  return drop(found);
}

template <class T>
Attended<T> Sublayers<T>::attention(const Variable<T>& x, const Variable<T>& memory, const std::string& group,
                                    const HeadSizes& sizes, const Lengths& key_lengths, Positions positions) {
  auto Q = linear(tape_, x, weights_(group + "/W_Q"));
  auto K = linear(tape_, memory, weights_(group + "/W_K"));
  const auto V = linear(tape_, memory, weights_(group + "/W_V"));
  if (positions == Positions::rotary) {
    Q = rotate(tape_, Q, sizes.queries, sizes.heads);
    K = rotate(tape_, K, sizes.keys, sizes.heads);
  }
  return attend(tape_, Q, K, V, sizes, key_lengths);
}

template <class T>
Variable<T> Sublayers<T>::mixed(const Attended<T>& attended, const std::string& group) {
  return linear(tape_, attended.output, weights_(group + "/W_O"));
}

template <class T>
Variable<T> Sublayers<T>::feed_forward(const Variable<T>& x, const std::string& layer) {
  const auto hidden = relu(tape_, linear(tape_, x, weights_(layer + "W_1"), {weights_(layer + "b_1")}));
  return linear(tape_, hidden, weights_(layer + "W_2"), {weights_(layer + "b_2")});
}

template <class T>
Variable<T> Sublayers<T>::norm(const Variable<T>& x, const std::string& name) {
  return layer_norm(tape_, x, weights_(name + "/gain"), weights_(name + "/bias"));
}

template <class T>
Variable<T> Sublayers<T>::sinusoids(const Rows& rows, std::size_t d_model) {
  const auto encoding = tape_.constant(rows.ids.size(), d_model);
  for (std::size_t position = 0; position < rows.positions(); ++position) {
    const auto row = sinusoidal_position(position, d_model);
    for (std::size_t sample = 0; sample < rows.lengths.size(); ++sample)
      std::transform(row.begin(), row.end(), encoding.slice(sample * rows.positions() + position, 1).value,
                     [](double number) { return static_cast<T>(number); });
  }
  return encoding;
}

template class Sublayers<float>;
template class Sublayers<double>;

}  // namespace attn::train
