/// Attention with features of queries and keys in place of the exponential of a score, so that keys and
/// values are summed up before any query reads them. Sources: linear attention: Katharopoulos et al. 2020;
/// Performer: Choromanski et al. 2021.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/feature_maps.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/efficient/mistakes.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/worked.hpp"

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
  for (std::size_t i = 0; i < x.shape(0); ++i) sum = attn::add(sum, attn::row(x, i));
  return sum;
}

/// Σⱼ φ(kⱼ) vⱼᵀ over the first `tokens` keys.
attn::WorkedOut worked_S(attn::Known<2> phi_K, attn::Known<2> V, std::size_t tokens) {
  return [=](const attn::Index& at) {
    std::vector<attn::Worked> products;
    for (std::size_t j = 0; j < tokens; ++j)
      products.push_back(attn::Worked::product({phi_K({j, at[0]}), V({j, at[1]})}));
    return attn::Worked::sum(std::move(products));
  };
}

attn::WorkedOut worked_z(attn::Known<2> phi_K) {
  return [=](const attn::Index& at) {
    std::vector<attn::Worked> features;
    for (std::size_t j = 0; j < phi_K.tensor.shape(0); ++j) features.push_back(phi_K({j, at[0]}));
    return attn::Worked::sum(std::move(features));
  };
}

/// φ(qᵢ)ᵀ S / φ(qᵢ)ᵀ z.
attn::WorkedOut worked_read(attn::Known<2> phi_Q, attn::Known<2> S, attn::Known<1> z) {
  return [above = attn::worked_matmul(phi_Q, S), phi_Q, z](const attn::Index& at) {
    std::vector<attn::Worked> products;
    for (std::size_t f = 0; f < z.tensor.size(); ++f)
      products.push_back(attn::Worked::product({phi_Q({at[0], f}), z({f})}));
    const auto sum = attn::Worked::sum(std::move(products));
    return sum.value() == 0.0 ? attn::Worked(0.0) : above(at) / sum;
  };
}

/// φ(qᵢ)ᵀφ(kⱼ) / Σⱼ φ(qᵢ)ᵀφ(kⱼ) over the listed keys.
attn::WorkedOut worked_implied_weights(attn::Known<2> phi_Q, attn::Known<2> phi_K, const KeyLists& keys) {
  return worked_of(2 * phi_K.tensor.size(), [=, &keys](const attn::Index& at) {
    const auto similarity = attn::worked_matmul_transposed(phi_Q, phi_K);
    const auto& of_query = keys[at[0]];
    std::vector<attn::Worked> similarities;
    for (const auto j : of_query) similarities.push_back(similarity({at[0], j}));
    const bool is_seen = std::binary_search(of_query.begin(), of_query.end(), at[1]);
    if (!is_seen || similarity(at).value() == 0.0) return attn::Worked(0.0);
    return similarity(at) / attn::Worked::sum(std::move(similarities));
  });
}

/// Σⱼ φ(qᵢ)ᵀφ(kⱼ) vⱼ / Σⱼ φ(qᵢ)ᵀφ(kⱼ) over the keys up to i.
attn::WorkedOut worked_causal_read(attn::Known<2> phi_Q, attn::Known<2> phi_K, attn::Known<2> V) {
  return worked_of(4 * phi_K.tensor.size(), [=](const attn::Index& at) {
    const auto similarity = attn::worked_matmul_transposed(phi_Q, phi_K);
    std::vector<attn::Worked> similarities, products;
    for (std::size_t j = 0; j <= at[0]; ++j) {
      similarities.push_back(similarity({at[0], j}));
      products.push_back(attn::Worked::product({similarities.back(), V({j, at[1]})}));
    }
    const auto sum = attn::Worked::sum(std::move(similarities));
    return sum.value() == 0.0 ? attn::Worked(0.0) : attn::Worked::sum(std::move(products)) / sum;
  });
}

KeySums show_sums(attn::Trace& trace, const std::string& variant, const KeySums& sums, const Tensor<2>& phi_K,
                  const Tensor<2>& V) {
  const attn::Known features = {variant + "/phi_K", phi_K};
  auto S = trace.step({.id = variant + "/S",
                       .title = "All keys and values, summed up",
                       .formula = "Σⱼ φ(kⱼ) vⱼᵀ = φ(K)ᵀ V",
                       .from = {variant + "/phi_K", "V"},
                       .axes = {"feature", "d_v"},
                       .note = "As large for a thousand tokens as for ten.",
                       .worked = worked_S(features, {"V", V}, V.shape(0))},
                      sums.S);
  auto z = trace.step({.id = variant + "/z",
                       .title = "The features of all keys, summed up",
                       .formula = "Σⱼ φ(kⱼ)",
                       .from = {variant + "/phi_K"},
                       .axes = {"feature"},
                       .worked = worked_z(features)},
                      sums.z);
  return {std::move(S), std::move(z)};
}

