/// Attention with features of queries and keys in place of the exponential of a score, so that keys and
/// values are summed up before any query reads them. Sources: linear attention: Katharopoulos et al. 2020;
/// Performer: Choromanski et al. 2021.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <xtensor/xmath.hpp>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

void require_fitting_features(const std::string& op, const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                              const Tensor<2>& V) {
  if (phi_Q.shape(1) != phi_K.shape(1))
    throw attn::shape_mismatch(op, "phi_Q", phi_Q, "phi_K", phi_K, "the last axes must match");
  if (phi_K.shape(0) != V.shape(0))
    throw attn::shape_mismatch(op, "phi_K", phi_K, "V", V, "the numbers of keys and values must match");
}

/// Each row divided by its own number; zeros where that is 0.
Tensor<2> divide_rows(Tensor<2> rows, const Tensor<1>& divisors) {
  for (std::size_t i = 0; i < rows.shape(0); ++i)
    for (std::size_t c = 0; c < rows.shape(1); ++c)
      rows(i, c) = divisors(i) == 0.0 ? 0.0 : rows(i, c) / divisors(i);
  return rows;
}

/// Σᵢ xᵢ over the rows.
Tensor<1> sum_of_rows(const Tensor<2>& x) {
  Tensor<1> sum({x.shape(1)}, 0.0);
  for (std::size_t i = 0; i < x.shape(0); ++i) sum += attn::row(x, i);
  return sum;
}

}  // namespace

Tensor<2> linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                           CostCounter& counter) {
  require_fitting_features("linear_attention", phi_Q, phi_K, V);
  const auto S = counter.matmul(attn::transpose(phi_K), V);
  const auto z = sum_of_rows(phi_K);
  const auto held = counter.hold(S.size() + z.size());
  auto output = divide_rows(counter.matmul(phi_Q, S), counter.matmul(phi_Q, z));

  std::vector<CostCounter::Node> all_keys(phi_K.shape(0));
  std::iota(all_keys.begin(), all_keys.end(), std::size_t{0});
  const auto summing = counter.operation(all_keys);
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) counter.output(counter.operation({summing}), i);
  return output;
}

Tensor<2> causal_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                                  CostCounter& counter) {
  require_fitting_features("causal_linear_attention", phi_Q, phi_K, V);
  if (phi_Q.shape(0) != phi_K.shape(0))
    throw attn::shape_mismatch("causal_linear_attention", "phi_Q", phi_Q, "phi_K", phi_K,
                               "there must be as many queries as keys");
  const std::size_t features = phi_K.shape(1), d_v = V.shape(1);
  Tensor<2> S({features, d_v}, 0.0);
  Tensor<1> z({features}, 0.0);
  const auto held = counter.hold(S.size() + z.size());
  Tensor<2> output({phi_Q.shape(0), d_v});
  std::vector<CostCounter::Node> before;  // the operation that gave S and z, after the first token
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) {
    const auto phi_q = attn::rows(phi_Q, i, i + 1), phi_k = attn::rows(phi_K, i, i + 1),
               v = attn::rows(V, i, i + 1);
    S += counter.matmul(attn::transpose(phi_k), v);
    z += attn::row(phi_k, 0);
    const auto read = divide_rows(counter.matmul(phi_q, S), counter.matmul(phi_q, z));
    std::copy(read.begin(), read.end(), &output(i, 0));

    before.push_back(i);
    const auto adding = counter.operation(before);
    counter.output(counter.operation({adding}), i);
    before = {adding};
  }
  return output;
}

Tensor<2> implied_weights(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Mask<2>& mask) {
  auto weights = attn::matmul(phi_Q, attn::transpose(phi_K));
  if (mask.shape() != weights.shape())
    throw attn::shape_mismatch("implied_weights", "weights", weights, "mask", mask,
                               "query and key must match");
  auto sums = Tensor<1>::from_shape({weights.shape(0)});
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    sums(i) = 0.0;
    for (std::size_t j = 0; j < weights.shape(1); ++j) {
      if (!mask(i, j)) weights(i, j) = 0.0;
      sums(i) += weights(i, j);
    }
  }
  return divide_rows(std::move(weights), sums);
}

namespace {

double smallest_positive(const Tensor<2>& x) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const double element : x)
    if (element > 0.0) smallest = std::min(smallest, element);
  return smallest;
}

/// The distance between the numbers of a type that are closest to 0.
double smallest_number(attn::Dtype dtype) {
  double smallest = 1.0;
  while (attn::round_to(dtype, smallest / 2.0) > 0.0) smallest /= 2.0;
  return smallest;
}

/// What rounding may do to means of n values whose weights come out of sums of n features.
attn::Limit rounding_of_sums(const VariantBench& on) {
  return rounding(on.bench.trace, std::sqrt(static_cast<double>(on.n())) * attn::max_abs(on.V));
}

