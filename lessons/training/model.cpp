/// The model that the lesson trains: a vector for each symbol and each position, one head of attention, a
/// probability for each symbol. Forward and backward are those of the lessons on attention.

#include "lessons/training/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "attn/ops/linear_backward.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/softmax.hpp"
#include "corpora/reverse.hpp"

namespace lessons {

namespace {

std::size_t symbol_at(const Integers<2>& symbols, std::size_t sequence, std::size_t position) {
  return static_cast<std::size_t>(symbols(sequence, position));
}

/// E[symbol] + P[position].
Tensor<3> vectors_of_symbols(const Parameters& parameters, const Integers<2>& symbols) {
  const std::size_t d_model = parameters.E.shape(1);
  auto X = Tensor<3>::from_shape({symbols.shape(0), symbols.shape(1), d_model});
  for (std::size_t b = 0; b < X.shape(0); ++b)
    for (std::size_t i = 0; i < X.shape(1); ++i)
      for (std::size_t c = 0; c < d_model; ++c)
        X(b, i, c) = parameters.E(symbol_at(symbols, b, i), c) + parameters.P(i, c);
  return X;
}

/// Back through those sums: each use of a vector adds to its gradient.
void add_gradients_of_vectors(Parameters& gradient, const Tensor<3>& d_X, const Integers<2>& symbols) {
  for (std::size_t b = 0; b < d_X.shape(0); ++b)
    for (std::size_t i = 0; i < d_X.shape(1); ++i)
      for (std::size_t c = 0; c < d_X.shape(2); ++c) {
        gradient.E(symbol_at(symbols, b, i), c) += d_X(b, i, c);
        gradient.P(i, c) += d_X(b, i, c);
      }
}

/// The gradient of the mean loss with respect to the logits: (probabilities − 1 where the target is) / count.
Tensor<3> cross_entropy_backward(const Tensor<3>& probabilities, const Integers<2>& targets) {
  auto d_logits = probabilities;
  for (std::size_t b = 0; b < targets.shape(0); ++b)
    for (std::size_t i = 0; i < targets.shape(1); ++i) d_logits(b, i, symbol_at(targets, b, i)) -= 1.0;
  for (double& element : d_logits) element /= static_cast<double>(targets.size());
  return d_logits;
}

void require_targets(const char* op, const Tensor<3>& probabilities, const Integers<2>& targets) {
  if (targets.shape(0) != probabilities.shape(0) || targets.shape(1) != probabilities.shape(1))
    throw attn::shape_mismatch(op, "probabilities", probabilities, "targets", targets,
                               "each position needs a target");
}

Reading attend_to_symbols(Workbench& bench, const Parameters& parameters, Tensor<3> X) {
  Reading reading;
  reading.X = {"X", std::move(X)};
  reading.projected = project(bench, reading.X, reading.X, parameters.attention);
  const auto& [Q, K, V] = reading.projected;
  reading.attention = scaled_dot_product_attention<3>(bench, Q, K, V, std::nullopt);
  return reading;
}

}  // namespace

std::array<const Tensor<2>*, 6> Parameters::all() const {
  return {&E, &P, &attention.W_Q, &attention.W_K, &attention.W_V, &W_out};
}

std::array<Tensor<2>*, 6> Parameters::all() {
  return {&E, &P, &attention.W_Q, &attention.W_K, &attention.W_V, &W_out};
}

const std::array<std::string, 6>& names_of_parameters() {
  static const std::array<std::string, 6> names = {"E", "P", "W_Q", "W_K", "W_V", "W_out"};
  return names;
}

std::size_t count_of(const Parameters& parameters) {
  std::size_t count = 0;
  for (const auto* parameter : parameters.all()) count += parameter->size();
  return count;
}

Tensor<2> as_one_row(const Parameters& parameters) {
  auto row = Tensor<2>::from_shape({1, count_of(parameters)});
  auto place = row.begin();
  for (const auto* parameter : parameters.all())
    place = std::copy(parameter->begin(), parameter->end(), place);
  return row;
}

Parameters as_parameters(const Tensor<2>& row, const Parameters& shapes) {
  if (row.size() != count_of(shapes))
    throw std::invalid_argument(fmt::format("[as_parameters] the row has {} numbers, the parameters {}",
                                            row.size(), count_of(shapes)));
  auto parameters = shapes;
  auto place = row.begin();
  for (auto* parameter : parameters.all()) {
    const auto end = place + static_cast<std::ptrdiff_t>(parameter->size());
    std::copy(place, end, parameter->begin());
    place = end;
  }
  return parameters;
}

Reading read_symbols(Workbench& bench, const Parameters& parameters, const Integers<2>& symbols) {
  const attn::Known<2> E = {"E", parameters.E}, P = {"P", parameters.P};
  auto X = bench.trace.step({.id = "X",
                             .title = "A vector for each place of the sequence",
                             .formula = "E[symbol] + P[position]",
                             .from = {"E", "P"},
                             .axes = {"query", "d_model"},
                             .worked =
                                 [&](const attn::Index& at) {
                                   const auto symbol = symbol_at(symbols, at[0], at[1]);
                                   return attn::Worked::sum({E({symbol, at[2]}), P({at[1], at[2]})});
                                 }},
                            vectors_of_symbols(parameters, symbols));
  auto reading = attend_to_symbols(bench, parameters, std::move(X));
  const attn::Known<3> output = {"output", reading.attention.output};
  const auto logits =
      bench.trace.step({.id = "logits",
                        .title = "A score for each symbol at each place",
                        .formula = "output W_out",
                        .from = {"output", "W_out"},
                        .axes = {"query", "symbol"},
                        .worked = attn::worked_linear(output, attn::Known<2>{"W_out", parameters.W_out})},
                       attn::linear(reading.attention.output, parameters.W_out));
  reading.probabilities = bench.trace.step({.id = "probabilities",
                                            .title = "How likely the model takes each symbol to be",
                                            .formula = "softmax(logits)",
                                            .from = {"logits"},
                                            .axes = {"query", "symbol"},
                                            .worked = attn::worked_softmax(attn::Known{"logits", logits})},
                                           attn::softmax(logits));
  return reading;
}

Tensor<2> cross_entropy(Workbench& bench, const Tensor<3>& probabilities, const Integers<2>& targets) {
  require_targets("cross_entropy", probabilities, targets);
  auto losses = Tensor<2>::from_shape({targets.shape(0), targets.shape(1)});
  for (std::size_t b = 0; b < losses.shape(0); ++b)
    for (std::size_t i = 0; i < losses.shape(1); ++i)
      losses(b, i) = -std::log(probabilities(b, i, symbol_at(targets, b, i)));
  return bench.trace.step({.id = "losses",
                           .title = "How surprised is it?",
                           .formula = "−log(p of the right symbol)",
                           .from = {"probabilities"},
                           .axes = {"query"},
                           .worked =
                               [&](const attn::Index& at) {
                                 const attn::Known<3> p = {"probabilities", probabilities};
                                 return -log(p({at[0], at[1], symbol_at(targets, at[0], at[1])}));
                               }},
                          losses);
}

double mean_loss(Workbench& bench, const Tensor<2>& losses) {
  double sum = 0.0;
  for (const double loss : losses) sum += loss;
  return bench.trace.step({.id = "loss",
                           .title = "The mean of the losses",
                           .formula = "mean of losses",
                           .from = {"losses"},
                           .worked =
                               [&](const attn::Index&) {
                                 std::vector<attn::Worked> all;
                                 for (std::size_t b = 0; b < losses.shape(0); ++b)
                                   for (std::size_t i = 0; i < losses.shape(1); ++i)
                                     all.push_back(attn::Known<2>{"losses", losses}({b, i}));
                                 return attn::mean_of(std::move(all));
                               }},
                          sum / static_cast<double>(losses.size()));
}

LossAndGradient loss_and_gradient(Workbench& bench, const Parameters& parameters, const Integers<2>& symbols,
                                  const Integers<2>& targets) {
  const auto reading = read_symbols(bench, parameters, symbols);
  const auto& [Q, K, V] = reading.projected;
  const double loss = mean_loss(bench, cross_entropy(bench, reading.probabilities, targets));

  const auto d_logits = cross_entropy_backward(reading.probabilities, targets);
  const auto d_output = attn::linear_backward_input(d_logits, parameters.W_out);
  const auto& forward = reading.attention;
  const std::optional<Mask<3>> no_mask;
  Gradients gradients(bench);
  const auto d =
      attention_backward<3>(bench, gradients,
                            {Q, K, V, forward.weights, no_mask, forward.dropped ? &*forward.dropped : nullptr,
                             forward.dropout_mask ? &*forward.dropout_mask : nullptr},
                            d_output);
  const auto d_projections = projection_backward(
      bench, gradients, {reading.X, reading.X, parameters.attention}, d.d_Q, d.d_K, d.d_V);

  Parameters gradient = {.E = xt::zeros_like(parameters.E),
                         .P = xt::zeros_like(parameters.P),
                         .attention = {d_projections.d_W_Q, d_projections.d_W_K, d_projections.d_W_V},
                         .W_out = attn::linear_backward_weight(reading.attention.output, d_logits)};
  add_gradients_of_vectors(gradient, d_projections.d_X_query, symbols);
  return {loss, std::move(gradient)};
}

Integers<2> said_backwards(const Integers<2>& symbols) {
  auto backwards = symbols;
  for (std::size_t b = 0; b < symbols.shape(0); ++b) {
    std::vector<std::size_t> source;
    for (std::size_t i = 0; i < symbols.shape(1); ++i) source.push_back(symbol_at(symbols, b, i));
    const auto target = corpora::reverse_example(std::move(source)).target;
    std::copy(target.begin(), target.end(), &backwards(b, 0));
  }
  return backwards;
}

std::size_t count_right(const Tensor<3>& probabilities, const Integers<2>& targets) {
  require_targets("count_right", probabilities, targets);
  std::size_t right = 0;
  for (std::size_t b = 0; b < targets.shape(0); ++b)
    for (std::size_t i = 0; i < targets.shape(1); ++i) {
      const double* const row = &probabilities(b, i, 0);
      const auto likeliest = std::max_element(row, row + probabilities.shape(2)) - row;
      if (static_cast<std::size_t>(likeliest) == symbol_at(targets, b, i)) ++right;
    }
  return right;
}

std::vector<std::string> code_of_model() {
  auto lines = softmax_code();
  const std::vector<std::string> model = {
      "",
      "shapes = [a.shape for a in (E, P, W_Q, W_K, W_V, W_out)]",
      "def as_parameters(row):",
      "    ends = np.cumsum([rows * columns for rows, columns in shapes])",
      "    parts = np.split(row, ends[:-1])",
      "    return [part.reshape(shape) for part, shape in zip(parts, shapes)]",
      "",
      "def forward(row, x):",
      "    E, P, W_Q, W_K, W_V, W_out = as_parameters(row)",
      "    X = E[x] + P",
      "    Q, K, V = X @ W_Q, X @ W_K, X @ W_V",
      "    weights = softmax(Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[2]))",
      "    output = weights @ V",
      "    return X, Q, K, V, weights, output, softmax(output @ W_out)",
      "",
      "def losses_of(p, y):",
      "    return -np.log(np.take_along_axis(p, y[:, :, None], axis=2))[:, :, 0]",
      "",
      "def loss_and_gradient(row, x, y):",
      "    E, P, W_Q, W_K, W_V, W_out = as_parameters(row)",
      "    X, Q, K, V, weights, output, p = forward(row, x)",
      "    d_logits = (p - np.eye(len(E))[y]) / y.size",
      "    d_output = d_logits @ W_out.T",
      "    d_V = weights.swapaxes(1, 2) @ d_output",
      "    d_weights = d_output @ V.swapaxes(1, 2)",
      "    average = np.sum(weights * d_weights, axis=2, keepdims=True)",
      "    d_scores = weights * (d_weights - average) / np.sqrt(Q.shape[2])",
      "    d_Q, d_K = d_scores @ K, d_scores.swapaxes(1, 2) @ Q",
      "    d_X = d_Q @ W_Q.T + d_K @ W_K.T + d_V @ W_V.T",
      "    d_E = np.zeros_like(E)",
      "    np.add.at(d_E, x, d_X)",
      "    pairs = [(X, d_Q), (X, d_K), (X, d_V), (output, d_logits)]",
      "    d_W = [np.einsum(\"bni,bno->io\", a, d_b) for a, d_b in pairs]",
      "    gradient = [d_E, d_X.sum(axis=0), *d_W]",
      "    return np.mean(losses_of(p, y)), np.concatenate([g.ravel() for g in gradient])"};
  lines.insert(lines.end(), model.begin(), model.end());
  return lines;
}

}  // namespace lessons
