#include "lessons/sdpa/attention_parts.hpp"

#include <utility>

#include "attn/ops/heads.hpp"
#include "lessons/self_attention/mistakes.hpp"

namespace lessons {

template <std::size_t N>
void add_fused_kernel(Functions& functions) {
  functions.actions["equals-fused-kernel"] = [](DocumentRun& run) {
    const std::string suffix = has_heads<N> ? "_heads" : "";
    const auto of_all_heads = [&](const std::string& name) {
      auto tensor = run.copy_of<double, N>(name + suffix);
      if constexpr (has_heads<N>) return attn::repeat_heads(tensor, run.bench().heads());
      return tensor;
    };
    Attention<N> steps;
    steps.output = run.copy_of<double, N>(has_heads<N> ? "heads" : "output");
    if (run.sheet().definition_of("dropped") != nullptr) {
      steps.weights = run.copy_of<double, N>("weights");
      steps.dropped = run.copy_of<double, N>("dropped");
    }
    claim_equals_fused_kernel(run.bench(), steps, of_all_heads("Q"), of_all_heads("K"), of_all_heads("V"));
  };
}

ProjectionMistakes::ProjectionMistakes(Functions& functions, std::size_t groups, double divisor,
                                       std::string X_query, std::string X_key)
    : X_query_{std::move(X_query), {}}, X_key_{std::move(X_key), {}} {
  const auto add = [this, &functions](const std::string& step, std::function<attn::Mistakes()> make) {
    functions.mistakes[step] = [this, make = std::move(make)](DocumentRun& run, const std::string&) {
      if (run_ != &run) read(run);
      return make();
    };
  };
  add("Q", [=, this] { return mistakes_of_queries(X_query_.tensor, maps_, divisor, groups); });
  add("K", [=, this] { return mistakes_of_keys(X_query_, X_key_, maps_, divisor, groups); });
  add("V", [=, this] { return mistakes_of_keys_or_values(X_query_, X_key_, maps_, 2, groups); });
}

void ProjectionMistakes::read(const DocumentRun& run) {
  const auto bias = [&](const char* name) {
    return run.sheet().find(name) == nullptr ? std::nullopt : std::optional(run.copy_of<double, 1>(name));
  };
  const auto weight = [&](const char* name) { return run.copy_of<double, 2>(name); };
  X_query_.tensor = run.copy_of<double, 3>(X_query_.id);
  X_key_.tensor = run.copy_of<double, 3>(X_key_.id);
  weights_.emplace(
      ProjectionWeights{weight("W_Q"), weight("W_K"), weight("W_V"), bias("b_Q"), bias("b_K"), bias("b_V")});
  maps_.clear();
  for (const auto& map : {weights_->Q(), weights_->K(), weights_->V()}) maps_.push_back(map);
  run_ = &run;
}

template void add_fused_kernel<3>(Functions&);
template void add_fused_kernel<4>(Functions&);

}  // namespace lessons
