/// How much each layer computes, holds and waits as the sequence grows. The lesson is the document
/// complexity.md, whose formulas are held against what is counted here while the layers run.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <xtensor/xmath.hpp>

#include "attn/ops/cost_counter.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/efficient.hpp"

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

/// How long the sequence is and how many numbers a token has.
struct Size {
  std::size_t n, d;
};

/// What a layer took on one sequence: multiply-adds, bytes of scores, sequential steps, and the path between
/// the first token and the last, 0 where nothing connects them.
using LayerCost = std::array<std::int64_t, 4>;

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

/// Runs layers on random numbers, under a mute trace, and remembers what was counted. The attention layers
/// are those of the lesson `efficient`; options are those of the lesson `complexity`.
class LayerCosts {
 public:
  explicit LayerCosts(Workbench& bench) : bench_(bench) {}

  const LayerCost& of(std::string_view id, const Size& size) {
    const auto [found, is_new] = known_.try_emplace({std::string(id), size.n, size.d});
    if (!is_new) return found->second;
    attn::DependencyGraph graph(size.n);
    CostCounter counter(bench_.trace.dtype(), &graph);
    Run run{size, bench_.options, bench_.random(std::string(id)), counter};
    std::find_if(layers.begin(), layers.end(), [&](const auto& layer) { return layer.id == id; })->run(run);
    return found->second = {counter.cost().multiply_adds, counter.cost().score_bytes,
                            graph.sequential_steps(), graph.path_length(0, size.n - 1).value_or(0)};
  }

  /// Whether it takes fewer multiply-adds than full attention.
  bool takes_less(std::string_view layer, const Size& size) {
    return of(layer, size)[0] < of("full", size)[0];
  }

 private:
  Workbench& bench_;
  std::map<std::tuple<std::string, std::size_t, std::size_t>, LayerCost> known_;
};

std::vector<std::string> counted_layers() {
  std::vector<std::string> ids;
  for (const auto& layer : layers) ids.emplace_back(layer.id);
  return ids;
}

std::size_t longest_of(const Options& options) {
  return *std::max_element(options.lengths.begin(), options.lengths.end());
}

/// Half of the last length, which is counted anyway, or all of it where half has no whole block.
std::size_t length_to_double(const Options& options) {
  constexpr std::size_t long_length = 256;
  const auto last = options.lengths.back();
  const bool has_half = last % 2 == 0 && *options.block <= last / 2;
  return has_half || last > long_length ? last / 2 : last;
}

/// What these layers took on sequences of these sizes: [quantity×layer×size].
formula::View counts_of(LayerCosts& costs, const std::vector<std::string>& layers,
                        const std::vector<Size>& sizes) {
  formula::Numbers counts(attn::Shape{std::tuple_size_v<LayerCost>, layers.size(), sizes.size()}, 0.0);
  for (std::size_t k = 0; k < layers.size(); ++k)
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto& cost = costs.of(layers[k], sizes[i]);
      for (std::size_t j = 0; j < cost.size(); ++j) counts(j, k, i) = static_cast<double>(cost[j]);
    }
  return owned_view(std::move(counts));
}

/// For each layer the n from which on full attention takes more multiply-adds, as the formulas have it:
/// [layer]. 0 where that is not so from there on, or where they have none.
formula::View counted_crossings(LayerCosts& costs, const DocumentRun& run) {
  const auto layers = counted_layers();
  formula::Numbers places(attn::Shape{layers.size()}, 0.0);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto* first = run.sheet().find(layers[k] + "/first");
    if (first == nullptr || !first->shape.empty() || !std::isfinite(first->at({}))) continue;
    const auto n = static_cast<std::size_t>(first->at({}));
    const bool begins_there = n < 2 || !costs.takes_less(layers[k], {n - 1, run.bench().d_model()});
    if (costs.takes_less(layers[k], {n, run.bench().d_model()}) && begins_there)
      places(k) = static_cast<double>(n);
  }
  return owned_view(std::move(places));
}

/// The options as the document's formulas call them, and which layers full attention overtakes.
void set_names(DocumentRun& run, const Options& options, LayerCosts& costs) {
  run.set("longest", static_cast<double>(longest_of(options)));
  run.set("doubled", static_cast<double>(length_to_double(options)));
  const auto layers = counted_layers();
  for (const auto& layer : layers)
    run.set(layer + "/crosses", costs.takes_less(layer, {longest_of(options), run.bench().d_model()}));
  run.axis("all/layer", layers.size());
  run.bench().trace.label("all/layer", {{layers}});
}

void prepare_complexity(DocumentRun& run, Functions& functions) {
  const auto& options = run.bench().options;
  const auto costs = std::make_shared<LayerCosts>(run.bench());
  const auto d = run.bench().d_model(), first = options.lengths.front(), half = length_to_double(options);
  std::vector<Size> sizes;
  for (const auto n : options.lengths) sizes.push_back({n, d});
  functions.tensors["counted_crossings"] = [=](DocumentRun& now) { return counted_crossings(*costs, now); };
  const auto count = [&](const char* name, const std::vector<std::string>& of, const std::vector<Size>& on) {
    functions.tensors[name] = [=](DocumentRun&) { return counts_of(*costs, of, on); };
  };
  count("counted", counted_layers(), sizes);
  count("counted_by_d", counted_layers(), {{first, d}, {first, 2 * d}, {first, 4 * d}});
  count("counted_longer", {"recurrence", "full", "linear", "flash"}, {{half, d}, {2 * half, d}});
  count("counted_wider", {"recurrence", "full"}, {{half, d}, {half, 2 * d}});
  set_names(run, options, *costs);
}

}  // namespace

const LessonCode complexity_code = {.prepare = prepare_complexity};

}  // namespace lessons
