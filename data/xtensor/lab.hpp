#include <xtensor/xarray.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xvectorize.hpp>
#include <xtensor/xview.hpp>
#include <xtensor-blas/xlinalg.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace lab {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// As in NumPy a NaN is kept: std::max, xt::maximum and xt::amax may lose it.
inline double larger(double x, double y) {
  return std::isnan(y) ? y : std::max(x, y);
}

inline double smaller(double x, double y) {
  return std::isnan(y) ? y : std::min(x, y);
}

template <class X, class Y>
auto maximum(X&& x, Y&& y) {
  return xt::vectorize(&larger)(std::forward<X>(x), std::forward<Y>(y));
}

template <class X, class Y>
auto minimum(X&& x, Y&& y) {
  return xt::vectorize(&smaller)(std::forward<X>(x), std::forward<Y>(y));
}

// Along these axes, or all of them.
template <class... Kept>
xt::xarray<double> amax(const xt::xarray<double>& x, const std::vector<std::size_t>& axes, Kept... kept) {
  return xt::reduce(xt::make_xreducer_functor(&larger, xt::const_value<double>(-inf)), x, axes, kept...);
}

template <class... Kept>
xt::xarray<double> amin(const xt::xarray<double>& x, const std::vector<std::size_t>& axes, Kept... kept) {
  return xt::reduce(xt::make_xreducer_functor(&smaller, xt::const_value<double>(inf)), x, axes, kept...);
}

inline xt::xarray<double> amax(const xt::xarray<double>& x) {
  return std::accumulate(x.begin(), x.end(), -inf, larger);
}

inline xt::xarray<double> amin(const xt::xarray<double>& x) {
  return std::accumulate(x.begin(), x.end(), inf, smaller);
}

// The matrix product over the last two axes, for each place along the axes before them.
inline xt::xarray<double> matmul(xt::xarray<double> x, xt::xarray<double> y) {
  auto shape = x.dimension() < y.dimension() ? y.shape() : x.shape();
  const std::size_t m = x.shape(x.dimension() - 2), k = x.shape().back(), n = y.shape().back();
  const std::size_t xs = x.size() / (m * k), ys = y.size() / (k * n), count = std::max(xs, ys);
  shape[shape.size() - 2] = m;
  shape[shape.size() - 1] = n;
  x.reshape({xs, m, k});
  y.reshape({ys, k, n});
  xt::xarray<double> products = xt::zeros<double>({count, m, n});
  for (std::size_t i = 0; i < count; ++i) {
    const xt::xarray<double> a = xt::view(x, i % xs), b = xt::view(y, i % ys);
    xt::view(products, i) = xt::linalg::dot(a, b);
  }
  products.reshape(shape);
  return products;
}

// The entry at that place, rounded down; NaN where there is none.
template <class Tensor, class... Place>
double at(const Tensor& x, Place... place) {
  const std::vector<double> places = {std::floor(static_cast<double>(place))...};
  for (std::size_t i = 0; i < places.size(); ++i)
    if (!(places[i] >= 0.0 && places[i] < static_cast<double>(x.shape(i)))) return nan;
  return x(static_cast<std::size_t>(place)...);
}

template <class Term>
double sum(long count, const Term& term) {
  double total = 0.0;
  for (long i = 0; i < count; ++i) total += term(i);
  return total;
}

// The first of several.
template <class Term>
double argmax(long count, const Term& term) {
  long place = 0;
  for (long i = 1; i < count; ++i)
    if (term(place) < term(i)) place = i;
  return static_cast<double>(place);
}

template <class Term>
double max(long count, const Term& term) {
  double largest = -inf;
  for (long i = 0; i < count; ++i) largest = larger(largest, term(i));
  return largest;
}

template <class Term>
double min(long count, const Term& term) {
  double least = inf;
  for (long i = 0; i < count; ++i) least = smaller(least, term(i));
  return least;
}

inline double mod(double x, double y) {
  return x - y * std::floor(x / y);
}

// The nearest number of so many binary digits, with an exponent from the least to the largest.
inline double rounded(double x, int digits, int least, int largest) {
  if (x == 0.0 || !std::isfinite(x)) return x;
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), least) + 1 - digits);
  const double nearest = std::nearbyint(x / step) * step;
  return std::abs(nearest) < std::ldexp(1.0, largest + 1) ? nearest : std::copysign(inf, x);
}

inline double float32(double x) {
  return rounded(x, 24, -126, 127);
}

inline double float16(double x) {
  return rounded(x, 11, -14, 15);
}

inline double bfloat16(double x) {
  return rounded(x, 8, -126, 127);
}

}  // namespace lab
