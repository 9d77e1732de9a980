#include "lessons/shared/attention_inputs.hpp"

namespace lessons {

const attn::TokenBatch& query_tokens(const Plan& plan) {
  return plan.sentence.size() > 0 ? plan.sentence : plan.target;
}

const attn::TokenBatch& key_tokens(const Plan& plan) {
  return plan.sentence.size() > 0 ? plan.sentence : plan.source;
}

attn::AttentionInputs show_attention_inputs(Workbench& bench) {
  const auto& queries = query_tokens(bench.plan);
  const auto& keys = key_tokens(bench.plan);
  const auto batch = keys.size(), n_q = queries.length(), n_k = keys.length();
  bench.label({"query"}, queries);
  bench.label({"key"}, keys);

  bench.show_lengths(keys);
  attn::AttentionInputs in;
  in.Q = bench.normal({.id = "Q",
                       .title = "What each query asks for",
                       .axes = {"query", "d_k"},
                       .note = "One row a query. Its length d_k must be that of the keys."},
                      std::array{batch, n_q, bench.d_k()});
  in.K = bench.normal({.id = "K",
                       .title = "What each entry can be found by",
                       .axes = {"key", "d_k"},
                       .note = "One row a key."},
                      std::array{batch, n_k, bench.d_k()});
  in.V = bench.normal({.id = "V",
                       .title = "What each entry has to give",
                       .axes = {"key", "d_v"},
                       .note = "One row a key: the value that belongs to it. Its length d_v is free."},
                      std::array{batch, n_k, bench.d_v()});
  in.mask = bench.mask(queries, keys);
  return in;
}

double attention_element_count(const Plan& plan) {
  const auto& keys = key_tokens(plan);
  const auto batch = static_cast<double>(keys.size());
  const auto n_q = static_cast<double>(query_tokens(plan).length()), n_k = static_cast<double>(keys.length());
  const auto d_k = static_cast<double>(*plan.options.d_k), d_v = static_cast<double>(*plan.options.d_v);
  return batch * (n_q * (d_k + d_v) + n_k * (d_k + d_v) + 4 * n_q * n_k);
}


}  // namespace lessons
