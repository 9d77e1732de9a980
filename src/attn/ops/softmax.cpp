#include "attn/ops/softmax.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>

namespace attn {

void softmax_rows(double* scores, std::size_t rows, std::size_t length) {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < rows; ++i) {
    auto row = xt::adapt(scores + i * length, length, xt::no_ownership(), std::array{length});
    if (xt::all(xt::equal(row, hidden))) {
      row.fill(0.0);
      continue;
    }
    row = xt::exp(row - xt::amax(row)());
    row /= xt::sum(row)();
  }
}

template <std::size_t N>
Tensor<N> softmax(Tensor<N> scores) requires Rank<N, 1, 4> {
  const std::size_t length = scores.shape().back();
  if (length > 0) softmax_rows(scores.data(), scores.size() / length, length);
  return scores;
}

namespace {

bool may_be_seen(double score) {
  return score != -std::numeric_limits<double>::infinity();
}

/// The entries along the last axis.
std::vector<Worked> row_of(const WorkedOut& x, std::size_t length, Index at) {
  std::vector<Worked> row;
  for (at.back() = 0; at.back() < length; ++at.back()) row.push_back(x(at));
  return row;
}

/// The score as a term of the sum: as it is, or 0 where it is less.
Worked term_of_sum(Worked score) {
  return score.value() < 0.0 ? Worked::call("max", {std::move(score), 0.0}) : score;
}

}  // namespace

WorkedOut worked_softmax(WorkedOut scores, std::size_t length, double divisor) {
  return [=](const Index& at) {
    constexpr double largest_without_shift = 30.0;
    if (!may_be_seen(scores(at).value())) return Worked(0.0);
    const auto row = row_of(scores, length, at);
    const auto largest = *std::max_element(
        row.begin(), row.end(), [](const Worked& x, const Worked& y) { return x.value() < y.value(); });
    const bool is_shifted = std::abs(largest.value() / divisor) > largest_without_shift;
    const auto exponential = [&](const Worked& score) {
      const auto shifted = is_shifted ? score - largest : score;
      return Worked::call("exp", {divisor == 1.0 ? shifted : shifted / Worked(divisor)});
    };
    std::vector<Worked> exponentials;
    for (const auto& score : row)
      if (may_be_seen(score.value())) exponentials.push_back(exponential(score));
    return exponential(scores(at)) / Worked::sum(std::move(exponentials));
  };
}

template Tensor<1> softmax(Tensor<1>);
template Tensor<2> softmax(Tensor<2>);
template Tensor<3> softmax(Tensor<3>);
template Tensor<4> softmax(Tensor<4>);

void sum_shares(const double* scores, double* shares, std::size_t count, std::size_t stride) {
  double sum = 0.0, seen = 0.0;
  for (std::size_t j = 0; j < count; ++j) {
    sum += std::max(scores[j * stride], 0.0);
    seen += may_be_seen(scores[j * stride]) ? 1.0 : 0.0;
  }
  for (std::size_t j = 0; j < count; ++j) {
    const double score = scores[j * stride];
    const double equal = may_be_seen(score) ? 1.0 / seen : 0.0;
    shares[j * stride] = sum > 0.0 ? std::max(score, 0.0) / sum : equal;
  }
}

WorkedOut worked_sum_shares(WorkedOut scores, std::size_t length) {
  return [=](const Index& at) {
    std::vector<Worked> terms;
    double sum = 0.0;
    for (auto& score : row_of(scores, length, at)) {
      if (!may_be_seen(score.value())) continue;
      terms.push_back(term_of_sum(std::move(score)));
      sum += terms.back().value();
    }
    auto share = scores(at);
    if (!may_be_seen(share.value())) return Worked(0.0);
    if (!(sum > 0.0)) return Worked(1.0) / Worked(static_cast<double>(terms.size()));
    return term_of_sum(std::move(share)) / Worked::sum(std::move(terms));
  };
}

Tensor<3> layer_norm(const Tensor<3>& x, const Tensor<1>& gain, const Tensor<1>& bias) {
  const auto d = x.shape(2);
  if (gain.size() != d) throw shape_mismatch("layer_norm", "x", x, "gain", gain, "the last axes must match");
  if (bias.size() != d) throw shape_mismatch("layer_norm", "x", x, "bias", bias, "the last axes must match");
  auto normalized = x;
  for (auto row = normalized.data(); row != normalized.data() + x.size(); row += d) {
    auto numbers = xt::adapt(row, d, xt::no_ownership(), std::array{d});
    numbers -= std::accumulate(row, row + d, 0.0) / static_cast<double>(d);
    const double squares = std::inner_product(row, row + d, row, 0.0);
    numbers = numbers / std::sqrt(squares / static_cast<double>(d) + 1e-5) * gain + bias;
  }
  return normalized;
}

}  // namespace attn
