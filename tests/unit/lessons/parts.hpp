#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lessons/documents/document_run.hpp"
#include "lessons/multihead.hpp"
#include "tests/unit/lessons/page.hpp"

/// What parts of the lessons compute on tensors of a test's own, in the format and with the options of a
/// page, told to nobody. The axes are [batch×query×key] for a single attention and [batch×head×query×key] for
/// several heads.

/// Tensors by their names.
using Views = std::map<std::string, formula::View>;

/// Token vectors [batch×n×d_model] and their id in the run.
struct Named {
  std::string id;
  attn::Tensor<3> tensor;
};

/// How many heads ask, and how many answer, each read by query / key_value of them.
struct Heads {
  std::size_t query, key_value;
};

/// Tensors of the test's that formulas of parts may speak of; it keeps them alive.
template <std::size_t N>
void set_view(lessons::DocumentRun& run, const std::string& name, formula::Axes axes,
              const attn::Tensor<N>& tensor) {
  run.set(name, formula::view_of(std::move(axes), attn::view_of(tensor)));
}

/// Those of `views` under these names, with these axes; one that is not there is 0.
inline void set_views(lessons::DocumentRun& run, const std::string& prefix, const Views& views,
                      const std::map<std::string, formula::Axes>& axes) {
  for (const auto& [name, of_name] : axes) {
    const auto found = views.find(prefix + name);
    if (found == views.end()) {
      run.set(prefix + name, 0.0);
      continue;
    }
    auto view = found->second;
    view.axes = of_name;
    run.set(prefix + name, std::move(view));
  }
}

/// Two texts, or one that stands on both sides.
inline void set_tokens(lessons::DocumentRun& run, const Named& X_query, const Named& X_key) {
  const bool is_one = X_query.id == X_key.id;
  set_view(run, X_query.id, {"batch", is_one ? "token" : "query", "d_model"}, X_query.tensor);
  if (!is_one) set_view(run, X_key.id, {"batch", "key", "d_model"}, X_key.tensor);
  run.axis("query", X_query.tensor.shape(1));
  run.axis("key", X_key.tensor.shape(1));
}

/// A mask [batch×query×key] as `mask` in the group `prefix`, which the test keeps alive, and whether there is
/// one.
inline void set_mask(lessons::DocumentRun& run, const std::optional<attn::Mask<3>>& mask,
                     const std::string& prefix = "") {
  run.set(prefix + "has_mask", mask.has_value());
  if (mask) run.set(prefix + "mask", formula::view_of({"batch", "query", "key"}, attn::view_of(*mask)));
}

/// The weights `prefix`W_Q, … for the part attention_in_heads.md.
inline void set_multihead_weights(lessons::DocumentRun& run, const std::string& prefix, const Views& weights,
                                  const Heads& heads) {
  std::map<std::string, formula::Axes> axes;
  for (auto [name, of_name] : lessons::multihead_weights()) {
    for (auto& axis : of_name)  // where each query head has keys of its own, their axis is called `head`, too
      if (axis.starts_with("kv_head") && heads.key_value == heads.query)
        axis = axis.substr(axis.find("head"));
    axes.emplace(name, std::move(of_name));
  }
  run.set("many_heads", 1.0);
  run.axis("head", heads.query);
  run.axis("kv_head", heads.key_value);
  run.axis("d_k", weights.at(prefix + "W_Q").shape.at(1) / heads.query);
  run.axis("d_v", weights.at(prefix + "W_O").shape.at(0) / heads.query);
  run.set(prefix + "rotary", 0.0);
  set_views(run, prefix, weights, axes);
}

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
    set_view(run, "Q", {"batch", "query", "d_k"}, Q);
    set_view(run, "K", {"batch", "key", "d_k"}, K);
    set_view(run, "V", {"batch", "key", "d_v"}, V);
    set_mask(run, mask);
    for (const auto* part : {"parts/scores.md", "parts/mixture.md"}) run.tell_part(part);
  } else {
    run.set("many_heads", 1.0);
    run.set("Q_heads", lessons::owned_view(Q, {"batch", "head", "query", "d_k"}));
    run.set("K_heads", lessons::owned_view(K, {"batch", "head", "key", "d_k"}));
    run.set("V_heads", lessons::owned_view(V, {"batch", "head", "key", "d_v"}));
    set_mask(run, mask);
    for (const auto* part : {"parts/scores.md", "parts/mixture.md"})
      run.tell_part(part, {"Q = Q_heads", "K = K_heads", "V = V_heads"});
  }
  Attention<N> attention;
  attention.scores = run.copy_of<double, N>("scores");
  attention.scaled = run.copy_of<double, N>("scaled");
  if (mask) attention.masked = run.copy_of<double, N>("masked");
  attention.weights = run.copy_of<double, N>("weights");
  attention.output = run.copy_of<double, N>("output");
  return attention;
}

struct MultiHead {
  attn::Tensor<4> K_heads, V_heads, scores, scaled, weights, heads;
  attn::Tensor<3> output;
};

inline MultiHead multihead(const Page& page, const attn::Tensor<3>& X_query, const attn::Tensor<3>& X_key,
                           const Views& weights, const Heads& heads,
                           const std::optional<attn::Mask<3>>& mask = std::nullopt) {
  const Named query = {"X_query", X_query}, key = {"X_key", X_key};
  lessons::PartRun run(page.bench);
  set_tokens(run, query, key);
  set_multihead_weights(run, "", weights, heads);
  set_mask(run, mask);
  run.tell_part("parts/attention_in_heads.md", {"X_query = X_query", "X_key = X_key"});
  const auto of_heads = [&](const char* step) { return run.copy_of<double, 4>(step); };
  return {of_heads("K_heads"),
          of_heads("V_heads"),
          of_heads("scores"),
          of_heads("scaled"),
          of_heads("weights"),
          of_heads("heads"),
          run.copy_of<double, 3>("output")};
}
