#include "lessons/sdpa/mistakes.hpp"

#include "lessons/documents/step_alone.hpp"

namespace lessons {

template <std::size_t N>
attn::Mistakes mistakes_of_masked(const Workbench& bench, const Tensor<N>& scaled, const Mask<3>& mask) {
  StepAlone step(bench, "masked");
  step.with("scaled", "query", "key", scaled).with("mask", "query", "key", mask);
  return step.mistakes("masked[query, key] = where(mask, scaled, -inf)");
}

template <std::size_t N>
attn::Mistakes mistakes_of_weights(const Workbench& bench, const Tensor<N>& seen, const Tensor<N>& scaled,
                                   const std::optional<Mask<3>>& mask, double divisor) {
  StepAlone step(bench, "weights");
  step.with("masked", "query", "key", seen).with("unmasked", "query", "key", scaled);
  step.with("temperature", 1.0).with("d_k", divisor * divisor);
  if (mask) step.with("mask", "query", "key", *mask);
  return step.mistakes("weights[query, key] = softmax(key) masked");
}

template <std::size_t N>
attn::Mistakes mistakes_of_output(const Workbench& bench, const Tensor<N>& weights, const Tensor<N>& V) {
  return StepAlone(bench, "output")
      .with("dropped", "query", "key", weights)
      .with("V", "key", "d_v", V)
      .mistakes("output[query, d_v] = sum(key) dropped * V");
}

#define INSTANTIATE(N)                                                                              \
  template attn::Mistakes mistakes_of_masked(const Workbench&, const Tensor<N>&, const Mask<3>&);   \
  template attn::Mistakes mistakes_of_weights(const Workbench&, const Tensor<N>&, const Tensor<N>&, \
                                              const std::optional<Mask<3>>&, double);               \
  template attn::Mistakes mistakes_of_output(const Workbench&, const Tensor<N>&, const Tensor<N>&);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace lessons
