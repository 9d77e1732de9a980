#include "fast/bench/contestant.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "fast/bench/xtensor_contestant.hpp"
#include "fast/exact/kernels.hpp"
#include "fast/linear/kernels.hpp"
#include "fast/sparse/kernels.hpp"

namespace attn::bench {

namespace {

template <class Kernel>
auto forward_of(const Kernel& kernel, float) {
  return kernel.forward32;
}
template <class Kernel>
auto forward_of(const Kernel& kernel, double) {
  return kernel.forward64;
}
auto backward_of(const exact::Kernel& kernel, float) {
  return kernel.backward32;
}
auto backward_of(const exact::Kernel& kernel, double) {
  return kernel.backward64;
}

double no_scores(const Setting&) {
  return 0.0;
}

template <class Kernel>
auto size_obstacle(const Kernel& kernel) {
  return [&kernel](const Setting& setting) -> std::string {
    return kernel.fits(setting.sizes()) ? "" : "takes " + std::string(kernel.takes);
  };
}

template <class T>
exact::Forward<T> exact_call(Operands<T>& operands, const Setting& setting) {
  return {.sizes = setting.sizes(),
          .visible = setting.visible(),
          .scale = static_cast<T>(1.0 / std::sqrt(static_cast<double>(setting.d_k))),
          .query = operands.query.data(),
          .key = operands.key.data(),
          .value = operands.value.data(),
          .output = operands.output.data(),
          .log_sum_exp = operands.log_sum_exp.data(),
          .threads = setting.threads};
}

template <class T>
exact::Backward<T> exact_backward_call(Operands<T>& operands, const Setting& setting) {
  return {.forward = exact_call(operands, setting),
          .d_output = operands.d_output.data(),
          .d_query = operands.d_query.data(),
          .d_key = operands.d_key.data(),
          .d_value = operands.d_value.data()};
}

/// Kernel 2 is the one that holds scores: those of a head for each thread that has one, and their gradients
/// on the way back, on which heads that share keys go together.
template <class T>
auto exact_score_bytes(const exact::Kernel& kernel) {
  return [&kernel](const Setting& setting) {
    if (kernel.name != "blas") return 0.0;
    const auto matrices = [&](std::size_t tasks, double of_each) {
      return of_each * static_cast<double>(std::min(tasks, static_cast<std::size_t>(setting.threads)));
    };
    const auto n = static_cast<double>(setting.n);
    const double most =
        std::max(matrices(setting.heads, 1.0), setting.backward ? matrices(setting.kv_heads, 2.0) : 0.0);
    return n * n * most * sizeof(T);
  };
}

template <class T>
Contestant<T> contestant(const exact::Kernel& kernel) {
  return {.name = std::string(kernel.name),
          .task = [](const Setting& setting) { return Task{.setting = setting}; },
          .obstacle = size_obstacle(kernel),
          .score_bytes = exact_score_bytes<T>(kernel),
          .prepare =
              [&kernel](Operands<T>& operands, const Setting& setting) {
                Passes passes;
                passes.forward = [run = forward_of(kernel, T{}), call = exact_call(operands, setting)] {
                  run(call);
                };
                if (setting.backward)
                  passes.backward = [run = backward_of(kernel, T{}),
                                     call = exact_backward_call(operands, setting)] { run(call); };
                return passes;
              }};
}

/// Strides of √n blocks, which keep about n √n pairs (Child et al. 2019).
block_sparse::Pattern pattern_of(const Setting& setting) {
  constexpr std::size_t block = 64, local = 2;
  const double blocks = std::ceil(static_cast<double>(setting.n) / block);
  const auto stride = static_cast<std::size_t>(std::lround(std::sqrt(blocks)));
  return block_sparse::strided_pattern(setting.n, setting.n, block, local, stride);
}

template <class T>
Contestant<T> contestant(const block_sparse::Kernel& kernel) {
  return {
      .name = "sparse-" + std::string(kernel.name),
      .task = [](const Setting& setting) { return Task{.setting = setting, .pattern = pattern_of(setting)}; },
      .obstacle = size_obstacle(kernel),
      .score_bytes = no_scores,
      .prepare =
          [&kernel](Operands<T>& operands, const Setting& setting) {
            const auto pattern = std::make_shared<const block_sparse::Pattern>(pattern_of(setting));
            return Passes{
                .forward = [run = forward_of(kernel, T{}), call = exact_call(operands, setting), pattern] {
                  run({call, pattern.get()});
                }};
          }};
}

template <class T>
linear_time::Forward<T> linear_call(Operands<T>& operands, const Setting& setting) {
  return {.sizes = setting.sizes(),
          .causal = setting.causal,
          .query = operands.query.data(),
          .key = operands.key.data(),
          .value = operands.value.data(),
          .output = operands.output.data(),
          .threads = setting.threads};
}

template <class T>
Contestant<T> contestant(const linear_time::Kernel& kernel) {
  return {
      .name = "linear-" + std::string(kernel.name),
      .task =
          [](const Setting& setting) { return Task{.setting = setting, .formula = Task::Formula::linear}; },
      .obstacle = [](const Setting& setting) { return setting.window ? "takes no window" : ""; },
      .score_bytes = no_scores,
      .prepare =
          [&kernel](Operands<T>& operands, const Setting& setting) {
            return Passes{.forward = [run = forward_of(kernel, T{}), call = linear_call(operands, setting)] {
              run(call);
            }};
          }};
}

template <class T>
Contestant<T> with_all_keys_visible(const Contestant<T>& masked) {
  return {
      .name = masked.name + "-full",
      .task = [masked](const Setting& setting) { return masked.task(setting.unmasked()); },
      .obstacle = [masked](const Setting& setting) { return masked.obstacle(setting.unmasked()); },
      .score_bytes = [masked](const Setting& setting) { return masked.score_bytes(setting.unmasked()); },
      .prepare = [masked](Operands<T>& operands,
                          const Setting& setting) { return masked.prepare(operands, setting.unmasked()); }};
}

template <class T, class Kernel>
void add(std::vector<Contestant<T>>& all, const std::vector<Kernel>& kernels, bool keys_are_hidden) {
  for (const auto& kernel : kernels) all.push_back(contestant<T>(kernel));
  if (keys_are_hidden) all.push_back(with_all_keys_visible(all.back()));
}

}  // namespace

template <class T>
std::vector<Contestant<T>> contestants(bool keys_are_hidden) {
  std::vector<Contestant<T>> all = {xtensor_contestant<T>()};
  add(all, exact::kernels(), keys_are_hidden);
  add(all, block_sparse::kernels(), false);
  add(all, linear_time::kernels(), keys_are_hidden);
  return all;
}

template std::vector<Contestant<float>> contestants(bool);
template std::vector<Contestant<double>> contestants(bool);

}  // namespace attn::bench