Tensor<2> show_output(attn::Trace& trace, const std::string& variant, const std::string& note,
                      const attn::WorkedOut& worked, const Tensor<2>& output,
                      const attn::Mistakes& mistakes) {
  return trace.step({.id = variant + "/output",
                     .title = "What each query reads out of the sums",
                     .formula = "φ(qᵢ)ᵀ S / φ(qᵢ)ᵀ z",
                     .from = {variant + "/phi_Q", variant + "/S", variant + "/z"},
                     .axes = {"query", "d_v"},
                     .note = note,
                     .worked = worked},
                    output, mistakes);
}

}  // namespace

Tensor<2> linear_attention(attn::Trace& trace, const std::string& variant, const Tensor<2>& phi_Q,
                           const Tensor<2>& phi_K, const Tensor<2>& V, CostCounter& counter) {
  require_fitting_features("linear_attention", phi_Q, phi_K, V);
  const auto [S, z] =
      show_sums(trace, variant, {counter.matmul(attn::transpose(phi_K), V), sum_of_rows(phi_K)}, phi_K, V);
  const auto held = counter.hold(S.size() + z.size());
  auto output = show_output(
      trace, variant, "", worked_read({variant + "/phi_Q", phi_Q}, {variant + "/S", S}, {variant + "/z", z}),
      divide_rows(counter.matmul(phi_Q, S), counter.matmul(phi_Q, z)), mistakes_of_read(phi_Q, S, z));

  std::vector<CostCounter::Node> all_keys(phi_K.shape(0));
  std::iota(all_keys.begin(), all_keys.end(), std::size_t{0});
  const auto summing = counter.operation(all_keys);
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) counter.output(counter.operation({summing}), i);
  return output;
}

