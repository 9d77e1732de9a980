#include "lessons/complexity/layers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/feature_maps.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"

namespace lessons {

Tensor<2> recurrence(const Tensor<2>& X, const Tensor<2>& W_x, const Tensor<2>& W_h, CostCounter& counter) {
  const std::size_t n = X.shape(0), d = W_x.shape(1);
  if (W_h.shape(0) != d || W_h.shape(1) != d)
    throw attn::shape_mismatch("recurrence", "W_x", W_x, "W_h", W_h,
                               "W_h must be as wide as W_x, and square");
  Tensor<2> states({n, d});
  Tensor<1> h({d}, 0.0);
  const auto held = counter.hold(h.size());
  std::vector<CostCounter::Node> before;  // the operation that gave h, after the first token
  for (std::size_t t = 0; t < n; ++t) {
    h = attn::tanh(attn::add(counter.matmul(attn::row(X, t), W_x), counter.matmul(h, W_h)));
    std::copy(h.begin(), h.end(), &states(t, 0));

    before.push_back(t);
    const auto step = counter.operation(before);
    counter.output(step, t);
    before = {step};
  }
  return states;
}

Tensor<2> convolution(const Tensor<2>& X, const Tensor<3>& W, CostCounter& counter) {
  const std::size_t n = X.shape(0), width = W.shape(0), d = W.shape(2);
  if (X.shape(1) != W.shape(1) || width % 2 == 0)
    throw attn::shape_mismatch("convolution", "X", X, "W", W,
                               "the inner axes must match, and the width be odd");
  const auto window = attn::window_keys(n, width / 2, width / 2);
  Tensor<2> Y({n, d}, 0.0);
  for (std::size_t o = 0; o < width; ++o) {
    const auto W_o = attn::sample(W, o);
    for (std::size_t i = 0; i < n; ++i) {
      if (i + o < width / 2 || i + o - width / 2 >= n) continue;
      const auto product = counter.matmul(attn::row(X, i + o - width / 2), W_o);
      std::transform(product.begin(), product.end(), &Y(i, 0), &Y(i, 0), std::plus<>());
    }
  }
  for (std::size_t i = 0; i < n; ++i) counter.output(counter.operation(window[i]), i);
  return Y;
}

const std::vector<CountedLayer>& counted_layers() {
  static const std::vector<CountedLayer> layers = {
      {.id = "recurrence",
       .title = "Recurrence: one token after the other",
       .formula = "h_t = tanh(x_t W_x + h_{t−1} W_h)",
       .note = "Two products of a vector with a d×d matrix for each token: 2 n d², and no token can begin "
               "before the one before it is done. What the last token knows of the first has been through "
               "every state between them. (An LSTM does four times as much, see the lesson seq2seq.)"},
      {.id = "convolution",
       .title = "Convolution: a window of tokens, mixed with learned weights",
       .formula = "y_i = Σ_o x_{i+o} W_o,  |o| ≤ w",
       .note = "A d×d matrix for every place in the window: n (2w + 1) d². All tokens at once, but only w "
               "positions a layer (the paper also counts dilated convolutions, which need log n layers)."},
      {.id = "projections",
       .title = "What an attention layer computes before and after attention",
       .formula = "X W_Q, X W_K, X W_V and heads W_O",
       .note = "Four d×d matrices for each token: 4 n d². Comparisons, the one in the paper among them, "
               "count attention without it.",
       .connects_tokens = false},
      {.id = "full",
       .title = "Full attention: every pair of tokens",
       .formula = "softmax(Q Kᵀ / √d) V",
       .note = "A dot product and a weighted value for each pair: 2 n² d. Any token reads any other in a "
               "single step."},
      {.id = "local",
       .title = "Local attention: the w neighbours on both sides",
       .formula = "softmax over |i − j| ≤ w",
       .note = "n (2w + 1) pairs, less those beyond the ends. As a convolution, it takes a layer for w "
               "positions."},
      {.id = "sliding",
       .title = "Sliding window: the w tokens before",
       .formula = "softmax over 0 ≤ i − j ≤ w"},
      {.id = "sparse",
       .title = "Sparse attention: the strided pattern",
       .formula = "softmax over |i − j| < block or block | i − j",
       .note = "Each query has about n/block keys of the stride and 2 (block − 1) neighbours, so the share "
               "of the n² pairs is about 1/block + 2 (block − 1)/n. It comes "
               "near 1/block only where n is much larger than block². At most two steps lie between any two "
               "tokens. With a block of √n there are about 3 n √n pairs; Sparse Transformers choose it so."},
      {.id = "linear",
       .title = "Linear attention: keys and values summed up first",
       .formula = "φ(Q) (φ(K)ᵀ V)",
       .note =
           "O(n), as it is often written, leaves out that S is d×d: 2 n d² multiply-adds and n d for the "
           "denominator. So it is ahead of full attention from about n = d on, where recurrence is, too."},
      {.id = "linear/causal",
       .title = "Causal linear attention: the sums as a recurrent state",
       .formula = "S_i = S_{i−1} + φ(k_i) v_iᵀ",
       .note =
           "The same arithmetic; but run as a recurrence it waits for itself n times, as a recurrence does."},
      {.id = "chunked",
       .title = "Chunked attention: some queries at a time",
       .formula = "softmax(Q[chunk] Kᵀ / √d) V",
       .note = "All the work of full attention, with the scores of block × n pairs held at a time. The "
               "chunks do not wait for each other; they only come one by one to save room."},
      {.id = "flash",
       .title = "Flash attention: tiles and a running softmax",
       .formula = "o′ = c o + Σⱼ exp(sⱼ − m′) vⱼ, block by block",
       .note = "The work of full attention and the rescaling, with one tile held at a time, whatever n. A "
               "query takes the blocks of keys in turn, so there are n / block steps; what passes from one "
               "to the next is only rescaled."},
      {.id = "linformer",
       .title = "Linformer: r mixtures of keys",
       .formula = "softmax(Q (E K)ᵀ / √d) (F V)"},
      {.id = "performer",
       .title = "Performer: m random features",
       .formula = "φ(Q) (φ(K)ᵀ V),  φ(x) = exp(ωᵀy − |y|²/2) / √m,  y = x / d^¼",
       .note = "Linear attention with m features in place of d, which have to be computed first."},
      {.id = "gqa",
       .title = "Grouped-query attention: heads that share keys and values",
       .formula = "softmax(Q_i K_gᵀ / √d_k) V_g for each head i of a group g",
       .note = "Heads of d / heads numbers: the multiply-adds of one head of d, but scores for every head. "
               "What it saves is not counted here: the cache of keys and values (see the lesson efficient)."},
  };
  return layers;
}

namespace {

/// What a layer may use for its run.
struct Run {
  const Size& size;
  const Options& options;
  attn::Trace trace;  ///< mute
  attn::Random& random;
  CostCounter& counter;

