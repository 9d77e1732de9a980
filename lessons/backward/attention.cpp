/// Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors"; the
/// formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2.

#include "lessons/backward/attention.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/backward/gradients.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// The keys or values of each query head: shared ones once for each that reads them.
template <std::size_t N>
Tensor<N> for_each_query_head(const Tensor<N>& x, const Tensor<N>& Q) {
  if constexpr (N == 4)
    return attn::repeat_heads(x, Q.shape(1));
  else
    return x;
}

}  // namespace

template <std::size_t N>
void claim_gradients_of_kernel(Workbench& bench, const AttentionKept<N>& kept, const Tensor<N>& d_output,
                               const Tensor<N>& d_Q, const Tensor<N>& d_K, const Tensor<N>& d_V) {
  const double divisor = divisor_of(kept.Q.shape(N - 1), bench.options.temperature);
  const double largest_vector = attn::maximum({attn::max_abs(kept.Q), attn::max_abs(kept.K)});
  const double terms = static_cast<double>(kept.weights.shape(N - 2)) * attn::max_abs(d_output) *
                       (1.0 + attn::max_abs(kept.V) * largest_vector);
  const auto dtype = bench.trace.dtype();
  const std::string suffix = N == 4 ? "_heads" : "";
  claim_equals_kernel(
      bench.trace,
      {.id = "gradients-equal-kernel",
       .claim = "the fast kernel, which stores no weights, gives the same gradients",
       .formula = fmt::format("max |d_Q{0}, d_K{0}, d_V{0} − those of kernel {{}}|", suffix),
       .limit = roughly_at_most(16.0 * unit_roundoff(dtype) * (terms + smallest_normal(dtype)) *
                                magnitude_of_scores(kept.Q, for_each_query_head(kept.K, kept.Q), divisor))},
      attn::maximum({attn::max_abs(d_Q), attn::max_abs(d_K), attn::max_abs(d_V)}),
      with_rule(bench,
                [&](const auto& visible) {
                  return attn::fast::attention_backward(kept.Q, kept.K, kept.V, divisor, visible, d_output);
                }),
      [&](const auto& fast) {
        auto mute = bench.trace.mute();
        return attn::maximum({attn::max_abs_difference(mute.step({}, fast.d_Q), d_Q),
                              attn::max_abs_difference(mute.step({}, fast.d_K), d_K),
                              attn::max_abs_difference(mute.step({}, fast.d_V), d_V)});
      });
}

template void claim_gradients_of_kernel(Workbench&, const AttentionKept<3>&, const Tensor<3>&,
                                        const Tensor<3>&, const Tensor<3>&, const Tensor<3>&);
template void claim_gradients_of_kernel(Workbench&, const AttentionKept<4>&, const Tensor<4>&,
                                        const Tensor<4>&, const Tensor<4>&, const Tensor<4>&);

}  // namespace lessons
