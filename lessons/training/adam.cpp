/// Adam, the usual way of making a step. Source: Kingma and Ba 2015, "Adam: A Method for Stochastic
/// Optimization", algorithm 1.

#include "lessons/training/adam.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "attn/ops/shape_mismatch.hpp"

namespace lessons {

namespace {

/// β · mean + (1 − β) · next.
double moved_mean(double beta, double mean, double next) {
  return beta * mean + (1.0 - beta) * next;
}

attn::Worked worked_moved_mean(double beta, double mean, const attn::Worked& next) {
  return attn::Worked::sum(
      {attn::Worked::product({beta, mean}), attn::Worked::product({attn::Worked(1.0) - beta, next})});
}

/// 1 − β^step: a mean that began at 0 is too small by that factor.
double correction(double beta, std::int64_t step) {
  return 1.0 - std::pow(beta, static_cast<double>(step));
}

attn::Worked worked_correction(double beta, std::int64_t step) {
  return attn::Worked(1.0) - pow(attn::Worked(beta), static_cast<double>(step));
}

void require_one_shape(const AdamStep& of, const Moments& moments) {
  if (of.step < 1)
    throw std::invalid_argument(fmt::format("[adam] step is {}: it must be at least 1", of.step));
  for (const auto* other : {&of.gradient.tensor, &moments.m, &moments.v})
    if (other->shape() != of.parameters.tensor.shape())
      throw attn::shape_mismatch("adam", "parameters", of.parameters.tensor, "gradient or moment", *other,
                                 "all must have one shape");
}

Tensor<2> moved_mean(double beta, const Tensor<2>& mean, const Tensor<2>& gradient, int power) {
  Tensor<2> moved(mean.shape());
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const double g = gradient.data()[i];
    moved.data()[i] = moved_mean(beta, mean.data()[i], power == 2 ? g * g : g);
  }
  return moved;
}

Tensor<2> updated_parameters(const AdamStep& of, const Moments& moments) {
  const double m_correction = correction(beta_1, of.step), v_correction = correction(beta_2, of.step);
  Tensor<2> updated(of.parameters.tensor.shape());
  for (std::size_t i = 0; i < updated.size(); ++i) {
    const double m = moments.m.data()[i] / m_correction, v = moments.v.data()[i] / v_correction;
    updated.data()[i] = of.parameters.tensor.data()[i] - of.rate * m / (std::sqrt(v) + epsilon);
  }
  return updated;
}

}  // namespace

Moments no_moments(const Tensor<2>& parameters) {
  return {xt::zeros_like(parameters), xt::zeros_like(parameters)};
}

Tensor<2> adam(Workbench& bench, const AdamStep& of, Moments& moments) {
  require_one_shape(of, moments);
  const auto& [parameters, gradient, axes, step, rate] = of;
  const auto before = moments;
  const auto entry = [](const Tensor<2>& tensor, const attn::Index& at) { return tensor(at[0], at[1]); };
  moments.m =
      bench.trace.step({.id = "m",
                        .title = "Which way, on average",
                        .formula = fmt::format("{:g} · m + {:g} · {}", beta_1, 1.0 - beta_1, of.gradient.id),
                        .from = {of.gradient.id},
                        .axes = axes,
                        .worked =
                            [&](const attn::Index& at) {
                              return worked_moved_mean(beta_1, entry(before.m, at), of.gradient(at));
                            }},
                       moved_mean(beta_1, before.m, gradient.tensor, 1));
  moments.v =
      bench.trace.step({.id = "v",
                        .title = "How large, on average",
                        .formula = fmt::format("{:g} · v + {:g} · {}²", beta_2, 1.0 - beta_2, of.gradient.id),
                        .from = {of.gradient.id},
                        .axes = axes,
                        .worked =
                            [&](const attn::Index& at) {
                              return worked_moved_mean(beta_2, entry(before.v, at), square(of.gradient(at)));
                            }},
                       moved_mean(beta_2, before.v, gradient.tensor, 2));
  return bench.trace.step(
      {.id = "updated",
       .title = fmt::format("{} after the step", of.parameters.id),
       .formula = fmt::format("{} − rate · m_now / (√v_now + {:g})", of.parameters.id, epsilon),
       .from = {of.parameters.id, "m", "v", "rate"},
       .axes = axes,
       .worked =
           [&](const attn::Index& at) {
             const auto m = attn::Known<2>{"m", moments.m}(at) / worked_correction(beta_1, of.step);
             const auto v = attn::Known<2>{"v", moments.v}(at) / worked_correction(beta_2, of.step);
             const auto change = attn::Worked::product({attn::Worked({"rate", {}}, of.rate), m});
             return of.parameters(at) - change / attn::Worked::sum({sqrt(v), epsilon});
           }},
      updated_parameters(of, moments));
}

}  // namespace lessons
