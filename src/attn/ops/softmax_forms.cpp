#include "attn/ops/softmax_forms.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ops/measure.hpp"

namespace attn {

namespace {

/// f(element) for each element, rounded.
template <std::size_t N, class Function>
Tensor<N> map(Dtype precision, const Tensor<N>& x, Function f) {
  Tensor<N> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(), [&](double element) {
    return static_cast<double>(round_to(precision, f(static_cast<double>(element))));
  });
  return result;
}

/// f(element, entry) for each element and the entry of its row, rounded.
template <class Function>
Tensor<2> map(Dtype precision, const Tensor<2>& x, const Tensor<1>& of_row, Function f) {
  Tensor<2> result(x.shape());
  for (std::size_t i = 0; i < x.shape(0); ++i)
    for (std::size_t j = 0; j < x.shape(1); ++j)
      result(i, j) = static_cast<double>(
          round_to(precision, f(static_cast<double>(x(i, j)), static_cast<double>(of_row(i)))));
  return result;
}

Tensor<1> sum_of_rows(Dtype precision, const Tensor<2>& x) {
  auto sums = Tensor<1>::from_shape({x.shape(0)});
  for (std::size_t i = 0; i < x.shape(0); ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < x.shape(1); ++j) sum += static_cast<double>(x(i, j));
    sums(i) = static_cast<double>(round_to(precision, sum));
  }
  return sums;
}

Tensor<1> max_of_rows(const Tensor<2>& x) {
  auto largest = Tensor<1>::from_shape({x.shape(0)});
  for (std::size_t i = 0; i < x.shape(0); ++i)
    largest(i) = *std::max_element(&x(i, 0), &x(i, 0) + x.shape(1));
  return largest;
}

double exp_of(double x) {
  return std::exp(x);
}
double log_of(double x) {
  return std::log(x);
}
double quotient(double x, double y) {
  return x / y;
}
double difference(double x, double y) {
  return x - y;
}

}  // namespace

NaiveSoftmax naive_softmax(const Tensor<2>& scores, Dtype precision) {
  NaiveSoftmax naive;
  naive.exp = map(precision, scores, exp_of);
  naive.sum = sum_of_rows(precision, naive.exp);
  naive.weights = map(precision, naive.exp, naive.sum, quotient);
  naive.logsumexp = map(precision, naive.sum, log_of);
  return naive;
}

StableSoftmax stable_softmax(const Tensor<2>& scores, Dtype precision) {
  StableSoftmax stable;
  stable.max = max_of_rows(scores);
  stable.shifted = map(precision, scores, stable.max, difference);
  stable.exp = map(precision, stable.shifted, exp_of);
  stable.sum = sum_of_rows(precision, stable.exp);
  stable.weights = map(precision, stable.exp, stable.sum, quotient);
  const auto log_of_sum = map(precision, stable.sum, log_of);
  stable.logsumexp = Tensor<1>(stable.max.shape());
  for (std::size_t i = 0; i < stable.max.size(); ++i)
    stable.logsumexp(i) = static_cast<double>(
        round_to(precision, static_cast<double>(stable.max(i)) + static_cast<double>(log_of_sum(i))));
  stable.log_weights = map(precision, stable.shifted, log_of_sum, difference);
  stable.log_of_weights = map(precision, stable.weights, log_of);
  return stable;
}

double distance_from_soft_maximum(const StableSoftmax& stable) {
  const double log_n = std::log(static_cast<double>(stable.exp.shape(1)));
  double outside = 0.0;
  for (std::size_t i = 0; i < stable.max.size(); ++i) {
    const double above = static_cast<double>(stable.logsumexp(i)) - static_cast<double>(stable.max(i));
    outside = maximum({outside, -above, above - log_n});
  }
  return outside;
}


}  // namespace attn
