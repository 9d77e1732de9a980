#include "fast/bench/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "fast/exact/kernels.hpp"
#include "fast/linear/kernels.hpp"
#include "fast/sparse/kernels.hpp"

namespace attn::bench {

namespace {

double no_scores(const Setting&) {
  return 0.0;
}

template <class Entry>
auto unsupported_size(const Entry& kernel) {
  return [&kernel](const Setting& setting) -> std::string {
    return kernel.fits(setting.sizes()) ? "" : "takes " + std::string(kernel.limits);
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

/// Only kernel 2 holds scores: those of one head for each busy thread, and their gradients in the backward
/// pass, where one thread computes all heads that share keys.
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
Kernel<T> timed(const exact::Kernel& kernel) {
  const bool goes_in_tiles = kernel.name == "tiled" || kernel.name == "simd";
  return {.name = std::string(kernel.name),
          .variant = goes_in_tiles ? "flash" : "full",
          .task = [](const Setting& setting) { return Task{.setting = setting}; },
          .unsupported = unsupported_size(kernel),
          .score_bytes = exact_score_bytes<T>(kernel),
          .prepare =
              [&kernel](Operands<T>& operands, const Setting& setting) {
                Passes passes;
                passes.forward = [&kernel, call = exact_call(operands, setting)] { kernel.forward(call); };
                if (setting.backward)
                  passes.backward = [&kernel, call = exact_backward_call(operands, setting)] {
                    kernel.backward(call);
                  };
                return passes;
              }};
}

/// Strides of √n blocks, which keep about n √n pairs (Child et al. 2019).
fast::BlockPattern pattern_of(const Setting& setting) {
  constexpr std::size_t block = 64, local = 2;
  const double blocks = std::ceil(static_cast<double>(setting.n) / block);
  const auto stride = static_cast<std::size_t>(std::lround(std::sqrt(blocks)));
  return fast::strided_blocks(setting.n, setting.n, block, local, stride);
}

template <class T>
Kernel<T> timed(const block_sparse::Kernel& kernel) {
  return {
      .name = "sparse-" + std::string(kernel.name),
      .variant = "sparse",
      .task = [](const Setting& setting) { return Task{.setting = setting, .pattern = pattern_of(setting)}; },
      .unsupported = unsupported_size(kernel),
      .score_bytes = no_scores,
      .prepare =
          [&kernel](Operands<T>& operands, const Setting& setting) {
            const auto pattern = std::make_shared<const fast::BlockPattern>(pattern_of(setting));
            return Passes{.forward = [&kernel, call = exact_call(operands, setting), pattern] {
              kernel.forward(block_sparse::Forward<T>{call, pattern.get()});
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
Kernel<T> timed(const linear_time::Kernel& kernel) {
  return {
      .name = "linear-" + std::string(kernel.name),
      .variant = "linear",
      .task =
          [](const Setting& setting) { return Task{.setting = setting, .formula = Task::Formula::linear}; },
      .unsupported = [](const Setting& setting) { return setting.window ? "takes no window" : ""; },
      .score_bytes = no_scores,
      .prepare =
          [&kernel](Operands<T>& operands, const Setting& setting) {
            return Passes{
                .forward = [&kernel, call = linear_call(operands, setting)] { kernel.forward(call); }};
          }};
}

template <class T>
Kernel<T> with_all_keys_visible(const Kernel<T>& masked) {
  return {
      .name = masked.name + "-full",
      .variant = masked.variant,
      .task = [masked](const Setting& setting) { return masked.task(setting.unmasked()); },
      .unsupported = [masked](const Setting& setting) { return masked.unsupported(setting.unmasked()); },
      .score_bytes = [masked](const Setting& setting) { return masked.score_bytes(setting.unmasked()); },
      .prepare = [masked](Operands<T>& operands,
                          const Setting& setting) { return masked.prepare(operands, setting.unmasked()); }};
}

template <class T, class Table>
void add(std::vector<Kernel<T>>& all, const Table& table, bool keys_are_hidden) {
  for (const auto& kernel : table) all.push_back(timed<T>(kernel));
  if (keys_are_hidden) all.push_back(with_all_keys_visible(all.back()));
}

}  // namespace

template <class T>
std::string variant_of(const Kernel<T>& kernel, const Setting& setting) {
  const auto own = kernel.task(setting).setting;
  const bool is_exact = kernel.variant == "full" || kernel.variant == "flash";
  if (!is_exact || !own.window) return kernel.variant;
  return own.causal ? "sliding" : "local";
}

template <class T>
std::vector<Kernel<T>> kernels(bool keys_are_hidden) {
  std::vector<Kernel<T>> all = {xtensor_kernel<T>()};
  add(all, exact::kernels(), keys_are_hidden);
  add(all, block_sparse::kernels(), false);
  add(all, linear_time::kernels(), keys_are_hidden);
  return all;
}

template std::string variant_of(const Kernel<float>&, const Setting&);
template std::string variant_of(const Kernel<double>&, const Setting&);
template std::vector<Kernel<float>> kernels(bool);
template std::vector<Kernel<double>> kernels(bool);

}  // namespace attn::bench
