#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "fast/bench/benchmark.hpp"
#include "fast/exact/heads.hpp"
#include "fast/gemm.hpp"
#include "fast/linear/kernels.hpp"

namespace attn::bench {

namespace {

/// The keys that a query reads, in rising order.
std::vector<fast::Range> ranges_of(const Task& task, std::size_t query) {
  const auto visible = fast::visible_keys(task.setting.sizes(), task.setting.visible(), 0, query);
  if (!task.pattern) return {visible};
  return key_ranges(*task.pattern, query / task.pattern->block, visible);
}

}  // namespace

std::string_view name_of(Pass pass) {
  return pass == Pass::forward ? "forward" : "backward";
}

std::string_view name_of(Scores scores) {
  return scores == Scores::normal ? "normal" : "rising";
}

fast::Sizes Setting::sizes() const {
  return {.samples = 1, .heads = heads, .kv_heads = kv_heads, .n_q = n, .n_k = n, .d_k = d_k, .d_v = d_v};
}

fast::Visibility Setting::visible() const {
  return {.causal = causal, .window = window};
}

Setting Setting::unmasked() const {
  Setting setting = *this;
  setting.causal = false;
  setting.window.reset();
  return setting;
}

double softmax_operations(const Setting& setting, Pass pass, double pairs) {
  const auto d_k = static_cast<double>(setting.d_k), d_v = static_cast<double>(setting.d_v);
  const double products = pass == Pass::forward ? d_k + d_v : 3.0 * d_k + 2.0 * d_v;
  return 2.0 * products * pairs * static_cast<double>(setting.heads);
}

Task Task::full() const {
  Task task{.setting = setting};
  task.setting.window.reset();
  return task;
}

std::vector<std::size_t> Task::keys_of(std::size_t query) const {
  std::vector<std::size_t> keys;
  for (const auto& range : ranges_of(*this, query))
    for (std::size_t key = range.begin; key < range.end; ++key) keys.push_back(key);
  return keys;
}

double Task::pairs() const {
  std::size_t pairs = 0;
  for (std::size_t query = 0; query < setting.n; ++query)
    for (const auto& range : ranges_of(*this, query)) pairs += range.size();
  return static_cast<double>(pairs);
}

double Task::operations(Pass pass) const {
  if (formula == Formula::linear) return linear_time::operations(setting.sizes());
  return softmax_operations(setting, pass, pairs());
}

namespace {

constexpr double rise_per_key = 0.1;

/// For the check of all queries: a fraction of a second of plain loops.
constexpr double most_multiply_adds = 5e7;
constexpr std::size_t fewest_queries = 3;

using Shape4 = std::array<std::size_t, 4>;

/// Of mean 0 and variance 1: the sum of four uniform numbers, made of 64 random bits.
double nearly_normal(std::uint64_t bits) {
  const auto sum =
      static_cast<double>((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48));
  return (sum / 65535.0 - 2.0) * std::sqrt(3.0);
}

/// Scatters the bits of a number: Steele et al. 2014, "SplitMix".
std::uint64_t scatter(std::uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
  return bits ^ bits >> 31;
}

template <class T>
Array<T, 4> draw_rows(std::uint64_t tensor, std::size_t heads, const std::vector<std::size_t>& positions,
                      std::size_t width) {
  Array<T, 4> rows(Shape4{1, heads, positions.size(), width});
  T* number = rows.data();
  for (std::uint64_t head = 0; head < heads; ++head)
    for (const auto position : positions) {
      const std::uint64_t seed = scatter(scatter(scatter(tensor) + head) + position);
      for (std::size_t c = 0; c < width; ++c)
        *number++ = static_cast<T>(nearly_normal(scatter(seed + c + 1)));
    }
  return rows;
}

}  // namespace

template <class T>
Operands<T> draw_inputs(const Setting& setting, const std::vector<std::size_t>& positions) {
  Operands<T> inputs = {.query = draw_rows<T>(0, setting.heads, positions, setting.d_k),
                        .key = draw_rows<T>(1, setting.kv_heads, positions, setting.d_k),
                        .value = draw_rows<T>(2, setting.kv_heads, positions, setting.d_v)};
  if (setting.backward) inputs.d_output = draw_rows<T>(3, setting.heads, positions, setting.d_v);
  return inputs;
}

template <class T>
void add_results(Operands<T>& operands, const Setting& setting) {
  const auto zeros = [&](std::size_t heads, std::size_t width) {
    return Array<T, 4>(Shape4{1, heads, setting.n, width}, T{0});
  };
  operands.output = zeros(setting.heads, setting.d_v);
  operands.log_sum_exp = Array<T, 3>({1, setting.heads, setting.n}, T{0});
  if (!setting.backward) return;
  operands.d_query = zeros(setting.heads, setting.d_k);
  operands.d_key = zeros(setting.kv_heads, setting.d_k);
  operands.d_value = zeros(setting.kv_heads, setting.d_v);
}

template <class T>
exact::Call<T> exact_call(Operands<T>& operands, const Setting& setting) {
  return {.sizes = setting.sizes(),
          .visible = setting.visible(),
          .scale = static_cast<T>(1.0 / std::sqrt(static_cast<double>(setting.d_k))),
          .query = operands.query.data(),
          .key = operands.key.data(),
          .value = operands.value.data(),
          .output = operands.output.data(),
          .log_sum_exp = operands.log_sum_exp.data(),
          .threads = setting.threads,
          .d_output = operands.d_output.data(),
          .d_query = operands.d_query.data(),
          .d_key = operands.d_key.data(),
          .d_value = operands.d_value.data()};
}

template <class T>
Operands<T> draw_operands(const Setting& setting) {
  std::vector<std::size_t> positions(setting.n);
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  auto operands = draw_inputs<T>(setting, positions);
  if (setting.scores == Scores::rising) {  // divided by √d_k, the first components add 0.1 · j to score j
    xt::view(operands.query, xt::all(), xt::all(), xt::all(), 0) = std::sqrt(static_cast<T>(setting.d_k));
    xt::view(operands.key, xt::all(), xt::all(), xt::all(), 0) =
        xt::cast<T>(rise_per_key * xt::arange<double>(static_cast<double>(setting.n)));
  }
  if (setting.backward) {
    const auto checked = checked_queries(setting);
    operands.d_output.fill(T{0});
    xt::view(operands.d_output, xt::all(), xt::all(), xt::keep(checked), xt::all()) =
        draw_rows<T>(3, setting.heads, checked, setting.d_v);
  }
  add_results(operands, setting);
  return operands;
}

double operand_bytes(const Setting& setting, std::size_t element_size) {
  const double passes = setting.backward ? 2.0 : 1.0;
  const auto d_k = static_cast<double>(setting.d_k), d_v = static_cast<double>(setting.d_v);
  const double a_head = passes * (d_k + d_v) + 1.0, a_kv_head = passes * (d_k + d_v);
  const double a_token =
      static_cast<double>(setting.heads) * a_head + static_cast<double>(setting.kv_heads) * a_kv_head;
  return static_cast<double>(setting.n) * a_token * static_cast<double>(element_size);
}

std::vector<std::size_t> checked_queries(const Setting& setting) {
  const double for_each =
      static_cast<double>(setting.n) * static_cast<double>(setting.heads * (setting.d_k + setting.d_v));
  const auto affordable = static_cast<std::size_t>(most_multiply_adds / for_each);
  const std::size_t count = std::min(setting.n, std::max(fewest_queries, affordable));
  std::vector<std::size_t> queries;
  for (std::size_t i = 0; i < count; ++i)
    queries.push_back(count == 1 ? 0 : i * (setting.n - 1) / (count - 1));
  return queries;
}

#define INSTANTIATE(T)                                                               \
  template Operands<T> draw_inputs(const Setting&, const std::vector<std::size_t>&); \
  template void add_results(Operands<T>&, const Setting&);                           \
  template exact::Call<T> exact_call(Operands<T>&, const Setting&);                  \
  template Operands<T> draw_operands(const Setting&);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

namespace {

using fast::Matrix;

template <class T>
class XtensorAttention {
 public:
  XtensorAttention(Operands<T>& operands, const Setting& setting)
      : operands_(operands),
        setting_(setting),
        shape_{setting.heads, setting.n, setting.n},
        divisor_(std::sqrt(static_cast<T>(setting.d_k))) {}

