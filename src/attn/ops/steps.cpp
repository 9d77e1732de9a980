#include "attn/ops/steps.hpp"

#include <algorithm>
#include <stdexcept>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xview.hpp>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// Throws unless there is a step and all have one shape.
void require_equal_shapes(const std::vector<Tensor<2>>& steps) {
  if (steps.empty()) throw std::invalid_argument("[stack_steps] there are no steps");
  for (const auto& step : steps)
    if (step.shape() != steps[0].shape())
      throw shape_mismatch("stack_steps", "step 0", steps[0], "another", step, "the shapes must be equal");
}

}  // namespace

Tensor<2> step_of(const Tensor<3>& x, std::size_t t) {
  const std::size_t n = x.shape(1);
  if (t >= n)
    throw std::invalid_argument("[step_of] there is no step " + std::to_string(t) + " among " +
                                std::to_string(n));
  return xt::view(x, xt::all(), t);
}

Tensor<3> steps_of(const Tensor<3>& x, std::size_t begin, std::size_t end) {
  const std::size_t n = x.shape(1);
  if (begin > end || end > n)
    throw std::invalid_argument("[steps_of] there are no steps " + std::to_string(begin) + " to " +
                                std::to_string(end) + " among " + std::to_string(n));
  return xt::view(x, xt::all(), xt::range(begin, end));
}

Tensor<3> stack_steps(const std::vector<Tensor<2>>& steps) {
  require_equal_shapes(steps);
  const auto [batch, d] = steps[0].shape();
  auto sequence = Tensor<3>::from_shape({batch, steps.size(), d});
  for (std::size_t t = 0; t < steps.size(); ++t) xt::view(sequence, xt::all(), t) = steps[t];
  return sequence;
}

template <std::size_t N>
Tensor<N> join(const Tensor<N>& a, const Tensor<N>& b) requires Rank<N, 2, 3> {
  if (!std::equal(a.shape().begin(), a.shape().end() - 1, b.shape().begin()))
    throw shape_mismatch("join", "a", a, "b", b, "all axes but the last must match");
  return xt::concatenate(xt::xtuple(a, b), N - 1);
}

template Tensor<2> join(const Tensor<2>&, const Tensor<2>&);
template Tensor<3> join(const Tensor<3>&, const Tensor<3>&);

}  // namespace attn
