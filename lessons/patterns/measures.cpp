/// The numbers of the lesson patterns.

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "attn/ops/shape_mismatch.hpp"
#include "lessons/patterns.hpp"

namespace lessons {

namespace {

constexpr double large_weight = 0.1;

/// The weights of one head for the real tokens of one sample.
class HeadView {
 public:
  HeadView(const Tensor<4>& weights, std::size_t b, std::size_t h, std::size_t length)
      : first_(&weights(b, h, 0, 0)), stride_(weights.shape(3)), length_(length) {}

  std::size_t length() const { return length_; }
  std::size_t keys() const { return stride_; }
  double operator()(std::size_t i, std::size_t j) const { return first_[i * stride_ + j]; }

  /// The mean of f(i) over the first `count` queries.
  template <class Function>
  double mean(std::size_t count, Function f) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) sum += f(i);
    return count == 0 ? 0.0 : sum / static_cast<double>(count);
  }

  /// The mean over queries of the sum over the first `keys` keys of f(wⱼ).
  template <class Function>
  double mean_of_row_sums(std::size_t keys, Function f) const {
    return mean(length_, [&](std::size_t i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < keys; ++j) sum += f((*this)(i, j));
      return sum;
    });
  }

 private:
  const double* first_;
  std::size_t stride_, length_;
};

double diagonal_of(const HeadView& w) {
  return w.mean(w.length(), [&](std::size_t i) { return w(i, i); });
}

double local_of(const HeadView& w) {
  return w.mean(w.length() - 1, [&](std::size_t i) { return (w(i, i + 1) + w(i + 1, i)) / 2.0; });
}

double sparse_ratio_of(const HeadView& w) {
  const double large_in_row =
      w.mean_of_row_sums(w.length(), [](double weight) { return weight > large_weight ? 1.0 : 0.0; });
  return large_in_row / static_cast<double>(w.length());
}

/// Over all keys: where a mask lets a query see padding, the row is a distribution over it as well.
double entropy_of(const HeadView& w, double inside = 0.0) {
  return w.mean_of_row_sums(w.keys(), [inside](double weight) {
    return weight == 0.0 ? 0.0 : -weight * std::log(weight + inside);
  });
}

void require_self_attention(const Tensor<4>& weights, const std::vector<std::size_t>& lengths) {
  if (weights.shape(2) != weights.shape(3))
    throw std::invalid_argument("[patterns] weights are " + attn::to_string(attn::view_of(weights).shape) +
                                ": there must be as many queries as keys");
  const bool fit = std::all_of(lengths.begin(), lengths.end(),
                               [&](std::size_t n) { return n >= 1 && n <= weights.shape(3); });
  if (lengths.size() != weights.shape(0) || !fit)
    throw std::invalid_argument("[patterns] weights are " + attn::to_string(attn::view_of(weights).shape) +
                                ": each sample needs a length from 1 to the number of its keys");
}

/// What `measure` says of each head of each sample: [batch×head].
template <class Measure>
Tensor<2> of_each_head(const Tensor<4>& weights, const std::vector<std::size_t>& lengths, Measure measure) {
  require_self_attention(weights, lengths);
  auto values = Tensor<2>::from_shape({weights.shape(0), weights.shape(1)});
  for (std::size_t b = 0; b < values.shape(0); ++b)
    for (std::size_t h = 0; h < values.shape(1); ++h)
      values(b, h) = measure(HeadView(weights, b, h, lengths[b]));
  return values;
}

std::size_t visible_keys(const Mask<3>& mask, std::size_t b, std::size_t i) {
  return static_cast<std::size_t>(std::count(&mask(b, i, 0), &mask(b, i, 0) + mask.shape(2), true));
}

}  // namespace

Tensor<2> diagonal_share(const Tensor<4>& weights, const std::vector<std::size_t>& lengths) {
  return of_each_head(weights, lengths, diagonal_of);
}

Tensor<2> neighbour_share(const Tensor<4>& weights, const std::vector<std::size_t>& lengths) {
  return of_each_head(weights, lengths, local_of);
}

