#include "lessons/sdpa/attention_parts.hpp"

#include <fmt/format.h>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "fast/attention.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

template <std::size_t N>
void claim_equals_fused_kernel(const DocumentRun& run) {
  const auto& bench = run.bench();
  if (const auto given = given_numbers_of_formulas(bench.options); !given.empty())
    return bench.trace.note("equals-fused-kernel",
                            "Not compared: code that stores no scores (lesson efficient)",
                            fmt::format("It does not know {}.", given));
  const auto of_all_heads = [&](const std::string& name) {
    auto tensor = run.copy_of<double, N>(has_heads<N> ? name + "_heads" : name);
    if constexpr (has_heads<N>) return attn::repeat_heads(tensor, bench.heads());
    return tensor;
  };
  const auto Q = of_all_heads("Q"), K = of_all_heads("K"), V = of_all_heads("V");
  const bool has_dropout = run.sheet().definition_of("dropped") != nullptr;
  const auto output = has_dropout ? attn::matmul(run.copy_of<double, N>("weights"), V)
                                  : run.copy_of<double, N>(has_heads<N> ? "heads" : "output");
  const double divisor = divisor_of(Q.shape().back(), bench.options.temperature);
  claim_equals_kernel(
      bench.trace,
      {.id = "equals-fused-kernel",
       .claim = "code that stores no scores (lesson efficient) agrees",
       .formula = "max |output − kernel {}(Q, K, V)|",
       .limit = rounding(bench.trace, magnitude_of_scores(Q, K, divisor) * attn::max_abs(V))},
      attn::max_abs(V),
      with_rule(bench, [&](const auto& visible) { return attn::fast::attention(Q, K, V, divisor, visible); }),
      [&](const auto& fast) {
        return attn::max_abs_difference(bench.trace.mute().step({}, fast.output), output);
      });
}

}  // namespace

template <std::size_t N>
void add_fused_kernel(Functions& functions) {
  functions.actions["equals-fused-kernel"] = [](DocumentRun& run) { claim_equals_fused_kernel<N>(run); };
}

void set_bias(DocumentRun& run, const std::string& name, const std::string& axis,
              const std::optional<Tensor<1>>& bias) {
  if (bias)
    set_view(run, name, {axis}, *bias);
  else
    run.set(name, 0.0);
}

void set_tokens(DocumentRun& run, const Named& X_query, const Named& X_key) {
  const bool is_one = X_query.id == X_key.id;
  set_view(run, X_query.id, {"batch", is_one ? "token" : "query", "d_model"}, X_query.tensor);
  if (!is_one) set_view(run, X_key.id, {"batch", "key", "d_model"}, X_key.tensor);
  run.axis("query", X_query.tensor.shape(1));
  run.axis("key", X_key.tensor.shape(1));
}

template void add_fused_kernel<3>(Functions&);
template void add_fused_kernel<4>(Functions&);

}  // namespace lessons
