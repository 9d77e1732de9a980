#include "attn/attention.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"

namespace attn {

namespace {

/// "2×3", "[3]": a single number is no value of the tensor.
std::string shown(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("[{}]", shape[0]) : to_string(shape);
}

/// The axes of the tensors of a call: one name, one length.
class Axes {
 public:
  /// Throws Error unless the tensor has these axes, as long as they were in the tensors before.
  template <class Tensor>
  void fit(const std::string& name, const Tensor& tensor, const std::vector<std::string>& axes) {
    const auto valid = fmt::format("valid: [{}]", fmt::join(axes, "×"));
    if (!tensor.is_given) throw Error(fmt::format("{} is missing; {}", name, valid));
    if (axes.front().empty())
      throw Error(
          fmt::format("{0} has rank {1}; valid: [{2}×{3}], or with batch, or batch and head, before them",
                      name, tensor.shape.size(), axes[1], axes[2]));
    const auto found = fmt::format("{} is {}; {}", name, shown(tensor.shape), valid);
    if (tensor.shape.size() != axes.size()) throw Error(found);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto& [length, before] = lengths_.try_emplace(axes[i], tensor.shape[i], name).first->second;
      if (length != tensor.shape[i])
        throw Error(fmt::format("{} with {} = {}, as in {}", found, axes[i], length, before));
    }
  }

  void fit_bias(const std::string& name, const Vector& bias, const std::string& axis) {
    if (bias.is_given) fit(name, bias, {axis});
  }

  void set(const std::string& axis, std::size_t length, const std::string& tensor) {
    lengths_[axis] = {length, tensor};
  }

