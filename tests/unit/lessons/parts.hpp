#pragma once

#include <optional>
#include <string>
#include <utility>

#include "lessons/multihead.hpp"
#include "tests/unit/lessons/page.hpp"

/// What parts of the lessons compute on tensors of a test's own, in the format and with the options of a
/// page, told to nobody. The axes are [batch×query×key] for a single attention and [batch×head×query×key] for
/// several heads.

template <std::size_t N>
struct Attention {
  attn::Tensor<N> scores, scaled;
  std::optional<attn::Tensor<N>> masked;
  attn::Tensor<N> weights, output;
};

template <std::size_t N>
Attention<N> attend(const Page& page, const attn::Tensor<N>& Q, const attn::Tensor<N>& K,
                    const attn::Tensor<N>& V, const std::optional<attn::Mask<3>>& mask = std::nullopt) {
  lessons::PartRun run(page.bench);
  if constexpr (N == 3) {
    run.set("many_heads", 0.0);
    lessons::set_view(run, "Q", {"batch", "query", "d_k"}, Q);
    lessons::set_view(run, "K", {"batch", "key", "d_k"}, K);
    lessons::set_view(run, "V", {"batch", "key", "d_v"}, V);
    run.set_mask(mask);
    for (const auto* part : {"parts/scores.md", "parts/mixture.md"}) run.tell_part(part);
  } else {
    run.set("many_heads", 1.0);
    run.set("Q_heads", lessons::owned_view(Q, {"batch", "head", "query", "d_k"}));
    run.set("K_heads", lessons::owned_view(K, {"batch", "head", "key", "d_k"}));
    run.set("V_heads", lessons::owned_view(V, {"batch", "head", "key", "d_v"}));
    run.set_mask(mask);
    for (const auto* part : {"parts/scores.md", "parts/mixture.md"})
      run.tell_part(part, {"Q = Q_heads", "K = K_heads", "V = V_heads"});
  }
  Attention<N> attention;
  attention.scores = run.take<N>("scores");
  attention.scaled = run.take<N>("scaled");
  if (mask) attention.masked = run.take<N>("masked");
  attention.weights = run.take<N>("weights");
  attention.output = run.take<N>("output");
  return attention;
}

struct MultiHead {
  attn::Tensor<4> K_heads, V_heads, scores, scaled, weights, heads;
  attn::Tensor<3> output;
};

inline MultiHead multihead(const Page& page, const attn::Tensor<3>& X_query, const attn::Tensor<3>& X_key,
                           const lessons::Views& weights, const lessons::Heads& heads,
                           const std::optional<attn::Mask<3>>& mask = std::nullopt) {
  const lessons::Named query = {"X_query", X_query}, key = {"X_key", X_key};
  lessons::PartRun run(page.bench);
  lessons::tell_multihead(run, query, key, weights, heads, mask);
  const auto of_heads = [&](const char* step) { return run.copy_of<double, 4>(step); };
  return {of_heads("K_heads"),
          of_heads("V_heads"),
          of_heads("scores"),
          of_heads("scaled"),
          of_heads("weights"),
          of_heads("heads"),
          run.copy_of<double, 3>("output")};
}
