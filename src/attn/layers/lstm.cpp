#include "attn/layers/lstm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/steps.hpp"

namespace attn {

namespace {

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

/// Adds W x to the four gates of one unit, in order.
void add_products(const Tensor<2>& W, std::size_t unit, const double* x, std::array<double, 4>& gates) {
  const std::size_t width = W.shape(1), block = W.shape(0) / 4 * width;
  const double* row = W.data() + unit * width;
  for (std::size_t k = 0; k < width; ++k)
    for (std::size_t gate = 0; gate < 4; ++gate)
      gates[gate] += static_cast<double>(row[gate * block + k]) * static_cast<double>(x[k]);
}

void check_shapes(const Tensor<2>& x, const LstmState& before, const LstmWeights& weights) {
  const auto& [W_ih, W_hh, b_ih, b_hh] = weights;
  if (W_ih.shape(1) != x.shape(1))
    throw shape_mismatch("lstm_cell", "x", x, "W_ih", W_ih, "the last axes must match");
  if (before.h.shape(0) != x.shape(0))
    throw shape_mismatch("lstm_cell", "x", x, "h", before.h, "the batch axes must match");
  if (before.h.shape(1) != weights.hidden())
    throw shape_mismatch("lstm_cell", "h", before.h, "W_hh", W_hh, "the last axes must match");
  if (before.c.shape() != before.h.shape())
    throw shape_mismatch("lstm_cell", "h", before.h, "c", before.c, "the shapes must be equal");
  if (W_hh.shape(0) != 4 * weights.hidden() || W_ih.shape(0) != W_hh.shape(0))
    throw shape_mismatch("lstm_cell", "W_ih", W_ih, "W_hh", W_hh, "both have four rows for each unit");
  if (b_ih.size() != W_ih.shape(0) || b_hh.size() != W_hh.shape(0))
    throw shape_mismatch("lstm_cell", "b_ih", b_ih, "b_hh", b_hh, "both have four numbers for each unit");
}

/// The real inputs of a sample in the order in which they are read.
std::vector<std::size_t> reading_order(std::size_t length, Direction direction) {
  std::vector<std::size_t> order(length);
  for (std::size_t t = 0; t < length; ++t) order[t] = direction == Direction::forward ? t : length - 1 - t;
  return order;
}

void copy_row(const Tensor<2>& from, std::size_t b, Tensor<3>& to, std::size_t t) {
  std::copy_n(&from(b, 0), from.shape(1), &to(b, t, 0));
}

void copy_row(const Tensor<2>& from, std::size_t b, Tensor<2>& to) {
  std::copy_n(&from(b, 0), from.shape(1), &to(b, 0));
}

/// Row t of sample b alone: [1×d].
Tensor<2> row_of(const Tensor<3>& x, std::size_t b, std::size_t t) {
  const auto step = step_of(x, t);
  return rows(step, b, b + 1);
}

void check_lengths(const char* op, const Tensor<3>& x, const std::vector<std::size_t>& lengths) {
  const auto longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  if (lengths.size() == x.shape(0) && longest <= x.shape(1)) return;
  throw std::invalid_argument(
      fmt::format("[{}] x is {} but there are {} lengths up to {}: one for each sample, none beyond its rows",
                  op, to_string(view_of(x).shape), lengths.size(), longest));
}

}  // namespace

LstmState zero_state(std::size_t batch, std::size_t hidden) {
  return {xt::zeros<double>({batch, hidden}), xt::zeros<double>({batch, hidden})};
}

LstmStep lstm_cell(const Tensor<2>& x, const LstmState& before, const LstmWeights& weights) {
  check_shapes(x, before, weights);
  const auto shape = before.h.shape();
  const std::size_t hidden = shape[1];
  LstmStep step;
  for (auto* tensor : {&step.i, &step.f, &step.g, &step.o, &step.c, &step.h}) tensor->resize(shape);
  for (std::size_t b = 0; b < shape[0]; ++b)
    for (std::size_t unit = 0; unit < hidden; ++unit) {
      std::array<double, 4> gates{};
      add_products(weights.W_ih, unit, &x(b, 0), gates);
      add_products(weights.W_hh, unit, &before.h(b, 0), gates);
      for (std::size_t gate = 0; gate < 4; ++gate)
        gates[gate] += static_cast<double>(weights.b_ih(gate * hidden + unit)) +
                       static_cast<double>(weights.b_hh(gate * hidden + unit));
      const double i = step.i(b, unit) = static_cast<double>(sigmoid(gates[0]));
      const double f = step.f(b, unit) = static_cast<double>(sigmoid(gates[1]));
      const double g = step.g(b, unit) = static_cast<double>(std::tanh(gates[2]));
      const double o = step.o(b, unit) = static_cast<double>(sigmoid(gates[3]));
      const double c = step.c(b, unit) = f * before.c(b, unit) + i * g;
      step.h(b, unit) = o * static_cast<double>(std::tanh(static_cast<double>(c)));
    }
  return step;
}

Lstm lstm(const Tensor<3>& x, const LstmState& initial, const LstmWeights& weights,
             const std::vector<std::size_t>& lengths, Direction direction) {
  check_lengths("lstm", x, lengths);
  const std::size_t batch = x.shape(0), n = x.shape(1);
  Lstm run;
  for (auto* tensor : {&run.i, &run.f, &run.g, &run.o, &run.c, &run.h})
    *tensor = xt::zeros<double>({batch, n, weights.hidden()});
  run.last = initial;
  for (const auto t : reading_order(n, direction)) {
    const auto step = lstm_cell(step_of(x, t), run.last, weights);
    for (std::size_t b = 0; b < batch; ++b) {
      if (t >= lengths[b]) continue;
      copy_row(step.i, b, run.i, t);
      copy_row(step.f, b, run.f, t);
      copy_row(step.g, b, run.g, t);
      copy_row(step.o, b, run.o, t);
      copy_row(step.c, b, run.c, t);
      copy_row(step.h, b, run.h, t);
      copy_row(step.h, b, run.last.h);
      copy_row(step.c, b, run.last.c);
    }
  }
  return run;
}

double deviation_from_cell(const Lstm& run, const Tensor<3>& x, const LstmState& initial,
                           const LstmWeights& weights, const std::vector<std::size_t>& lengths,
                           Direction direction) {
  check_lengths("deviation_from_cell", x, lengths);
  double deviation = 0.0;
  for (std::size_t b = 0; b < x.shape(0); ++b) {
    LstmState before = {rows(initial.h, b, b + 1), rows(initial.c, b, b + 1)};
    for (const auto t : reading_order(lengths[b], direction)) {
      const auto step = lstm_cell(row_of(x, b, t), before, weights);
      before = {row_of(run.h, b, t), row_of(run.c, b, t)};
      deviation =
          maximum({deviation, max_abs_difference(step.h, before.h), max_abs_difference(step.c, before.c)});
    }
  }
  return deviation;
}

Tensor<3> kept_to_the_end(const Lstm& run, const std::vector<std::size_t>& lengths,
                             Direction direction) {
  check_lengths("kept_to_the_end", run.f, lengths);
  Tensor<3> kept = xt::zeros<double>(run.f.shape());
  for (std::size_t b = 0; b < kept.shape(0); ++b) {
    auto order = reading_order(lengths[b], direction);
    std::reverse(order.begin(), order.end());
    std::vector<double> product(kept.shape(2), 1.0);
    for (const auto t : order)
      for (std::size_t unit = 0; unit < product.size(); ++unit) {
        kept(b, t, unit) = static_cast<double>(product[unit]);
        product[unit] *= static_cast<double>(run.f(b, t, unit));
      }
  }
  return kept;
}

Tensor<2> sum_of_kept(const Lstm& run, const Tensor<3>& kept) {
  const auto [batch, n, hidden] = kept.shape();
  auto sum = Tensor<2>::from_shape({batch, hidden});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t unit = 0; unit < hidden; ++unit) {
      double total = 0.0;
      for (std::size_t t = 0; t < n; ++t)
        total += static_cast<double>(kept(b, t, unit)) * static_cast<double>(run.i(b, t, unit)) *
                 static_cast<double>(run.g(b, t, unit));
      sum(b, unit) = static_cast<double>(total);
    }
  return sum;
}


}  // namespace attn