Tensor<2> causal_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                                  CostCounter& counter,
                                  const std::function<void(std::size_t tokens, KeySums& sums)>& tap) {
  require_fitting_features("causal_linear_attention", phi_Q, phi_K, V);
  if (phi_Q.shape(0) != phi_K.shape(0))
    throw attn::shape_mismatch("causal_linear_attention", "phi_Q", phi_Q, "phi_K", phi_K,
                               "there must be as many queries as keys");
  const std::size_t features = phi_K.shape(1), d_v = V.shape(1);
  KeySums sums = {Tensor<2>({features, d_v}, 0.0), Tensor<1>({features}, 0.0)};
  auto& [S, z] = sums;
  const auto held = counter.hold(S.size() + z.size());
  Tensor<2> output({phi_Q.shape(0), d_v});
  std::vector<CostCounter::Node> before;  // the operation that gave S and z, after the first token
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) {
    const auto phi_q = attn::rows(phi_Q, i, i + 1), phi_k = attn::rows(phi_K, i, i + 1),
               v = attn::rows(V, i, i + 1);
    S = attn::add(S, counter.matmul(attn::transpose(phi_k), v));
    z = attn::add(z, attn::row(phi_k, 0));
    if (tap) tap(i + 1, sums);
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

/// φ(Q) and φ(K), with the steps that they are called in the trace.
struct Features {
  std::string variant;
  Tensor<2> phi_Q, phi_K;
};

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

/// tokens · features · (2 d_v + 1), after what the features themselves took.
attn::Worked worked_multiply_adds_of_sums(const VariantBench& on, std::size_t features,
                                          const std::optional<attn::Worked>& for_features) {
  const auto width = static_cast<double>(on.V.shape(1));
  const auto for_sums =
      attn::Worked::product({static_cast<double>(on.n()), static_cast<double>(features),
                             attn::Worked::sum({attn::Worked::product({2.0, width}), 1.0})});
  return for_features ? attn::Worked::sum({*for_features, for_sums}) : for_sums;
}

attn::Worked worked_bytes_of_sums(const VariantBench& on, std::size_t features) {
  const auto width = static_cast<double>(on.V.shape(1));
  return worked_bytes(
      on, attn::Worked::product({static_cast<double>(features), attn::Worked::sum({width, 1.0})}));
}

/// From `V_phi_Q` and `V_phi_K` to `V_weights` and `V_output` in NumPy.
void append_sums_code(const VariantBench& on, const std::string& variant, std::vector<std::string>& lines) {
  const auto add = [&, &name = variant](const char* line) {
    lines.push_back(fmt::format(fmt::runtime(line), fmt::arg("v", name)));
  };
  add("{v}_weights = {v}_phi_Q @ {v}_phi_K.T   # only to look at");
  if (on.causal()) add("{v}_weights = np.tril({v}_weights)");
  add("{v}_weights /= {v}_weights.sum(axis=1, keepdims=True)");
  add("");
  add("{v}_S = {v}_phi_K.T @ V");
  add("{v}_z = {v}_phi_K.sum(axis=0)");
  if (!on.causal()) {
    add("{v}_output = {v}_phi_Q @ {v}_S");
    return add("{v}_output /= ({v}_phi_Q @ {v}_z)[:, None]");
  }
  add("{v}_output, S, z = np.zeros(V.shape), 0, 0");
  add("for t, (q, k) in enumerate(zip({v}_phi_Q, {v}_phi_K)):");
  add("    S, z = S + np.outer(k, V[t]), z + k      # the sums so far");
  add("    {v}_output[t] = q @ S / (q @ z)");
}

/// The output by way of S and z, with the claim that it is the one of all weights that the features amount
/// to. Returns the output.
Tensor<2> show_sums_and_output(VariantBench& on, const Features& features, CostCounter& counter,
                               const std::string& for_features,
                               const std::optional<attn::Worked>& worked_for_features = std::nullopt) {
  auto& trace = on.bench.trace;
  const auto& variant = features.variant;
  const auto &phi_Q = features.phi_Q, &phi_K = features.phi_K;
  const auto n = on.n(), f = phi_K.shape(1), d_v = on.V.shape(1);
  const auto weights =
      trace.step({.id = variant + "/weights",
                  .title = "The weights that these features amount to",
                  .formula = "φ(qᵢ)ᵀφ(kⱼ) / Σⱼ φ(qᵢ)ᵀφ(kⱼ)",
                  .from = {variant + "/phi_Q", variant + "/phi_K"},
                  .axes = {"query", "key"},
                  .note = "They are computed here only to be looked at: the output does not need them.",
                  .distribution = true,
                  .worked = worked_implied_weights({variant + "/phi_Q", phi_Q}, {variant + "/phi_K", phi_K},
                                                   on.visible)},
                 implied_weights(phi_Q, phi_K, on.visible_mask()),
                 mistakes_of_implied_weights(phi_Q, phi_K, on.visible_mask()));
  Tensor<2> output;
  if (on.causal()) {
    const auto tap = [&, id = variant](std::size_t tokens, KeySums& sums) {
      if (tokens == n) sums = show_sums(trace, id, sums, phi_K, on.V);
    };
    output =
        show_output(trace, variant,
                    "With --causal each query reads the sums as they are when its own key has been added.",
                    worked_causal_read({variant + "/phi_Q", phi_Q}, {variant + "/phi_K", phi_K}, {"V", on.V}),
                    causal_linear_attention(phi_Q, phi_K, on.V, counter, tap),
                    mistakes_of_causal_read(phi_Q, phi_K, on.V));
  } else {
    output = linear_attention(trace, variant, phi_Q, phi_K, on.V, counter);
  }
  show_result(on, variant,
              {.multiply_adds = fmt::format("{}{} tokens · {} features · (2 d_v + 1)", for_features, n, f),
               .score_bytes = on.bytes_of(f * (d_v + 1), "numbers in S and z"),
               .worked_multiply_adds = worked_multiply_adds_of_sums(on, f, worked_for_features),
               .worked_score_bytes = worked_bytes_of_sums(on, f)},
              output, counter.cost(), on.full);
  claim_of_sums(on, features,
                {.id = variant + "-equals-all-weights",
                 .claim = fmt::format("summing the keys up first gives the output of all {}² weights", n),
                 .formula = "max |φ(Q) (φ(K)ᵀ V) / z − weights V|",
                 .value = attn::max_abs_difference(output, attn::matmul(weights, on.V)),
                 .limit = rounding_of_sums(on)});
  return output;
}

/// Linear attention as a recurrence over the tokens.
void show_recurrence(VariantBench& on, const Features& features) {
  auto& trace = on.bench.trace;
  const auto n = on.n(), f = features.phi_K.shape(1), d_v = on.V.shape(1);
  trace.note(
      "linear/recurrence", "Causal linear attention is a recurrence",
      "To see no later key, query i has to read the sums before the next key is added. Then S and z are the "
      "state of a recurrent network: each token adds its key and value, and reads. A model of this kind "
      "writes a token in the same time and memory however much it has written (Katharopoulos et al. call it "
      "“Transformers are RNNs”). In full attention, every token takes longer than the one before.",
      "Sᵢ = Sᵢ₋₁ + φ(kᵢ) vᵢᵀ,   zᵢ = zᵢ₋₁ + φ(kᵢ)\noutputᵢ = φ(qᵢ)ᵀ Sᵢ / φ(qᵢ)ᵀ zᵢ");
  std::vector<std::string> from = {"linear/phi_K", "V"};
  const auto tap = [&](std::size_t tokens, KeySums& sums) {
    if (tokens > 2 && tokens < n) return;
    const auto id = fmt::format("linear/causal/token={}/S", tokens);
    sums.S = trace.step({.id = id,
                         .title = fmt::format("Causal linear attention: the state after token {}", tokens),
                         .formula = tokens == 1 ? "φ(k₁) v₁ᵀ" : "Sᵢ₋₁ + φ(kᵢ) vᵢᵀ",
                         .from = from,
                         .axes = {"feature", "d_v"},
                         .worked = worked_S({"linear/phi_K", features.phi_K}, {"V", on.V}, tokens)},
                        sums.S);
    from.push_back(id);
  };
  auto counter = on.counter();
  const auto computed = causal_linear_attention(features.phi_Q, features.phi_K, on.V, counter, tap);
  from.insert(from.begin(), "linear/phi_Q");
  const auto output =
      trace.step({.id = "linear/causal/output",
                  .title = "What each query reads out of the state after its own token",
                  .formula = "φ(qᵢ)ᵀ Sᵢ / φ(qᵢ)ᵀ zᵢ",
                  .from = from,
                  .axes = {"query", "d_v"},
                  .worked = worked_causal_read({"linear/phi_Q", features.phi_Q},
                                               {"linear/phi_K", features.phi_K}, {"V", on.V})},
                 computed, mistakes_of_causal_read(features.phi_Q, features.phi_K, on.V));
  trace.step({.id = "linear/causal/multiply_adds",
              .title = "The multiply-adds of causal linear attention",
              .formula = fmt::format("{} tokens · {} features · (2 d_v + 1)", n, f),
              .from = {"Q", "K", "V"},
              .worked = worked_number_of(worked_multiply_adds_of_sums(on, f, {}))},
             counter.cost().multiply_adds);
  trace.step({.id = "linear/causal/score_bytes",
              .title = "The bytes of the state of causal linear attention",
              .formula = on.bytes_of(f * (d_v + 1), "numbers in Sᵢ and zᵢ"),
              .from = {"Q", "K", "V"},
              .worked = worked_number_of(worked_bytes_of_sums(on, f))},
             counter.cost().score_bytes);
  const auto weights = implied_weights(features.phi_Q, features.phi_K, attn::causal_mask(n, n));
  claim_of_sums(on, features,
                {.id = "causal-linear-equals-recurrence",
                 .claim = "causal linear attention equals its recurrence",
                 .formula = "max |recurrence − (weights under the causal mask) V|",
                 .value = attn::max_abs_difference(output, attn::matmul(weights, on.V)),
                 .limit = rounding_of_sums(on)});
  claim_equals_linear_kernel(on, "linear/causal", features, output, true);
}

}  // namespace

