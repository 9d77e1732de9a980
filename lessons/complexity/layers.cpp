#include "lessons/complexity/layers.hpp"

#include <algorithm>
#include <cmath>
#include <xtensor/xmath.hpp>

#include "attn/ops/cost_counter.hpp"
#include "attn/ops/slice.hpp"

namespace lessons {

Tensor<2> recurrence(const Tensor<2>& X, const Tensor<2>& W_x, const Tensor<2>& W_h, CostCounter& counter) {
  const std::size_t n = X.shape(0), d = W_x.shape(1);
  Tensor<2> states({n, d});
  Tensor<1> h({d}, 0.0);
  const auto held = counter.hold(h.size());
  std::vector<CostCounter::Node> before;  // the operation that gave h, after the first token
  for (std::size_t t = 0; t < n; ++t) {
    h = xt::tanh(counter.matmul(attn::row(X, t), W_x) + counter.matmul(h, W_h));
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

namespace {

/// What a layer may use for its run.
struct Run {
  const Size& size;
  const Options& options;
  attn::Random& random;
  CostCounter& counter;

  template <class... Lengths>
  auto draw(Lengths... lengths) {
    return random.normal<sizeof...(Lengths)>(0.0, 1.0 / std::sqrt(static_cast<double>(size.d)),
                                             {static_cast<std::size_t>(lengths)...});
  }
  Tensor<2> tokens() { return draw(size.n, size.d); }
  Tensor<2> features() { return attn::elu_plus_one(tokens()); }

  void attend_to(const KeyLists& keys) { sparse_attention(tokens(), tokens(), tokens(), keys, counter); }
};

/// As wide as the window of local attention, and never wider than the sequence.
void run_convolution(Run& run) {
  const auto side = std::min(*run.options.window, run.size.n - 1);
  convolution(run.tokens(), run.draw(2 * side + 1, run.size.d, run.size.d), run.counter);
}

/// A convolution of width 1 is a linear layer.
void run_projections(Run& run) {
  for (int i = 0; i < 4; ++i) convolution(run.tokens(), run.draw(1, run.size.d, run.size.d), run.counter);
}

void run_performer(Run& run) {
  const auto omega = run.draw(run.options.features.value_or(2 * run.size.d), run.size.d);
  const auto features = [&] { return attn::positive_random_features(run.tokens(), omega, run.counter); };
  linear_attention(features(), features(), run.tokens(), run.counter);
}

void run_gqa(Run& run) {
  const auto h = *run.options.heads, h_kv = *run.options.kv_heads, n = run.size.n, d = run.size.d / h;
  grouped_attention(run.draw(1, h, n, d), run.draw(1, h_kv, n, d), run.draw(1, h_kv, n, d),
                    attn::all_keys(n, n), run.counter);
}

struct Layer {
  std::string_view id;
  void (*run)(Run& run);
};

const std::vector<Layer> layers = {
    {"recurrence",
     [](Run& r) {
       recurrence(r.tokens(), r.draw(r.size.d, r.size.d), r.draw(r.size.d, r.size.d), r.counter);
     }},
    {"convolution", run_convolution},
    {"projections", run_projections},
    {"full", [](Run& r) { r.attend_to(attn::all_keys(r.size.n, r.size.n)); }},
    {"local", [](Run& r) { r.attend_to(attn::window_keys(r.size.n, *r.options.window, *r.options.window)); }},
    {"sliding", [](Run& r) { r.attend_to(attn::window_keys(r.size.n, *r.options.window, 0)); }},
    {"sparse", [](Run& r) { r.attend_to(attn::keys_of(attn::strided_pattern(r.size.n, *r.options.block))); }},
    {"linear", [](Run& r) { linear_attention(r.features(), r.features(), r.tokens(), r.counter); }},
    {"linear/causal",
     [](Run& r) { causal_linear_attention(r.features(), r.features(), r.tokens(), r.counter); }},
    {"chunked",
     [](Run& r) {
       chunked_attention(r.tokens(), r.tokens(), r.tokens(), attn::all_keys(r.size.n, r.size.n),
                         *r.options.block, r.counter);
     }},
    {"flash",
     [](Run& r) { flash_attention(r.tokens(), r.tokens(), r.tokens(), *r.options.block, false, r.counter); }},
    {"linformer",
     [](Run& r) {
       linformer_attention(r.tokens(), r.tokens(), r.tokens(), r.draw(*r.options.rank, r.size.n),
                           r.draw(*r.options.rank, r.size.n), r.counter);
     }},
    {"performer", run_performer},
    {"gqa", run_gqa},
};

}  // namespace

const std::vector<std::string_view>& counted_layers() {
  static const auto ids = [] {
    std::vector<std::string_view> all;
    for (const auto& layer : layers) all.push_back(layer.id);
    return all;
  }();
  return ids;
}

const LayerCost& LayerCosts::of(std::string_view layer, const Size& size) {
  const auto key = std::tuple(std::string(layer), size.n, size.d);
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, run(layer, size)).first->second;
}

LayerCost LayerCosts::run(std::string_view layer, const Size& size) {
  attn::DependencyGraph graph(size.n);
  CostCounter counter(bench_.trace.dtype(), &graph);
  Run run{size, bench_.options, bench_.random(std::string(layer)), counter};
  const auto found =
      std::find_if(layers.begin(), layers.end(), [&](const auto& one) { return one.id == layer; });
  found->run(run);
  return {counter.cost(), graph.sequential_steps(), graph.path_length(0, size.n - 1).value_or(0)};
}

}  // namespace lessons
