#include "attn/ops/sum_shares.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace attn {

namespace {

bool may_be_seen(double score) {
  return !(std::isinf(score) && score < 0.0);
}

/// The score as a term of the sum: as it is, or 0 where it is less.
Worked term_of_sum(Worked score) {
  return score.value() < 0.0 ? max(std::move(score), 0.0) : score;
}

}  // namespace

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
    for (std::size_t j = 0; j < length; ++j) {
      auto place = at;
      place.back() = j;
      auto score = scores(place);
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

}  // namespace attn
