#include "attn/ops/steps.hpp"

#include <algorithm>
#include <stdexcept>

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
  const auto [batch, n, d] = x.shape();
  if (t >= n)
    throw std::invalid_argument("[step_of] there is no step " + std::to_string(t) + " among " +
                                std::to_string(n));
  auto step = Tensor<2>::from_shape({batch, d});
  for (std::size_t b = 0; b < batch; ++b) std::copy_n(x.data() + (b * n + t) * d, d, step.data() + b * d);
  return step;
}

Tensor<3> steps_of(const Tensor<3>& x, std::size_t begin, std::size_t end) {
  const auto [batch, n, d] = x.shape();
  if (begin > end || end > n)
    throw std::invalid_argument("[steps_of] there are no steps " + std::to_string(begin) + " to " +
                                std::to_string(end) + " among " + std::to_string(n));
  auto steps = Tensor<3>::from_shape({batch, end - begin, d});
  for (std::size_t b = 0; b < batch; ++b)
    std::copy_n(x.data() + (b * n + begin) * d, (end - begin) * d, steps.data() + b * (end - begin) * d);
  return steps;
}

Tensor<3> stack_steps(const std::vector<Tensor<2>>& steps) {
  require_equal_shapes(steps);
  const auto [batch, d] = steps[0].shape();
  auto sequence = Tensor<3>::from_shape({batch, steps.size(), d});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < steps.size(); ++t)
      std::copy_n(steps[t].data() + b * d, d, sequence.data() + (b * steps.size() + t) * d);
  return sequence;
}

Tensor<3> delay(const Tensor<2>& first, const Tensor<3>& x) {
  const auto [batch, n, d] = x.shape();
  if (first.shape(0) != batch || first.shape(1) != d)
    throw shape_mismatch("delay", "first", first, "x", x, "the batch and the last axis must match");
  auto delayed = Tensor<3>::from_shape({batch, n, d});
  for (std::size_t b = 0; b < batch; ++b) {
    auto* row = delayed.data() + b * n * d;
    row = std::copy_n(first.data() + b * d, n > 0 ? d : 0, row);
    std::copy_n(x.data() + b * n * d, n > 0 ? (n - 1) * d : 0, row);
  }
  return delayed;
}

template <std::size_t N>
Tensor<N> join(const Tensor<N>& a, const Tensor<N>& b) {
  if (!std::equal(a.shape().begin(), a.shape().end() - 1, b.shape().begin()))
    throw shape_mismatch("join", "a", a, "b", b, "all axes but the last must match");
  const std::size_t width_a = a.shape().back(), width_b = b.shape().back();
  auto shape = a.shape();
  shape.back() = width_a + width_b;
  Tensor<N> joined(shape);
  auto* out = joined.data();
  for (std::size_t row = 0; row * shape.back() < joined.size(); ++row) {
    out = std::copy_n(a.data() + row * width_a, width_a, out);
    out = std::copy_n(b.data() + row * width_b, width_b, out);
  }
  return joined;
}

template Tensor<2> join(const Tensor<2>&, const Tensor<2>&);
template Tensor<3> join(const Tensor<3>&, const Tensor<3>&);

WorkedOut worked_join(WorkedOut a, std::size_t width, WorkedOut b) {
  return [=](Index at) {
    if (at.back() < width) return a(at);
    at.back() -= width;
    return b(at);
  };
}

}  // namespace attn