  void forward() {
    scores_ = Array<T, 3>(shape_);
    for (std::size_t head = 0; head < setting_.heads; ++head)
      fast::multiply(T{1}, of(operands_.query, head), transposed(of(operands_.key, head)), to(scores_, head));
    scaled_ = scores_ / divisor_;
    if (setting_.hides_keys()) masked_ = masked();
    weights_ = setting_.hides_keys() ? masked_ : scaled_;
    for (std::size_t row = 0; row < setting_.heads * setting_.n; ++row)
      exact::softmax(weights_.data() + row * setting_.n, setting_.n);
    for (std::size_t head = 0; head < setting_.heads; ++head)
      fast::multiply(T{1}, of(weights_, head), of(operands_.value, head), to(operands_.output, head));
  }

  void backward() {
    operands_.d_key.fill(T{0});
    operands_.d_value.fill(T{0});
    Array<T, 3> d_weights(shape_);
    for (std::size_t head = 0; head < setting_.heads; ++head) {
      fast::add_product(transposed(of(weights_, head)), of(operands_.d_output, head),
                        to(operands_.d_value, head));
      fast::multiply(T{1}, of(operands_.d_output, head), transposed(of(operands_.value, head)),
                     to(d_weights, head));
    }
    const Array<T, 2> means = xt::sum(weights_ * d_weights, {2});
    const Array<T, 3> d_scaled =
        weights_ * (d_weights - xt::view(means, xt::all(), xt::all(), xt::newaxis()));
    const Array<T, 3> d_scores = d_scaled / divisor_;
    for (std::size_t head = 0; head < setting_.heads; ++head) {
      fast::multiply(T{1}, of(d_scores, head), of(operands_.key, head), to(operands_.d_query, head));
      fast::add_product(transposed(of(d_scores, head)), of(operands_.query, head), to(operands_.d_key, head));
    }
  }