void show_linear(VariantBench& on) {
  auto& trace = on.bench.trace;
  trace.note(
      "linear/idea", "Linear attention: the brackets moved",
      "In softmax(Q Kᵀ) V the softmax stands between two products, so every query has to be compared "
      "with every key. If a weight is a dot product of features φ of the query and of the key instead, "
      "nothing stands in between: keys and values can be summed up first, once for all queries. But it "
      "is no softmax: without the exponential, good matches stand out less and the weights are "
      "flatter. There is no division by √d_k.",
      "weightᵢⱼ ∝ φ(qᵢ)ᵀφ(kⱼ),  φ(x) = elu(x) + 1 = x + 1 where x > 0, else eˣ\n"
      "(φ(Q) φ(K)ᵀ) V = φ(Q) (φ(K)ᵀ V)");
  std::vector<std::string> code = {
      "def phi(x):", "    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))", "",
      "linear_phi_Q, linear_phi_K = phi(Q), phi(K)"};
  append_sums_code(on, "linear", code);
  show_code(on, "linear", code);
  auto phi_Q = trace.step({.id = "linear/phi_Q",
                           .title = "The features of the queries",
                           .formula = "elu(Q) + 1",
                           .from = {"Q"},
                           .axes = {"query", "feature"},
                           .worked = attn::worked_elu_plus_one({"Q", on.Q})},
                          attn::elu_plus_one(on.Q), mistakes_of_linear_features(on.Q));
  auto phi_K = trace.step({.id = "linear/phi_K",
                           .title = "The features of the keys",
                           .formula = "elu(K) + 1",
                           .from = {"K"},
                           .axes = {"key", "feature"},
                           .worked = attn::worked_elu_plus_one({"K", on.K})},
                          attn::elu_plus_one(on.K), mistakes_of_linear_features(on.K));
  const Features features = {"linear", std::move(phi_Q), std::move(phi_K)};
  auto counter = on.counter();
  const auto output = show_sums_and_output(on, features, counter, "");
  claim_equals_linear_kernel(on, "linear", features, output, on.causal());
  show_recurrence(on, features);
}

