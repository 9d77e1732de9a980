#include "attn/ops/lookup.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

Tensor<1> mean_of_rows(const Tensor<2>& x, const std::vector<std::size_t>& rows) {
  auto mean = Tensor<1>::from_shape({x.shape(1)});
  for (std::size_t j = 0; j < mean.size(); ++j) {
    double sum = 0.0;
    for (const auto i : rows) sum += static_cast<double>(x(i, j));
    mean(j) = static_cast<double>(sum / static_cast<double>(rows.size()));
  }
  return mean;
}

}  // namespace

HardLookup hard_lookup(const Tensor<1>& scores, const Tensor<2>& values) {
  if (scores.size() != values.shape(0))
    throw shape_mismatch("hard_lookup", "scores", scores, "values", values, "the first axes must match");
  if (scores.size() == 0) throw std::invalid_argument("[hard_lookup] there are no keys to look through");
  HardLookup lookup;
  lookup.best_score = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  lookup.gap = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double behind = lookup.best_score - static_cast<double>(scores(i));
    if (behind == 0.0) lookup.keys.push_back(i);
    if (behind > 0.0) lookup.gap = std::min(lookup.gap, behind);
  }
  lookup.output = mean_of_rows(values, lookup.keys);
  return lookup;
}

}  // namespace attn
