#include "lessons/positional/encodings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"

namespace lessons {

template <class T>
Tensor<T, 3> scores_of_tokens(const Tensor<T, 3>& X) {
  return attn::divide(attn::matmul(X, attn::transpose(X)), std::sqrt(static_cast<double>(X.shape(2))));
}

std::string scaling_formula(const std::string& product, std::size_t d) {
  return fmt::format("{0} / √d = {0} / √{1} = {0} / {2:.4g}", product, d, std::sqrt(static_cast<double>(d)));
}

double room_for_angles(std::size_t n) {
  return std::max(1.0, static_cast<double>(n) / 1000.0);
}

template <class T, std::size_t N>
void show_weights(Workbench<T>& bench, const Tensor<T, N>& scores, const std::optional<Tensor<bool, 3>>& mask,
                  const std::string& note) {
  const auto axes =
      N == 4 ? std::vector<std::string>{"head", "query", "key"} : std::vector<std::string>{"query", "key"};
  bench.trace.step(
      {.id = "weights",
       .title = "Shares of attention",
       .formula = mask ? "softmax(scores where mask, −∞ elsewhere)" : "softmax(scores)",
       .from = mask ? std::vector<std::string>{"scores", "mask"} : std::vector<std::string>{"scores"},
       .axes = axes,
       .note = note,
       .distribution = true},
      attn::softmax(mask ? attn::apply_mask(scores, *mask) : scores));
}

#define INSTANTIATE(T)                                                                                  \
  template Tensor<T, 3> scores_of_tokens(const Tensor<T, 3>&);                                          \
  template void show_weights(Workbench<T>&, const Tensor<T, 3>&, const std::optional<Tensor<bool, 3>>&, \
                             const std::string&);                                                       \
  template void show_weights(Workbench<T>&, const Tensor<T, 4>&, const std::optional<Tensor<bool, 3>>&, \
                             const std::string&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace lessons
