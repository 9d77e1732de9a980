/// Variants of attention that sum the keys up before any query sees them.
/// Sources: linear attention: Katharopoulos et al. 2020; Linformer: Wang et al. 2020; Performer: Choromanski
/// et al. 2021.

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "attn/efficient/feature_maps.hpp"
#include "attn/efficient/linear_attention.hpp"
#include "attn/efficient/low_rank_attention.hpp"
#include "attn/efficient/sparse_attention.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/claims.hpp"

namespace lessons {

namespace {

/// φ(Q) and φ(K), with the steps that they are called in the trace.
struct Features {
  std::string variant;
  Tensor<2> phi_Q, phi_K;
};

/// What rounding may do to means of n values whose weights come out of sums of n features.
attn::Limit rounding_of_sums(const VariantBench& on) {
  return rounding(on.bench.trace, std::sqrt(static_cast<double>(on.n())) * attn::max_abs(on.V));
}

/// The weights that the features stand for, and which no kernel computes.
attn::PlainLinearAttention show_implied_weights(VariantBench& on, const Features& features) {
  auto plain = attn::plain_linear_attention(features.phi_Q, features.phi_K, on.V, on.visible_mask());
  on.bench.trace.step({.id = features.variant + "/weights",
                       .title = "The weights that these features amount to",
                       .formula = "φ(qᵢ)ᵀφ(kⱼ) / Σⱼ φ(qᵢ)ᵀφ(kⱼ)",
                       .from = {features.variant + "/phi_Q", features.variant + "/phi_K"},
                       .axes = {"query", "key"},
                       .note = "To look at, beside full/weights. The kernel below never computes them.",
                       .distribution = true},
                      plain.weights);
  return plain;
}

/// The output by way of S and z, with the claim that it is the one of all those weights. Returns the output.
Tensor<2> show_by_summary(VariantBench& on, const Features& features, attn::Meter& meter,
                             const std::string& for_features) {
  auto& trace = on.bench.trace;
  const auto& [variant, phi_Q, phi_K] = features;
  const auto n = on.n(), f = phi_K.shape(1), d_v = on.V.shape(1);
  const auto plain = show_implied_weights(on, features);
  const auto attention = on.causal() ? attn::causal_linear_attention(phi_Q, phi_K, on.V, meter)
                                     : attn::linear_attention(phi_Q, phi_K, on.V, meter);
  trace.step({.id = variant + "/S",
              .title = "All keys and values, summed up",
              .formula = "Σⱼ φ(kⱼ) vⱼᵀ = φ(K)ᵀ V",
              .from = {variant + "/phi_K", "V"},
              .axes = {"feature", "d_v"},
              .note = "Its size has nothing to do with n."},
             attention.S);
  trace.step({.id = variant + "/z",
              .title = "The same for the denominator",
              .formula = "Σⱼ φ(kⱼ)",
              .from = {variant + "/phi_K"},
              .axes = {"feature"}},
             attention.z);
  show_result(
      on, variant,
      {.output =
           {.title = "What each query reads out of the sums",
            .formula = "φ(qᵢ)ᵀ S / φ(qᵢ)ᵀ z",
            .from = {variant + "/phi_Q", variant + "/S", variant + "/z"},
            .axes = {"query", "d_v"},
            .note =
                on.causal()
                    ? "With --causal each query reads the sums as they are when its own key has been added."
                    : ""},
       .multiply_adds = fmt::format("{}{} tokens · {} features · (2 d_v + 1)", for_features, n, f),
       .score_bytes = bytes_of(f * (d_v + 1), "numbers in S and z")},
      attention.output, meter.work(), on.full);
  trace.claim({.id = variant + "-equals-all-weights",
               .claim = fmt::format("summing the keys up first gives the output of all {}² weights", n),
               .formula = "max |φ(Q) (φ(K)ᵀ V) / z − weights V|",
               .value = attn::max_abs_difference(attention.output, plain.output),
               .limit = rounding_of_sums(on)});
  return attention.output;
}

void claim_equals_linear_kernel(VariantBench& on, const std::string& variant, const Tensor<2>& output,
                                bool causal) {
  claim_equals_kernel(
      on, variant,
      fmt::format("the fast kernel, which takes the tokens in chunks{}, gives the same output",
                  causal ? " and keeps the state between them" : ""),
      output, attn::fastest_linear_attention(on.Q, on.K, on.V, causal), rounding_of_sums(on));
}

/// Linear attention as a recurrence over the tokens.
void show_recurrence(VariantBench& on, const Features& features) {
  auto& trace = on.bench.trace;
  const auto n = on.n();
  trace.note(
      "linear/recurrence", "Causal linear attention is a recurrence",
      "To see no later key, query i has to read the sums before the next key is added. Then S and z are the "
      "state of a recurrent network: each token adds its key and value, and reads. A model of this kind "
      "writes a token in the same time and memory however much it has written (Katharopoulos et al. call it "
      "“Transformers are RNNs”). In full attention, every token takes longer than the one before.",
      "Sᵢ = Sᵢ₋₁ + φ(kᵢ) vᵢᵀ,   zᵢ = zᵢ₋₁ + φ(kᵢ)\noutputᵢ = φ(qᵢ)ᵀ Sᵢ / φ(qᵢ)ᵀ zᵢ");
  for (const std::size_t tokens : std::set{std::min<std::size_t>(1, n), std::min<std::size_t>(2, n), n}) {
    attn::Meter meter;
    const auto first = [&](const Tensor<2>& x) { return attn::rows(x, 0, tokens); };
    const auto state =
        attn::causal_linear_attention(first(features.phi_Q), first(features.phi_K), first(on.V), meter);
    trace.step({.id = fmt::format("linear/causal/token={}/S", tokens),
                .title = fmt::format("The state after token {}", tokens),
                .formula = tokens == 1 ? "φ(k₁) v₁ᵀ" : "Sᵢ₋₁ + φ(kᵢ) vᵢᵀ",
                .from = {"linear/phi_K", "V"},
                .axes = {"feature", "d_v"}},
               state.S);
  }
  attn::Meter meter;
  const auto causal = attn::causal_linear_attention(features.phi_Q, features.phi_K, on.V, meter);
  trace.step({.id = "linear/causal/output",
              .title = "What each query reads out of the state of its time",
              .formula = "φ(qᵢ)ᵀ Sᵢ / φ(qᵢ)ᵀ zᵢ",
              .from = {"linear/phi_Q", "linear/phi_K", "V"},
              .axes = {"query", "d_v"}},
             causal.output);
  trace.step({.id = "linear/causal/multiply_adds",
              .title = "What it computed",
              .formula = fmt::format("{} tokens · {} features · (2 d_v + 1)", n, features.phi_K.shape(1)),
              .from = {"Q", "K", "V"}},
             meter.work().multiply_adds);
  trace.step({.id = "linear/causal/score_bytes",
              .title = "What it held at one time",
              .formula = bytes_of(features.phi_K.shape(1) * (on.V.shape(1) + 1), "numbers in Sᵢ and zᵢ"),
              .from = {"Q", "K", "V"}},
             meter.work().score_bytes);
  const auto plain =
      attn::plain_linear_attention(features.phi_Q, features.phi_K, on.V, attn::causal_mask(n, n));
  trace.claim({.id = "causal-linear-equals-recurrence",
               .claim = "causal linear attention equals its recurrence",
               .formula = "max |recurrence − (weights under the causal mask) V|",
               .value = attn::max_abs_difference(causal.output, plain.output),
               .limit = rounding_of_sums(on)});
  claim_equals_linear_kernel(on, "linear/causal", causal.output, true);
}

}  // namespace

void show_linear(VariantBench& on) {
  auto& trace = on.bench.trace;
  trace.note("linear/idea", "Linear attention: the brackets moved",
             "In softmax(Q Kᵀ) V the softmax stands between two products, and so every query has to meet "
             "every key. Take another positive weight, a dot product of features φ of the query and of the "
             "key, and nothing stands in between: the keys and values can be summed up first, once for all "
             "queries. The price: it is not softmax. Left out is the exponential, which makes a good match "
             "stand out; these weights are flatter. There is no division by √d_k in it.",
             "weightᵢⱼ ∝ φ(qᵢ)ᵀφ(kⱼ),   φ(x) = elu(x) + 1 = x + 1 where x > 0, else eˣ\n"
             "(φ(Q) φ(K)ᵀ) V = φ(Q) (φ(K)ᵀ V)");
  trace.note("linear/seen-elsewhere", "What a tutorial makes of it",
             "Its linear_attention adds 1e-8 to the denominator. As φ > 0 that is not needed, and where all "
             "features are small it makes the weights sum to less than 1. And its sums run over all keys: "
             "whoever puts a causal mask on its result is too late, as the future is in kv already.");
  Features features = {"linear", {}, {}};
  features.phi_Q = trace.step({.id = "linear/phi_Q",
                               .title = "The features of the queries",
                               .formula = "elu(Q) + 1",
                               .from = {"Q"},
                               .axes = {"query", "feature"}},
                              attn::elu_plus_one(on.Q));
  features.phi_K = trace.step({.id = "linear/phi_K",
                               .title = "The features of the keys",
                               .formula = "elu(K) + 1",
                               .from = {"K"},
                               .axes = {"key", "feature"}},
                              attn::elu_plus_one(on.K));
  attn::Meter meter;
  const auto output = show_by_summary(on, features, meter, "");
  claim_equals_linear_kernel(on, "linear", output, on.causal());
  show_recurrence(on, features);
}

void show_linformer(VariantBench& on) {
  auto& trace = on.bench.trace;
  const auto n = on.n(), r = *on.bench.options.rank;
  trace.note("linformer/idea", "Linformer: a few mixtures of the keys",
             fmt::format("The n = {} keys are mixed into r = {}, and so are the values; then attention runs "
                         "over those. Left out is whatever two keys in one mixture do not have in common. E "
                         "and F are learned; drawn at random, as here, they say little, and the error is "
                         "large. They are as wide as the longest sequence that the model is made for. And "
                         "every mixture holds later tokens too, so that Linformer cannot be causal.",
                         n, r),
             "softmax(Q (E K)ᵀ / √d_k) (F V)");
  const auto E = on.bench.weight({.id = "linformer/E",
                                  .title = "How the keys are mixed",
                                  .formula = fmt::format("normal(0, 1/√{})", r),
                                  .axes = {"feature", "key"}},
                                 r, n);
  const auto F = on.bench.weight({.id = "linformer/F",
                                  .title = "How the values are mixed",
                                  .formula = fmt::format("normal(0, 1/√{})", r),
                                  .axes = {"feature", "key"}},
                                 r, n);
  attn::Meter meter;
  const auto attention = attn::low_rank_attention(on.Q, on.K, on.V, E, F, meter);
  trace.step({.id = "linformer/projected_K",
              .title = "The mixtures of keys",
              .formula = "E K",
              .from = {"linformer/E", "K"},
              .axes = {"feature", "d_k"}},
             attention.projected_keys);
  trace.step({.id = "linformer/projected_V",
              .title = "The mixtures of values",
              .formula = "F V",
              .from = {"linformer/F", "V"},
              .axes = {"feature", "d_v"}},
             attention.projected_values);
  trace.step({.id = "linformer/weights",
              .title = "Shares of the mixtures",
              .formula = "softmax(Q (E K)ᵀ / √d_k)",
              .from = {"Q", "linformer/projected_K"},
              .axes = {"query", "feature"},
              .distribution = true},
             attention.weights);
  show_result(on, "linformer",
              {.output = {.title = "What each query takes from the mixtures",
                          .formula = "linformer/weights (F V)",
                          .from = {"linformer/weights", "linformer/projected_V"},
                          .axes = {"query", "d_v"}},
               .multiply_adds = fmt::format("{0} · {1} · (d_k + d_v) to mix + {1} · {0} · (d_k + d_v)", r, n),
               .score_bytes = bytes_of(n * r, fmt::format("scores ({} × {})", n, r))},
              attention.output, meter.work(), on.full);

  Tensor<2> identity({n, n}, double{0});
  for (std::size_t i = 0; i < n; ++i) identity(i, i) = double{1};
  attn::Meter other_meter;
  const auto unmixed = attn::low_rank_attention(on.Q, on.K, on.V, identity, identity, other_meter);
  claim_equals_masked(on, "linformer-without-mixing", "with E = F = I and r = n Linformer is full attention",
                      unmixed.output, on.visible_mask());
}

void show_performer(VariantBench& on) {
  auto& trace = on.bench.trace;
  const auto n = on.n(), d_k = on.K.shape(1), m = *on.bench.options.features;
  trace.note(
      "performer/idea", "Performer: the softmax itself, by chance",
      fmt::format("Linear attention with features that imitate the exponential. Draw m = {} directions ω; "
                  "then the dot product of these features is exp(qᵀk / √d_k) on average. What is left out is "
                  "certainty: the error is chance, and shrinks like 1/√m. Positive features keep every "
                  "weight positive; the sines and cosines that were tried before them do not. Directions "
                  "that are made orthogonal to each other do better; these here are drawn independently.",
                  m),
      "y = x / d_k^¼,   φ(x)ₘ = exp(ωₘᵀy − |y|²/2) / √m\n"
      "E[φ(q)ᵀφ(k)] = exp(qᵀk / √d_k)");
  const auto omega = on.bench.normal({.id = "performer/omega",
                                      .title = "The random directions",
                                      .formula = "normal(0, 1)",
                                      .axes = {"feature", "d_k"}},
                                     std::array{m, d_k});
  attn::Meter meter;
  Features features = {"performer", {}, {}};
  features.phi_Q = trace.step({.id = "performer/phi_Q",
                               .title = "The features of the queries",
                               .formula = "exp(ωᵀy − |y|²/2) / √m,  y = q / d_k^¼",
                               .from = {"Q", "performer/omega"},
                               .axes = {"query", "feature"}},
                              attn::positive_random_features(on.Q, omega, meter));
  features.phi_K = trace.step({.id = "performer/phi_K",
                               .title = "The features of the keys",
                               .formula = "exp(ωᵀy − |y|²/2) / √m,  y = k / d_k^¼",
                               .from = {"K", "performer/omega"},
                               .axes = {"key", "feature"}},
                              attn::positive_random_features(on.K, omega, meter));
  show_by_summary(on, features, meter, fmt::format("2 · {} tokens · ({} + 1) · d_k + ", n, m));
}


}  // namespace lessons