 private:
  std::map<std::string, std::pair<std::size_t, std::string>> lengths_;  ///< and a tensor that has it
};

/// The names of the axes of rows of rank 2 to 4.
std::vector<std::string> rows_of(std::size_t rank, const std::string& row, const std::string& column,
                                 const std::string& head = "head") {
  if (rank == 2) return {row, column};
  if (rank == 3) return {"batch", row, column};
  if (rank == 4) return {"batch", head, row, column};
  return {"", row, column};
}

/// columns / parts of a matrix of weights; throws Error where that is no whole number from 1 on.
std::size_t columns_over(const Matrix& W, const std::string& name, const std::string& columns,
                         std::size_t parts, const std::string& why) {
  if (W.shape[1] == 0 || W.shape[1] % parts != 0)
    throw Error(fmt::format("{} is {}; valid: [d_model×{}] with {}", name, to_string(W.shape), columns, why));
  return W.shape[1] / parts;
}

/// length / parts; throws Error where that is no whole number from 1 on.
std::size_t quotient(std::size_t length, const char* of, std::size_t parts, const char* name) {
  if (parts == 0 || length == 0 || length % parts != 0)
    throw Error(fmt::format("{} is {}; valid: a divisor of {}, the {}", name, parts, length, of));
  return length / parts;
}

/// `scores` is [batch×head×query×key].
void check(const AttentionOptions& options, const Shape& scores) {
  if (!(options.temperature > 0.0))
    throw Error(fmt::format("temperature is {}; valid: a positive number", options.temperature));
  const auto& mask = options.mask;
  const auto lengths = mask.elements.shape();
  const auto fits = [](std::size_t length, std::size_t needed) { return length == needed || length == 1; };
  const bool has_rank = 2 <= mask.shape.size() && mask.shape.size() <= 4;
  if (mask.is_given && !(has_rank && std::equal(lengths.begin(), lengths.end(), scores.begin(), fits)))
    throw Error(
        fmt::format("mask is {}; valid: [batch×head×query×key] = {}, each of them or 1, also without "
                    "head, or without batch and head",
                    shown(mask.shape), to_string(scores)));
}

/// For the angles of so many positions and numbers of a query.
void check_angles(const Matrix& angles, std::size_t positions, std::size_t d_k) {
  const bool has_rank = angles.shape.size() == 2;
  if (angles.is_given && !(has_rank && angles.shape[0] >= positions && 2 * angles.shape[1] == d_k))
    throw Error(fmt::format(
        "angles is {}; valid: [position×pair] with {} positions or more and d_k / 2 pairs, d_k = {}",
        shown(angles.shape), positions, d_k));
}

void check(const Rows& Q, const Rows& K, const Rows& V, const AttentionOptions& options) {
  const auto rank = Q.shape.size();
  Axes axes;
  axes.fit("Q", Q, rows_of(rank, "query", "d_k"));
  axes.fit("K", K, rows_of(rank, "key", "d_k", "kv_head"));
  axes.fit("V", V, rows_of(rank, "key", "d_v", "kv_head"));
  const auto [batch, heads, n_q, d_k] = Q.elements.shape();
  if (d_k == 0) throw Error(fmt::format("Q is {}; valid: d_k from 1", to_string(Q.shape)));
  quotient(heads, "heads of Q", K.elements.shape(1), "kv_head");
  check_angles(options.angles, std::max(n_q, K.elements.shape(2)), d_k);
  check(options, {batch, heads, n_q, K.elements.shape(2)});
}

std::size_t check(const Tokens& X_query, const Tokens& X_key, const MultiHeadWeights& weights,
                  const AttentionOptions& options) {
  const auto& [heads, W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O] = weights;
  const auto rank = X_query.shape.size();
  if (rank != 2 && rank != 3)
    throw Error(fmt::format("X_query has rank {}; valid: [query×d_model] or [batch×query×d_model]", rank));
  Axes axes;
  axes.fit("X_query", X_query, rows_of(rank, "query", "d_model"));
  axes.fit("X_key", X_key, rows_of(rank, "key", "d_model"));
  axes.fit("W_Q", W_Q, {"d_model", "head·d_k"});
  axes.fit("W_K", W_K, {"d_model", "kv_head·d_k"});
  axes.fit("W_V", W_V, {"d_model", "kv_head·d_v"});
  const auto d_k = quotient(W_Q.shape[1], "columns of W_Q", heads, "heads");
  const auto kv_heads =
      columns_over(W_K, "W_K", "kv_head·d_k", d_k, fmt::format("d_k = {}, the columns of W_Q / heads", d_k));
  if (heads % kv_heads != 0)
    throw Error(
        fmt::format("W_K is {}; valid: [d_model×kv_head·d_k] with a kv_head that divides heads = {}, not {}",
                    to_string(W_K.shape), heads, kv_heads));
  const auto d_v = columns_over(W_V, "W_V", "kv_head·d_v", kv_heads,
                                fmt::format("kv_head = {}, the columns of W_K / d_k", kv_heads));
  axes.set("head·d_v", heads * d_v, "W_V");
  axes.fit("W_O", W_O, {"head·d_v", "d_model"});
  axes.fit_bias("b_Q", b_Q, "head·d_k");
  axes.fit_bias("b_K", b_K, "kv_head·d_k");
  axes.fit_bias("b_V", b_V, "kv_head·d_v");
  axes.fit_bias("b_O", b_O, "d_model");
  check_angles(options.angles, std::max(X_query.elements.shape(1), X_key.elements.shape(1)), d_k);
  check(options, {X_query.elements.shape(0), heads, X_query.elements.shape(1), X_key.elements.shape(1)});
  return kv_heads;
}

void check(const Rows& queries, const Rows& states, const AdditiveWeights& weights,
           const AttentionOptions& options) {
  const auto rank = queries.shape.size();
  Axes axes;
  axes.fit("queries", queries, rows_of(rank, "query", "d_q"));
  axes.fit("states", states, rows_of(rank, "key", "d"));
  axes.fit("W_q", weights.W_q, {"d_q", "d_a"});
  axes.fit("W_k", weights.W_k, {"d", "d_a"});
  axes.fit("v_a", weights.v_a, {"d_a"});
  axes.fit_bias("b_q", weights.b_q, "d_a");
  axes.fit_bias("b_k", weights.b_k, "d_a");
  const auto [batch, heads, n_q, d_q] = queries.elements.shape();
  check(options, {batch, heads, n_q, states.elements.shape(2)});
}

void check(const Rows& x, const Rows& h, const Rows& c, const LstmParameters& weights) {
  const auto rank = x.shape.size();
  Axes axes;
  axes.fit("x", x, rows_of(rank, "n", "d_in"));
  axes.fit("h", h, rows_of(rank, "n", "hidden"));
  axes.fit("c", c, rows_of(rank, "n", "hidden"));
  axes.set("4·hidden", 4 * h.shape.back(), "the gates of h");
  axes.fit("W_ih", weights.W_ih, {"4·hidden", "d_in"});
  axes.fit("W_hh", weights.W_hh, {"4·hidden", "hidden"});
  axes.fit_bias("b_ih", weights.b_ih, "4·hidden");
  axes.fit_bias("b_hh", weights.b_hh, "4·hidden");
}

/// Of that rank again: the first axes of length 1 go.
template <std::size_t N>
AnyRank<double> with_rank(std::size_t rank, Tensor<N>&& x) {
  Shape shape(x.shape().begin(), x.shape().end());
  while (shape.size() > rank) shape.erase(std::find(shape.begin(), shape.end() - 2, 1));
  AnyRank<double> result(std::move(x));
  result.reshape(shape);
  return result;
}

/// Batch and head as one axis: [sample×n×d].
Tensor<3> in_samples(const Rows& x) {
  const auto [batch, heads, n, d] = x.elements.shape();
  return xt::reshape_view(x.elements, {batch * heads, n, d});
}

/// x W, or x W + b.
template <std::size_t N>
Tensor<N> project(const Tensor<N>& x, const Matrix& W, const Vector& b) {
  return b.is_given ? linear(x, W.elements, b.elements) : linear(x, W.elements);
}

/// The same of all samples at once, which is how the lesson multihead multiplies.
Tensor<3> project_batch(const Tensor<3>& x, const Matrix& W, const Vector& b) {
  const auto [batch, n, d] = x.shape();
  const auto product = project<2>(xt::reshape_view(x, {batch * n, d}), W, b);
  return xt::reshape_view(product, {batch, n, product.shape(1)});
}

/// What may not be seen gets −∞.
Tensor<4> hide(Tensor<4> scores, const AttentionOptions& options) {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  const auto n_q = scores.shape(2), n_k = scores.shape(3);
  const auto show = [&](const auto& mask) { scores = Tensor<4>(xt::where(mask, scores, hidden)); };
  if (options.causal) show(causal_mask(n_q, n_k));
  if (options.window) show(window_mask(n_q, n_k, *options.window));
  if (options.mask.is_given) show(options.mask.elements);
  return scores;
}

/// What all kinds of attention do with their scores and values.
std::pair<Tensor<4>, Tensor<4>> mix(const Tensor<4>& scores, const Tensor<4>& V,
                                    const AttentionOptions& options) {
  auto weights = softmax(hide(scores, options));
  return {matmul(weights, V), weights};
}

std::pair<Tensor<4>, Tensor<4>> attend(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<4>& V,
                                       AttentionOptions options) {
  if (const auto angles = std::exchange(options.angles, {}); angles.is_given) {
    const auto turned = [&](const Tensor<4>& x) -> Tensor<4> {
      return xt::reshape_view(rotate_pairs(in_samples(x), angles.elements, Pairing::adjacent), x.shape());
    };
    return attend(turned(Q), turned(K), V, options);
  }
  const std::size_t heads = Q.shape(1), d_k = Q.shape(3);
  const auto scores = matmul(Q, attn::transpose(repeat_heads(K, heads)));
  const double divisor = std::sqrt(static_cast<double>(d_k)) * options.temperature;
  return mix(scores / divisor, repeat_heads(V, heads), options);
}

/// The blocks of rows of the weights, in their order.
enum class Gate { input, forget, candidate, output };

/// `sum` and the products of a row of W with x, in order.
double add_products(double sum, const Tensor<2>& W, std::size_t row, const double* x) {
  const std::size_t width = W.shape(1);
  const double* const weights = W.data() + row * width;
  for (std::size_t k = 0; k < width; ++k) sum += weights[k] * x[k];
  return sum;
}

/// What goes into one gate before σ or tanh: W_ih x + W_hh h + b_ih + b_hh with the rows of that gate. Every
/// sum runs in order, so that neither the machine nor the rest of a batch changes a digit.
Tensor<3> gate_sums(const LstmParameters& lstm, Gate gate, const Tensor<3>& x, const Tensor<3>& h) {
  const std::size_t hidden = h.shape(2), d_in = x.shape(2);
  const auto bias = [](const Vector& b, std::size_t row) { return b.is_given ? b.elements(row) : 0.0; };
  Tensor<3> sums(h.shape());
  for (std::size_t i = 0; i < x.shape(0) * x.shape(1); ++i)
    for (std::size_t unit = 0; unit < hidden; ++unit) {
      const std::size_t row = static_cast<std::size_t>(gate) * hidden + unit;
      double sum = add_products(0.0, lstm.W_ih.elements, row, x.data() + i * d_in);
      sum = add_products(sum, lstm.W_hh.elements, row, h.data() + i * hidden);
      sums.data()[i * hidden + unit] = sum + (bias(lstm.b_ih, row) + bias(lstm.b_hh, row));
    }
  return sums;
}

Tensor<3> sigmoid(const Tensor<3>& x) {
  return 1.0 / (1.0 + xt::exp(-x));
}

}  // namespace

