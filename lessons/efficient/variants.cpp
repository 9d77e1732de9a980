#include "lessons/efficient/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/worked.hpp"

namespace lessons {

std::string VariantBench::bytes_of(std::size_t count, const std::string& what) const {
  return fmt::format("{} {} · {} bytes", count, what, attn::item_size(bench.trace.dtype()));
}

attn::WorkedOut worked_number_of(const std::optional<attn::Worked>& number) {
  if (!number) return {};
  return [number = *number](const attn::Index&) { return number; };
}

attn::Worked worked_pairs(const VariantBench& on, std::size_t pairs) {
  return attn::Worked::product(
      {static_cast<double>(pairs),
       attn::Worked::sum({static_cast<double>(on.K.shape(1)), static_cast<double>(on.V.shape(1))})});
}

attn::Worked worked_bytes(const VariantBench& on, attn::Worked count) {
  return attn::Worked::product(
      {std::move(count), static_cast<double>(attn::item_size(on.bench.trace.dtype()))});
}

attn::WorkedOut worked_pair_scores(attn::Known<2> Q, attn::Known<2> K) {
  const double d_k = static_cast<double>(K.tensor.shape(1));
  return [=, product = attn::worked_matmul_transposed(Q, K)](const attn::Index& at) {
    return product(at) / sqrt(attn::Worked(d_k));
  };
}

attn::WorkedOut worked_weights_of_pairs(attn::WorkedOut scores, const KeyLists& keys, std::size_t n_k,
                                        std::size_t d_k) {
  const auto listed = [=, &keys](const attn::Index& at) {
    const auto& of_query = keys[at[at.size() - 2]];
    const bool is_listed = std::binary_search(of_query.begin(), of_query.end(), at.back());
    return is_listed ? scores(at) : attn::Worked(-std::numeric_limits<double>::infinity());
  };
  return worked_of(2 * n_k * d_k, attn::worked_softmax(listed, n_k));
}

attn::WorkedOut worked_mixtures(attn::WorkedOut weights, attn::WorkedOut V, const KeyLists& keys) {
  return [=, &keys](const attn::Index& at) {
    std::vector<attn::Worked> products;
    for (const auto j : keys[at[0]])
      products.push_back(attn::Worked::product({weights({at[0], j}), V({j, at[1]})}));
    return products.empty() ? attn::Worked(0.0) : attn::Worked::sum(std::move(products));
  };
}

attn::WorkedOut worked_attention(attn::WorkedOut scores, attn::WorkedOut V, const KeyLists& keys,
                                 std::size_t d_k) {
  return worked_of(4 * keys.size() * d_k, [=, &keys](const attn::Index& at) {
    std::vector<attn::Worked> shares, products;
    double largest = 0.0;
    for (const auto j : keys[at[0]]) {
      const auto score = scores({at[0], j});
      largest = std::max(largest, std::abs(score.value()));
      shares.push_back(score);
    }
    if (shares.empty()) return attn::Worked(0.0);
    constexpr double largest_without_shift = 30.0;
    const auto maximum = attn::largest(shares);
    for (std::size_t k = 0; k < shares.size(); ++k) {
      shares[k] = exp(largest > largest_without_shift ? shares[k] - maximum : shares[k]);
      products.push_back(attn::Worked::product({shares[k], V({keys[at[0]][k], at[1]})}));
    }
    return attn::Worked::sum(std::move(products)) / attn::Worked::sum(std::move(shares));
  });
}

void show_code(VariantBench& on, const std::string& variant, const std::vector<std::string>& lines) {
  on.bench.trace.within(variant, [&] { on.bench.code(lines); });
}

namespace {

/// max |output − reference|; where rounding alone explains it, that it does, which makes 0.
attn::WorkedOut worked_error(attn::Known<2> output, attn::Known<2> reference, double negligible) {
  return worked_of(2 * output.tensor.size(), [=](const attn::Index&) {
    std::vector<attn::Worked> differences;
    for (std::size_t i = 0; i < output.tensor.shape(0); ++i)
      for (std::size_t c = 0; c < output.tensor.shape(1); ++c)
        differences.push_back(absolute(output({i, c}) - reference({i, c})));
    const auto error = attn::largest(std::move(differences));
    return error.value() <= negligible ? attn::Worked::less(negligible, error) : error;
  });
}

}  // namespace

void show_result(VariantBench& on, const std::string& variant, const CostWords& words,
                 const Tensor<2>& output, const attn::Cost& cost, const Tensor<2>& reference) {
  auto& trace = on.bench.trace;
  const double difference = attn::max_abs_difference(output, reference);
  const double error = difference <= rounding(trace, on.magnitude).bound ? 0.0 : difference;
  trace.step({.id = variant + "/error",
              .title = fmt::format("How far the output of {} is off", variant),
              .formula = fmt::format("max |{}/output − {}|", variant, words.reference),
              .from = {variant + "/output", words.reference},
              .note = error == 0.0 ? "0: what is left is rounding." : "",
              .worked = worked_error({variant + "/output", output}, {words.reference, reference},
                                     rounding(trace, on.magnitude).bound)},
             error);
  trace.step({.id = variant + "/multiply_adds",
              .title = fmt::format("The multiply-adds of {}", variant),
              .formula = words.multiply_adds,
              .from = {"Q", "K", "V"},
              .worked = worked_number_of(words.worked_multiply_adds)},
             cost.multiply_adds);
  trace.step({.id = variant + "/score_bytes",
              .title = fmt::format("The bytes of scores that {} held at one time", variant),
              .formula = words.score_bytes,
              .from = {"Q", "K", "V"},
              .worked = worked_number_of(words.worked_score_bytes)},
             cost.score_bytes);
  on.shown.push_back({variant, cost, error});
}

template <std::size_t N>
void require_fitting(const std::string& op, const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V) {
  if (Q.shape(N - 1) != K.shape(N - 1))
    throw attn::shape_mismatch(op, "Q", Q, "K", K, "the last axes must match");
  if (K.shape(N - 2) != V.shape(N - 2))
    throw attn::shape_mismatch(op, "K", K, "V", V, "the numbers of keys and values must match");
  if (N > 2 && Q.shape(0) != K.shape(0))
    throw attn::shape_mismatch(op, "Q", Q, "K", K, "the batch axes must match");
  if (!std::equal(K.shape().begin(), K.shape().end() - 2, V.shape().begin()))
    throw attn::shape_mismatch(op, "K", K, "V", V, "the batch axes must match");
}

template void require_fitting(const std::string&, const Tensor<2>&, const Tensor<2>&, const Tensor<2>&);
template void require_fitting(const std::string&, const Tensor<4>&, const Tensor<4>&, const Tensor<4>&);

double difference_from_masked(const VariantBench& on, const Tensor<2>& output, const Mask<2>& mask) {
  auto mute = on.bench.mute();
  const auto masked = scaled_dot_product_attention<3>(mute, attn::as_batch(on.Q), attn::as_batch(on.K),
                                                      attn::as_batch(on.V), attn::repeat_mask(mask, 1));
  return attn::max_abs_difference(output, attn::sample(masked.output, 0));
}

void claim_equals_masked(VariantBench& on, const std::string& id, const std::string& claim,
                         const Tensor<2>& output, const Mask<2>& mask) {
  on.bench.trace.claim({.id = id,
                        .claim = claim,
                        .formula = "max |output − softmax(masked Q Kᵀ / √d_k) V|",
                        .value = difference_from_masked(on, output, mask),
                        .limit = rounding(on.bench.trace, on.magnitude)});
}

void claim_equals_exact_kernel(VariantBench& on, const std::string& variant, const std::string& claim,
                               const Tensor<2>& output, const attn::fast::Visibility& visible) {
  const double divisor = std::sqrt(static_cast<double>(on.K.shape(1)));
  claim_equals_kernel(
      on.bench.trace,
      {.id = variant + "-equals-kernel",
       .claim = claim,
       .formula = "max |" + variant + "/output − kernel {}(Q, K, V)|",
       .limit = rounding(on.bench.trace, on.magnitude)},
      attn::max_abs(on.V),
      attn::fast::attention(attn::as_batch(on.Q), attn::as_batch(on.K), attn::as_batch(on.V), divisor,
                            visible),
      [&](const auto& fast) { return attn::max_abs_difference(attn::as_batch(output), fast.output); });
}

}  // namespace lessons