void show_performer(VariantBench& on) {
  auto& trace = on.bench.trace;
  const auto n = on.n(), d_k = on.K.shape(1), m = *on.bench.options.features;
  trace.note(
      "performer/idea", "Performer: softmax by random features",
      fmt::format("Linear attention with features whose dot product is exp(qᵀk / √d_k) on average, over the "
                  "draw of m = {} random directions ω. The error is chance and shrinks like 1/√m. All "
                  "features are positive, so every weight is, too. Directions that are made orthogonal to "
                  "each other do better; these are drawn independently.",
                  m),
      "y = x / d_k^¼,   φ(x)ₘ = exp(ωₘᵀy − |y|²/2) / √m\n"
      "E[φ(q)ᵀφ(k)] = exp(qᵀk / √d_k)");
  const auto omega = on.bench.input<2>(
      {.id = "performer/omega", .title = "The random directions", .formula = "normal(0, 1)"}, {m, d_k});
  std::vector<std::string> code = {"def features(x):",
                                   "    y, m = x / x.shape[1] ** 0.25, len(performer_omega)",
                                   "    norms = np.sum(y ** 2, axis=1, keepdims=True)",
                                   "    exponents = y @ performer_omega.T - norms / 2",
                                   "    return np.exp(exponents) / np.sqrt(m)",
                                   "",
                                   "performer_phi_Q, performer_phi_K = features(Q), features(K)"};
  append_sums_code(on, "performer", code);
  show_code(on, "performer", code);
  auto counter = on.counter();
  const auto features_of_Q = attn::positive_random_features(on.Q, omega, counter),
             features_of_K = attn::positive_random_features(on.K, omega, counter);
  auto phi_Q =
      trace.step({.id = "performer/phi_Q",
                  .title = "The random features of the queries",
                  .formula = "exp(ωᵀy − |y|²/2) / √m,  y = q / d_k^¼",
                  .from = {"Q", "performer/omega"},
                  .axes = {"query", "feature"},
                  .worked = attn::worked_positive_random_features({"Q", on.Q}, {"performer/omega", omega})},
                 features_of_Q, mistakes_of_random_features(on.Q, omega, features_of_Q));
  auto phi_K =
      trace.step({.id = "performer/phi_K",
                  .title = "The random features of the keys",
                  .formula = "exp(ωᵀy − |y|²/2) / √m,  y = k / d_k^¼",
                  .from = {"K", "performer/omega"},
                  .axes = {"key", "feature"},
                  .worked = attn::worked_positive_random_features({"K", on.K}, {"performer/omega", omega})},
                 features_of_K, mistakes_of_random_features(on.K, omega, features_of_K));
  const Features features = {"performer", std::move(phi_Q), std::move(phi_K)};
  show_sums_and_output(
      on, features, counter, fmt::format("2 · {} tokens · ({} + 1) · d_k + ", n, m),
      attn::Worked::product({2.0, static_cast<double>(n), attn::Worked::sum({static_cast<double>(m), 1.0}),
                             static_cast<double>(d_k)}));
}

}  // namespace lessons
