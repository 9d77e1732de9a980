/// Scaled dot-product attention on its own: no words, no weight matrices, only Q, K and V.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1, equation 1.

#include "lessons/attention_steps.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

/// One sentence gives both queries and keys, or the target gives the queries and the source the keys.
const attn::TokenBatch& queries(const Plan& plan) {
  return plan.sentence.size() > 0 ? plan.sentence : plan.target;
}

const attn::TokenBatch& keys(const Plan& plan) {
  return plan.sentence.size() > 0 ? plan.sentence : plan.source;
}

template <class T>
void run(Workbench<T>& bench) {
  const auto& query_tokens = queries(bench.plan);
  const auto& key_tokens = keys(bench.plan);
  const auto batch = key_tokens.size(), n_q = query_tokens.length(), n_k = key_tokens.length();
  auto& trace = bench.trace;
  bench.label({"query"}, query_tokens);
  bench.label({"key"}, key_tokens);

  trace.note(
      "idea", "The idea",
      "A query is compared with every key; the better they match, the more of that key's value goes into the "
      "answer. It is a dictionary that never fails: where an ordinary one returns the value of the one key "
      "that is equal, this one returns a mixture of all values, weighted by how well their keys match. The "
      "numbers below are drawn at random, so only the mechanism means something, not what is looked at.",
      "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V");

  bench.show_lengths(key_tokens);
  const auto Q = bench.normal({.id = "Q",
                               .title = "What each query asks for",
                               .axes = {"query", "d_k"},
                               .note = "One row a query. Its length d_k must be that of the keys."},
                              std::array{batch, n_q, bench.d_k()});
  const auto K = bench.normal({.id = "K",
                               .title = "What each entry can be found by",
                               .axes = {"key", "d_k"},
                               .note = "One row a key."},
                              std::array{batch, n_k, bench.d_k()});
  const auto V =
      bench.normal({.id = "V",
                    .title = "What each entry has to give",
                    .axes = {"key", "d_v"},
                    .note = "One row a key: the value that belongs to it. Its length d_v is free."},
                   std::array{batch, n_k, bench.d_v()});
  const auto mask = bench.mask(query_tokens, key_tokens);

  const auto shown = show_attention(bench, Q, K, V, mask);

  claim_attention(bench, shown.attention, Q, K, V, mask);
}

double element_count(const Plan& plan) {
  const auto& key_tokens = keys(plan);
  const auto batch = static_cast<double>(key_tokens.size());
  const auto n_q = static_cast<double>(queries(plan).length()),
             n_k = static_cast<double>(key_tokens.length());
  const auto d_k = static_cast<double>(*plan.options.d_k), d_v = static_cast<double>(*plan.options.d_v);
  return batch * (n_q * (d_k + d_v) + n_k * (d_k + d_v) + 4 * n_q * n_k);
}

}  // namespace

extern const Lesson sdpa;
const Lesson sdpa = {
    .name = "sdpa",
    .title = "scaled dot-product attention: queries, keys, values",
    .teaches =
        "The formula that all the other lessons contain, on nothing but three matrices: match queries with "
        "keys, scale, mask, turn the scores into shares, average the values. The tokens are labels only.",
    .options = {"sentence", "source", "target", "d-k", "d-v", "causal", "window", "dropout", "temperature",
                "seed", "dtype"},
    .defaults = {.sentence = {"The cat sat on the mat"}, .d_k = 8, .d_v = 8},
    .examples = {"sdpa --sentence \"The cat sat\" --d-k 4 --d-v 3",
                 "sdpa --source \"one two three four\" --target \"five six\" --causal"},
    .element_count = element_count,
    .run_float64 = run<double>,
    .run_float32 = run<float>,
};

}  // namespace lessons