  template <class... Lengths>
  auto draw(Lengths... lengths) {
    return random.normal<sizeof...(Lengths)>(0.0, 1.0 / std::sqrt(static_cast<double>(size.d)),
                                             {static_cast<std::size_t>(lengths)...});
  }
  Tensor<2> tokens() { return draw(size.n, size.d); }
};

void run_recurrence(Run& run) {
  const auto d = run.size.d;
  recurrence(run.tokens(), run.draw(d, d), run.draw(d, d), run.counter);
}

/// As wide as the window of local attention, and never wider than the sequence.
void run_convolution(Run& run) {
  const auto side = std::min(*run.options.window, run.size.n - 1);
  convolution(run.tokens(), run.draw(2 * side + 1, run.size.d, run.size.d), run.counter);
}

/// A convolution of width 1 is a linear layer.
void run_projections(Run& run) {
  for (int i = 0; i < 4; ++i) convolution(run.tokens(), run.draw(1, run.size.d, run.size.d), run.counter);
}

void run_pairs(Run& run, const KeyLists& keys) {
  sparse_attention(run.trace, {}, run.tokens(), run.tokens(), run.tokens(), keys, run.counter);
}

void run_full(Run& run) {
  run_pairs(run, attn::all_keys(run.size.n, run.size.n));
}

void run_local(Run& run) {
  run_pairs(run, attn::window_keys(run.size.n, *run.options.window, *run.options.window));
}

void run_sliding(Run& run) {
  run_pairs(run, attn::window_keys(run.size.n, *run.options.window, 0));
}

void run_sparse(Run& run) {
  run_pairs(run, attn::keys_of(attn::strided_pattern(run.size.n, *run.options.block)));
}

void run_linear(Run& run) {
  linear_attention(run.trace, "", attn::elu_plus_one(run.tokens()), attn::elu_plus_one(run.tokens()),
                   run.tokens(), run.counter);
}

void run_causal_linear(Run& run) {
  causal_linear_attention(attn::elu_plus_one(run.tokens()), attn::elu_plus_one(run.tokens()), run.tokens(),
                          run.counter);
}

void run_chunked(Run& run) {
  chunked_attention(run.trace, run.tokens(), run.tokens(), run.tokens(),
                    attn::all_keys(run.size.n, run.size.n), *run.options.block, run.counter);
}

void run_flash(Run& run) {
  flash_attention(run.tokens(), run.tokens(), run.tokens(), *run.options.block, false, run.counter);
}

void run_linformer(Run& run) {
  const auto r = *run.options.rank, n = run.size.n;
  linformer_attention(run.trace, run.tokens(), run.tokens(), run.tokens(), run.draw(r, n), run.draw(r, n),
                      run.counter);
}

void run_performer(Run& run) {
  const auto omega = run.draw(run.options.features.value_or(2 * run.size.d), run.size.d);
  linear_attention(run.trace, "", attn::positive_random_features(run.tokens(), omega, run.counter),
                   attn::positive_random_features(run.tokens(), omega, run.counter), run.tokens(),
                   run.counter);
}

void run_gqa(Run& run) {
  const auto h = *run.options.heads, h_kv = *run.options.kv_heads, n = run.size.n, d = run.size.d / h;
  grouped_attention(run.trace, {}, run.draw(1, h, n, d), run.draw(1, h_kv, n, d), run.draw(1, h_kv, n, d),
                    attn::all_keys(n, n), run.counter);
}

const std::map<std::string_view, void (*)(Run&)> runs = {
    {"recurrence", run_recurrence},
    {"convolution", run_convolution},
    {"projections", run_projections},
    {"full", run_full},
    {"local", run_local},
    {"sliding", run_sliding},
    {"sparse", run_sparse},
    {"linear", run_linear},
    {"linear/causal", run_causal_linear},
    {"chunked", run_chunked},
    {"flash", run_flash},
    {"linformer", run_linformer},
    {"performer", run_performer},
    {"gqa", run_gqa},
};

}  // namespace

const LayerCost& LayerCosts::of(std::string_view layer, const Size& size) {
  const auto key = std::tuple(std::string(layer), size.n, size.d);
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, run(layer, size)).first->second;
}

std::optional<std::size_t> LayerCosts::crossing(std::string_view layer, std::size_t d, std::size_t longest) {
  const auto takes_less = [&](std::size_t n) {
    return multiply_adds(layer, {n, d}) < multiply_adds("full", {n, d});
  };
  if (!takes_less(longest)) return std::nullopt;
  std::size_t low = 0, high = 1;  // in the end the layer takes less at high, and not at low
  while (!takes_less(high)) {
    low = high;
    high = std::min(2 * high, longest);
  }
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (takes_less(middle) ? high : low) = middle;
  }
  return high;
}

LayerCost LayerCosts::run(std::string_view layer, const Size& size) {
  attn::DependencyGraph graph(size.n);
  CostCounter counter(bench_.trace.dtype(), &graph);
  Run run{size, bench_.options, bench_.trace.mute(), bench_.random(std::string(layer)), counter};
  runs.at(layer)(run);
  return {counter.cost(), graph.sequential_steps(), graph.path_length(0, size.n - 1).value_or(0)};
}

}  // namespace lessons