 private:
  /// What a query head reads: its own part of [batch×head×row×column] or [head×row×column], or a shared one.
  template <std::size_t N>
  Matrix<T> of(const Array<T, N>& tensor, std::size_t head) const {
    const std::size_t rows = tensor.shape(N - 2), columns = tensor.shape(N - 1);
    const std::size_t index = head * tensor.shape(N - 3) / setting_.heads;
    return {tensor.data() + index * rows * columns, rows, columns};
  }

  template <std::size_t N>
  T* to(Array<T, N>& tensor, std::size_t head) const {
    return tensor.data() + (of(tensor, head).data - tensor.data());
  }

  /// The scaled scores, −∞ where a key is hidden.
  Array<T, 3> masked() const {
    auto scores = scaled_;
    for (std::size_t query = 0; query < setting_.n; ++query) {
      const auto seen = fast::visible_keys(setting_.sizes(), setting_.visible(), 0, query);
      for (std::size_t head = 0; head < setting_.heads; ++head) {
        T* const row = scores.data() + (head * setting_.n + query) * setting_.n;
        std::fill(row, row + seen.begin, -std::numeric_limits<T>::infinity());
        std::fill(row + seen.end, row + setting_.n, -std::numeric_limits<T>::infinity());
      }
    }
    return scores;
  }