Tensor<2> sparse_ratio(const Tensor<4>& weights, const std::vector<std::size_t>& lengths) {
  return of_each_head(weights, lengths, sparse_ratio_of);
}

Tensor<2> entropy(const Tensor<4>& weights, const std::vector<std::size_t>& lengths) {
  return of_each_head(weights, lengths, [](const HeadView& w) { return entropy_of(w); });
}

Tensor<2> entropy_bias(const Tensor<4>& weights, const std::vector<std::size_t>& lengths, double inside) {
  return of_each_head(weights, lengths,
                      [inside](const HeadView& w) { return entropy_of(w, inside) - entropy_of(w); });
}

Integers<3> strongest_key(const Tensor<4>& weights) {
  auto strongest = Integers<3>::from_shape({weights.shape(0), weights.shape(1), weights.shape(2)});
  const auto keys = weights.shape(3);
  for (std::size_t row = 0; row < strongest.size(); ++row) {
    const std::span weights_of_row(weights.data() + row * keys, keys);
    strongest.data()[row] =
        std::max_element(weights_of_row.begin(), weights_of_row.end()) - weights_of_row.begin();
  }
  return strongest;
}

Tensor<2> largest_entropy(const Mask<3>& mask, const std::vector<std::size_t>& lengths, std::size_t heads) {
  auto largest = Tensor<2>::from_shape({mask.shape(0), heads});
  for (std::size_t b = 0; b < mask.shape(0); ++b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < lengths[b]; ++i)
      sum += std::log(static_cast<double>(std::max<std::size_t>(1, visible_keys(mask, b, i))));
    for (std::size_t h = 0; h < heads; ++h) largest(b, h) = sum / static_cast<double>(lengths[b]);
  }
  return largest;
}

Tensor<4> uniform_weights(const Mask<3>& mask, std::size_t heads) {
  Tensor<4> weights = xt::zeros<double>({mask.shape(0), heads, mask.shape(1), mask.shape(2)});
  for (std::size_t b = 0; b < mask.shape(0); ++b)
    for (std::size_t i = 0; i < mask.shape(1); ++i) {
      const double share = 1.0 / static_cast<double>(visible_keys(mask, b, i));
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t j = 0; j < mask.shape(2); ++j)
          if (mask(b, i, j)) weights(b, h, i, j) = share;
    }
  return weights;
}

Tensor<4> one_hot_weights(const Integers<3>& chosen, std::size_t keys) {
  Tensor<4> weights = xt::zeros<double>({chosen.shape(0), chosen.shape(1), chosen.shape(2), keys});
  for (std::size_t row = 0; row < chosen.size(); ++row)
    weights.data()[row * keys + static_cast<std::size_t>(chosen.data()[row])] = 1.0;
  return weights;
}

Spread spread_of(double entropy, double largest_entropy) {
  if (largest_entropy <= collapsed_within) return Spread::undecided;
  if (entropy > largest_entropy - collapsed_within) return Spread::uniform;
  return entropy < over_sparse_below ? Spread::over_sparse : Spread::selective;
}

std::int64_t count_misjudged(const Tensor<2>& entropy, const Tensor<2>& largest_entropy, Spread expected) {
  if (entropy.shape() != largest_entropy.shape())
    throw attn::shape_mismatch("count_misjudged", "entropy", entropy, "largest_entropy", largest_entropy,
                               "the shapes must be equal");
  std::int64_t count = 0;
  for (std::size_t i = 0; i < entropy.size(); ++i) {
    const auto spread = spread_of(entropy.data()[i], largest_entropy.data()[i]);
    if (spread != expected && spread != Spread::undecided) ++count;
  }
  return count;
}

std::string_view name_of(Spread spread) {
  const std::string_view names[] = {"uniform", "selective", "over-sparse", "undecided"};
  return names[static_cast<int>(spread)];
}

std::string_view word_for(Spread spread) {
  return spread == Spread::over_sparse ? "sharp" : name_of(spread);
}

}  // namespace lessons