Attended attention(const Rows& Q, const Rows& K, const Rows& V, const AttentionOptions& options) {
  check(Q, K, V, options);
  auto [output, weights] = attend(Q.elements, K.elements, V.elements, options);
  return {with_rank(Q.shape.size(), std::move(output)), with_rank(Q.shape.size(), std::move(weights))};
}

Attended multi_head_attention(const Tokens& X_query, const Tokens& X_key, const MultiHeadWeights& multi_head,
                              const AttentionOptions& options) {
  const auto& [heads, W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O] = multi_head;
  const auto kv_heads = check(X_query, X_key, multi_head, options), rank = X_query.shape.size();
  const auto Q = split_heads(project_batch(X_query.elements, W_Q, b_Q), heads);
  const auto K = split_heads(project_batch(X_key.elements, W_K, b_K), kv_heads);
  const auto V = split_heads(project_batch(X_key.elements, W_V, b_V), kv_heads);
  auto [mixed, weights] = attend(Q, K, V, options);
  auto output = project_batch(merge_heads(mixed), W_O, b_O);
  return {with_rank(rank, std::move(output)), with_rank(rank + 1, std::move(weights))};
}

Attended multi_head_attention(const Tokens& X, const MultiHeadWeights& weights,
                              const AttentionOptions& options) {
  return multi_head_attention(X, X, weights, options);
}

