/// Gradients that are cut short. Source: Pascanu, Mikolov and Bengio 2013, "On the difficulty of training
/// recurrent neural networks", section 3.2.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/training.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// What PyTorch adds to the norm, so that it never divides by 0.
constexpr double beside_norm = 1e-6;

void require_positive(const char* op, const char* name, double value) {
  if (!(value > 0.0))
    throw std::invalid_argument(fmt::format("[{}] {} is {}: it must be above 0", op, name, value));
}

/// x times a power of two, which changes no digit, so that its largest number is near 1.
Tensor<2> near_1(const Tensor<2>& x) {
  const double largest = attn::max_abs(x);
  if (largest == 0.0 || !std::isfinite(largest)) return x;
  const int exponent = -std::ilogb(largest);
  const double factor = std::ldexp(1.0, exponent / 2), rest = std::ldexp(1.0, exponent - exponent / 2);
  Tensor<2> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(), [=](double element) { return element * factor * rest; });
  return result;
}

Tensor<2> times(double factor, const Tensor<2>& x) {
  Tensor<2> product(x.shape());
  std::transform(x.begin(), x.end(), product.begin(), [factor](double element) { return factor * element; });
  return product;
}

Tensor<2> as_row(const Tensor<1>& x) {
  auto row = Tensor<2>::from_shape({1, x.size()});
  std::copy(x.begin(), x.end(), row.begin());
  return row;
}

Tensor<1> norms_of_rows(const Tensor<2>& x) {
  auto norms = Tensor<1>::from_shape({x.shape(0)});
  for (std::size_t i = 0; i < x.shape(0); ++i) norms(i) = norm_of(attn::rows(x, i, i + 1));
  return norms;
}

}  // namespace

Tensor<2> clip_by_norm(Workbench& bench, const Tensor<2>& gradients, double max_norm) {
  require_positive("clip_by_norm", "max_norm", max_norm);
  auto& trace = bench.trace;
  const auto layer_norms =
      trace.step({.id = "layer_norms",
                  .title = "The length of each layer's gradient",
                  .formula = "√(Σ g²) of each layer",
                  .from = {"gradients"},
                  .axes = {"layer"},
                  .worked =
                      [&](const attn::Index& at) {
                        std::vector<attn::Worked> squares;
                        for (std::size_t c = 0; c < gradients.shape(1); ++c)
                          squares.push_back(square(attn::Known<2>{"gradients", gradients}({at[0], c})));
                        return sqrt(attn::Worked::sum(std::move(squares)));
                      }},
                 norms_of_rows(gradients));
  const auto norm =
      trace.step({.id = "norm",
                  .title = "The length of all as one vector",
                  .formula = "√(Σ layer_norms²)",
                  .from = {"layer_norms"},
                  .worked =
                      [&](const attn::Index&) {
                        std::vector<attn::Worked> squares;
                        for (std::size_t l = 0; l < layer_norms.size(); ++l)
                          squares.push_back(square(attn::Known<1>{"layer_norms", layer_norms}({l})));
                        return sqrt(attn::Worked::sum(std::move(squares)));
                      }},
                 norm_of(as_row(layer_norms)));
  const auto factor = trace.step(
      {.id = "factor",
       .title = "One factor for all gradients",
       .formula = fmt::format("min(1, max_norm / (norm + 1e-6)), max_norm {:g}", max_norm),
       .from = {"norm"},
       .note = "1 where the gradient is short enough, as in torch.nn.utils.clip_grad_norm_.",
       .worked =
           [&](const attn::Index&) {
             const auto beside = attn::Worked::sum({attn::Worked({"norm", {}}, norm), beside_norm});
             return min(1.0, attn::Worked(max_norm) / beside);
           }},
      std::min(1.0, max_norm / (norm + beside_norm)));
  return trace.step({.id = "clipped",
                     .title = "Shorter, in the same direction",
                     .formula = "factor · gradients",
                     .from = {"factor", "gradients"},
                     .axes = {"layer", "feature"},
                     .worked =
                         [&](const attn::Index& at) {
                           return attn::Worked::product({attn::Worked({"factor", {}}, factor),
                                                         attn::Known<2>{"gradients", gradients}(at)});
                         }},
                    times(factor, gradients));
}

Tensor<2> clip_by_value(const Tensor<2>& gradients, double limit) {
  require_positive("clip_by_value", "limit", limit);
  Tensor<2> clipped(gradients.shape());
  std::transform(gradients.begin(), gradients.end(), clipped.begin(),
                 [limit](double gradient) { return std::clamp(gradient, -limit, limit); });
  return clipped;
}