/// Why outputs that are computed from these features in two ways cannot be compared; empty where they can.
/// Near 0 numbers are rounded by an absolute amount, and small features lose their digits.
std::string why_not_comparable(const VariantBench& on, const Features& features) {
  const auto dtype = on.bench.trace.dtype();
  for (const auto& [name, phi] : {std::pair("φ(Q)", &features.phi_Q), std::pair("φ(K)", &features.phi_K)})
    if (!std::isfinite(attn::max_abs(*phi)))
      return fmt::format(
          "{} is so large somewhere that it is infinite in {}. Its quotients are no numbers: the weights and "
          "the output have nan there.",
          name, attn::name_of(dtype));
  const double phi_q = smallest_positive(features.phi_Q), phi_k = smallest_positive(features.phi_K);
  for (const auto& [name, smallest] : {std::pair("φ(Q)", phi_q), std::pair("φ(K)", phi_k)})
    if (std::isinf(smallest))
      return fmt::format("{} is 0 everywhere in {}, so that there are no weights.", name,
                         attn::name_of(dtype));
  const double largest_sum =
      static_cast<double>(on.n()) * attn::max_abs(features.phi_K) * std::max(1.0, attn::max_abs(on.V));
  if (std::isinf(attn::round_to(dtype, largest_sum)))
    return fmt::format("Sums of features may be as large as {:.3g}, too large for {}.", largest_sum,
                       attn::name_of(dtype));
  const double lost =
      std::max(smallest_number(dtype) / phi_k, smallest_number(attn::Dtype::float64) / phi_q / phi_k);
  if (lost <= rounding(on.bench.trace).bound) return "";
  return fmt::format(
      "The smallest feature of the queries is {:.3g}, that of the keys {:.3g}. Numbers as small as that, or "
      "as their product, have fewer digits in {} than others.",
      phi_q, phi_k, attn::name_of(dtype));
}

/// Makes the claim, or says why it does not apply to these features.
void claim_of_sums(VariantBench& on, const Features& features, const attn::Claim& claim) {
  const auto reason = why_not_comparable(on, features);
  if (reason.empty())
    on.bench.trace.claim(claim);
  else
    on.bench.trace.note(claim.id, "Not compared: " + claim.claim, reason);
}

}  // namespace

void claim_equals_all_weights(VariantBench& on, const Features& features, const Tensor<2>& reference,
                              const Tensor<2>& output) {
  auto counter = on.counter();
  const auto computed = on.causal() ? causal_linear_attention(features.phi_Q, features.phi_K, on.V, counter)
                                    : linear_attention(features.phi_Q, features.phi_K, on.V, counter);
  claim_of_sums(
      on, features,
      {.id = features.variant + "-equals-all-weights",
       .claim = fmt::format("summing the keys up first gives the output of all {}² weights", on.n()),
       .formula = "max |φ(Q) (φ(K)ᵀ V) / z − weights V|",
       .value = attn::maximum(
           {attn::max_abs_difference(output, reference), attn::max_abs_difference(computed, reference)}),
       .limit = rounding_of_sums(on)});
}

void claim_equals_recurrence(VariantBench& on, const Features& features, const Tensor<2>& output) {
  auto counter = on.counter();
  const auto weights = implied_weights(features.phi_Q, features.phi_K, attn::causal_mask(on.n(), on.n()));
  const auto recurrence = causal_linear_attention(features.phi_Q, features.phi_K, on.V, counter);
  const auto reference = attn::matmul(weights, on.V);
  claim_of_sums(on, features,
                {.id = "causal-linear-equals-recurrence",
                 .claim = "causal linear attention equals its recurrence",
                 .formula = "max |recurrence − (weights under the causal mask) V|",
                 .value = attn::maximum({attn::max_abs_difference(output, reference),
                                         attn::max_abs_difference(recurrence, reference)}),
                 .limit = rounding_of_sums(on)});
}

void claim_equals_linear_kernel(VariantBench& on, const std::string& variant, const Features& features,
                                const Tensor<2>& output, bool causal) {
  const auto reason = why_not_comparable(on, features);
  const auto id = variant + "-equals-kernel";
  if (!reason.empty()) return on.bench.trace.note(id, "Not compared with a fast kernel", reason);
  claim_equals_kernel(
      on.bench.trace,
      {.id = id,
       .claim = fmt::format("the fast kernel, which takes the tokens in chunks{}, gives the same output",
                            causal ? " and keeps the state between them" : ""),
       .formula = "max |" + variant + "/output − kernel {}(Q, K, V)|",
       .limit = rounding_of_sums(on)},
      attn::max_abs(on.V), attn::fast::linear_attention(features.phi_Q, features.phi_K, on.V, causal),
      [&](const auto& fast) { return attn::max_abs_difference(output, fast.output); });
}

}  // namespace lessons