  Operands<T>& operands_;
  Setting setting_;
  std::array<std::size_t, 3> shape_;
  T divisor_;
  Array<T, 3> scores_, scaled_, masked_, weights_;  ///< all that attention is made of, [head×query×key]
};

/// Strides of √n blocks, which keep about n √n pairs (Child et al. 2019).
fast::BlockPattern pattern_of(const Setting& setting) {
  constexpr std::size_t block = 64, local = 2;
  const double blocks = std::ceil(static_cast<double>(setting.n) / block);
  const auto stride = static_cast<std::size_t>(std::lround(std::sqrt(blocks)));
  return fast::strided_blocks(setting.n, setting.n, block, local, stride);
}

template <class T>
Passes prepared(const Kernel<T>& kernel, Operands<T>& operands, const Setting& setting) {
  const auto task = std::make_shared<const Task>(kernel.task(setting));
  Passes passes;
  if (kernel.computes == nullptr) {
    const auto attention = std::make_shared<XtensorAttention<T>>(operands, task->setting);
    passes.forward = [attention] { attention->forward(); };
    if (setting.backward) passes.backward = [attention] { attention->backward(); };
    return passes;
  }
  auto call = exact_call(operands, task->setting);
  if (task->pattern) call.pattern = &*task->pattern;
  const auto forward = kernel.computes->forward, backward = kernel.computes->backward;
  passes.forward = [task, call, forward] { forward(call); };
  if (setting.backward && backward && !task->pattern) passes.backward = [call, backward] { backward(call); };
  return passes;
}

}  // namespace

template <class T>
Task Kernel<T>::task(const Setting& setting) const {
  Task task{.setting = setting};
  if (sees_all_keys) task.setting = setting.unmasked();
  if (variant == "linear") task.formula = Task::Formula::linear;
  if (variant == "sparse") task.pattern = pattern_of(setting);
  return task;
}

template <class T>
std::string Kernel<T>::unsupported(const Setting& setting) const {
  if (variant == "linear" && setting.window && !sees_all_keys) return "takes no window";
  if (computes != nullptr && !computes->fits(setting.sizes()))
    return "takes " + std::string(computes->limits);
  return "";
}

/// The whole tensors are scores, scaled, masked, weights and as many gradients. Kernel 2 holds the scores of
/// one head for each busy thread, and their gradients in the backward pass, where one thread computes all
/// heads that share keys.
template <class T>
double Kernel<T>::score_bytes(const Setting& setting) const {
  const auto at_once = [&](std::size_t tasks) {
    return static_cast<double>(std::min(tasks, static_cast<std::size_t>(setting.threads)));
  };
  double matrices = 0.0;
  if (computes == nullptr)
    matrices = static_cast<double>(setting.heads) *
               ((setting.hides_keys() ? 4.0 : 3.0) + (setting.backward ? 3.0 : 0.0));
  else if (name == "blas")
    matrices = std::max(at_once(setting.heads), setting.backward ? 2.0 * at_once(setting.kv_heads) : 0.0);
  return static_cast<double>(setting.n) * static_cast<double>(setting.n) * matrices * sizeof(T);
}

template <class T>
std::string Kernel<T>::variant_at(const Setting& setting) const {
  const auto own = task(setting).setting;
  const bool is_exact = variant == "full" || variant == "flash";
  if (!is_exact || !own.window) return variant;
  return own.causal ? "sliding" : "local";
}

template <class T>
std::vector<Kernel<T>> kernels(bool keys_are_hidden) {
  std::vector<Kernel<T>> all;
  const auto add = [&](Kernel<T> kernel) {
    kernel.prepare = [kernel](Operands<T>& operands, const Setting& setting) {
      return prepared(kernel, operands, setting);
    };
    all.push_back(std::move(kernel));
  };
  const auto add_named = [&](const std::string& kind, const std::string& variant,
                             const exact::Kernel& kernel) {
    add({.name = kind + std::string(kernel.name), .variant = variant, .computes = &kernel});
  };
  const auto add_last_unmasked = [&] {
    if (!keys_are_hidden) return;
    auto kernel = all.back();
    kernel.name += "-full";
    kernel.sees_all_keys = true;
    add(std::move(kernel));
  };
  add({.name = "xtensor", .variant = "full"});
  for (const auto& kernel : exact::kernels())
    add_named("", kernel.name == "tiled" || kernel.name == "simd" ? "flash" : "full", kernel);
  add_last_unmasked();
  for (const auto& kernel : exact::kernels())
    if (kernel.takes_pattern) add_named("sparse-", "sparse", kernel);
  for (const auto& kernel : linear_time::kernels()) add_named("linear-", "linear", kernel);
  add_last_unmasked();
  return all;
}

template struct Kernel<float>;
template struct Kernel<double>;
template std::vector<Kernel<float>> kernels(bool);
template std::vector<Kernel<double>> kernels(bool);

}  // namespace attn::bench