Attended additive_attention(const Rows& queries, const Rows& states, const AdditiveWeights& additive,
                            const AttentionOptions& options) {
  check(queries, states, additive, options);
  const auto& [W_q, W_k, v_a, b_q, b_k] = additive;
  const auto q = project(queries.elements, W_q, b_q), k = project(states.elements, W_k, b_k);
  const auto sums = xt::view(q, xt::all(), xt::all(), xt::all(), xt::newaxis()) +
                    xt::view(k, xt::all(), xt::all(), xt::newaxis());
  Tensor<4> scores({q.shape(0), q.shape(1), q.shape(2), k.shape(2)}, 0.0);
  if (scores.size() * v_a.elements.size() > 0) scores = xt::sum(v_a.elements * xt::tanh(sums), {4});
  auto [output, weights] = mix(scores / options.temperature, states.elements, options);
  const auto rank = queries.shape.size();
  return {with_rank(rank, std::move(output)), with_rank(rank, std::move(weights))};
}

LstmState lstm_cell(const Rows& x, const Rows& h, const Rows& c, const LstmParameters& lstm) {
  check(x, h, c, lstm);
  const auto read = in_samples(x), before = in_samples(h);
  const auto sums = [&](Gate gate) { return gate_sums(lstm, gate, read, before); };
  const auto i = sigmoid(sums(Gate::input)), f = sigmoid(sums(Gate::forget)), o = sigmoid(sums(Gate::output));
  const Tensor<3> g = xt::tanh(sums(Gate::candidate));
  const Tensor<3> memory = f * in_samples(c) + i * g, state = o * xt::tanh(memory);
  return {xt::reshape_view(state, h.shape), xt::reshape_view(memory, h.shape)};
}

DecoderStep bahdanau_cell(const Rows& y, const Rows& h, const Rows& c, const Rows& states,
                          const LstmParameters& lstm, const AdditiveWeights& additive,
                          const AttentionOptions& options) {
  Axes axes;
  axes.fit("y", y, rows_of(y.shape.size(), "n", "d_in"));
  axes.fit("h", h, rows_of(y.shape.size(), "n", "hidden"));
  auto [context, weights] = additive_attention(h, states, additive, options);
  Tensor<4> reads = xt::concatenate(xt::xtuple(y.elements, Rows(context).elements), 3);
  auto [h_after, c_after] = lstm_cell(with_rank(y.shape.size(), std::move(reads)), h, c, lstm);
  return {std::move(h_after), std::move(c_after), std::move(context), std::move(weights)};
}

AnyRank<double> rotary_encoding(const Rows& x, Pairing pairing, std::size_t first_position) {
  Axes().fit("x", x, rows_of(x.shape.size(), "position", "d"));
  if (x.shape.back() % 2 != 0)
    throw Error(fmt::format("x is {}; valid: an even d, for pairs are turned", to_string(x.shape)));
  const auto n = x.elements.shape(2), d = x.elements.shape(3);
  if (first_position + n < n)
    throw Error(
        fmt::format("first_position is {}; valid: a position that {} more come after", first_position, n));
  const auto angles = position_angles(first_position + n, position_frequencies(d));
  const auto rotated =
      rotate_pairs(in_samples(x), attn::rows(angles, first_position, first_position + n), pairing);
  return xt::reshape_view(rotated, x.shape);
}

}  // namespace attn