double norm_of(const Tensor<2>& x) {
  const double largest = attn::max_abs(x);
  if (largest == 0.0 || !std::isfinite(largest)) return largest;
  const auto scaled = near_1(x);
  return std::ldexp(std::sqrt(attn::sum_of_products(scaled, scaled)), std::ilogb(largest));
}

double cosine(const Tensor<2>& x, const Tensor<2>& y) {
  const auto a = near_1(x), b = near_1(y);
  return attn::sum_of_products(a, b) / (norm_of(a) * norm_of(b));
}

namespace {

/// Σ x · y over all entries.
attn::Worked worked_sum_of_products(const attn::Known<2>& x, const attn::Known<2>& y) {
  std::vector<attn::Worked> products;
  for (std::size_t l = 0; l < x.tensor.shape(0); ++l)
    for (std::size_t c = 0; c < x.tensor.shape(1); ++c)
      products.push_back(attn::Worked::product({x({l, c}), y({l, c})}));
  return attn::Worked::sum(std::move(products));
}

}  // namespace

void explain_clipping(attn::Trace& trace) {
  trace.note(
      "clipping-idea", "Clipping: no step too long",
      "One unusual batch can have a gradient a thousand times as long as usual. Clipping by the norm "
      "multiplies all gradients by one factor, so the direction stays. Clipping by value cuts off each "
      "number by itself. That may turn it: the cosine of the angle between new and old is then below 1.");
}

std::pair<Tensor<2>, Tensor<2>> show_clipping(Workbench& bench) {
  const double max_norm = *bench.options.max_norm;
  auto& trace = bench.trace;
  trace.label("layer", {});
  const auto gradients = bench.input<2>(
      {.id = "gradients", .title = "A gradient for each layer", .note = "Four numbers stand for thousands."},
      {*bench.options.layers, std::size_t{4}});
  bench.code({"clipping_norm = np.sqrt(np.sum(clipping_gradients ** 2))",
              fmt::format("clipping_factor = min(1, {} / (clipping_norm + 1e-6))", max_norm),
              "clipping_clipped = clipping_factor * clipping_gradients",
              fmt::format("clipping_by_value = np.clip(clipping_gradients, -{0}, {0})", max_norm)});
  const auto clipped = clip_by_norm(bench, gradients, max_norm);
  const auto by_value = trace.step({.id = "by_value",
                                    .title = "Clipping by value: each number cut off by itself",
                                    .formula = fmt::format("g limited to ±{:g}", max_norm),
                                    .from = {"gradients"},
                                    .axes = {"layer", "feature"},
                                    .worked =
                                        [&](const attn::Index& at) {
                                          const auto g = attn::Known<2>{"gradients", gradients}(at);
                                          return max(-max_norm, min(max_norm, g));
                                        }},
                                   clip_by_value(gradients, max_norm));
  if (attn::max_abs(gradients) == 0.0)
    trace.note("no-direction", "No direction to keep",
               "All of these gradients are 0. They have no direction, so there is no angle to measure and "
               "nothing to claim about it.");
  else
    trace.step({.id = "cosine_by_value",
                .title = "The direction after clipping by value",
                .formula = "cosine of gradients and by_value",
                .from = {"gradients", "by_value"},
                .note = "1 is the same direction, as it is where nothing was cut off.",
                .worked =
                    [&](const attn::Index&) {
                      const attn::Known<2> g = {"gradients", gradients}, c = {"by_value", by_value};
                      return worked_sum_of_products(g, c) /
                             attn::Worked::product(
                                 {sqrt(worked_sum_of_products(g, g)), sqrt(worked_sum_of_products(c, c))});
                    }},
               cosine(gradients, by_value));
  return {gradients, clipped};
}

void claim_clipping(attn::Trace& trace, const Tensor<2>& gradients, const Tensor<2>& clipped,
                    double max_norm) {
  trace.claim({.id = "clipped-is-short-enough",
               .claim = "the clipped gradient is no longer than max_norm",
               .formula = "√(Σ clipped²) / max_norm − 1, or 0",
               .value = attn::maximum({0.0, norm_of(clipped) / max_norm - 1.0}),
               .limit = rounding(trace)});
  if (attn::max_abs(gradients) == 0.0) return;
  trace.claim({.id = "clipped-keeps-its-direction",
               .claim = "the clipped gradient points the same way as before",
               .formula = "1 − cosine of the angle between gradients and clipped",
               .value = std::abs(1.0 - cosine(gradients, clipped)),
               .limit = rounding(trace)});
}

}  // namespace lessons
