#include "attn/ops/cross_entropy.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "attn/ops/softmax.hpp"

namespace attn {

namespace {

using Words = std::vector<std::vector<std::size_t>>;

void check_words(const char* function, const Tensor<3>& x, const Words& words) {
  bool fits = words.size() == x.shape(0);
  for (const auto& of_sample : words) {
    fits = fits && of_sample.size() <= x.shape(1);
    for (const auto word : of_sample) fits = fits && word < x.shape(2);
  }
  if (!fits)
    throw std::invalid_argument(
        fmt::format("[{}] the words do not fit rows of {}: there must be no more words than rows in each "
                    "sample, and each one of the vocabulary",
                    function, to_string(view_of(x).shape)));
}

bool is_right(const Words& words, const Index& at) {
  return at[1] < words[at[0]].size() && words[at[0]][at[1]] == at[2];
}

}  // namespace

double cross_entropy(const Tensor<3>& logits, const Words& words) {
  check_words("cross_entropy", logits, words);
  const auto of_rows = log_sum_exp(logits);
  double loss = 0.0;
  for (std::size_t b = 0; b < words.size(); ++b)
    for (std::size_t t = 0; t < words[b].size(); ++t) loss += of_rows(b, t) - logits(b, t, words[b][t]);
  return loss;
}

Tensor<3> cross_entropy_backward(const Tensor<3>& probabilities, const Words& words) {
  check_words("cross_entropy_backward", probabilities, words);
  Tensor<3> d_logits = xt::zeros<double>(probabilities.shape());
  for (std::size_t b = 0; b < words.size(); ++b)
    for (std::size_t t = 0; t < words[b].size(); ++t)
      for (std::size_t word = 0; word < probabilities.shape(2); ++word)
        d_logits(b, t, word) = probabilities(b, t, word) - (word == words[b][t] ? 1.0 : 0.0);
  return d_logits;
}

WorkedOut worked_cross_entropy(Known<3> probabilities, const Words& words) {
  return [=, &words](const Index&) {
    std::vector<Worked> terms;
    for (std::size_t b = 0; b < words.size(); ++b)
      for (std::size_t t = 0; t < words[b].size(); ++t)
        terms.push_back(-log(probabilities({b, t, words[b][t]})));
    return Worked::sum(std::move(terms));
  };
}

WorkedOut worked_cross_entropy_backward(Known<3> probabilities, const Words& words) {
  return [=, &words](const Index& at) {
    if (at[1] >= words[at[0]].size()) return Worked(0.0);
    return is_right(words, at) ? probabilities(at) - Worked(1.0) : probabilities(at);
  };
}

}  // namespace attn
