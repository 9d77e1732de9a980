#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "fast/bench/kernel.hpp"
#include "fast/exact/heads.hpp"
#include "fast/gemm.hpp"

namespace attn::bench {

namespace {

using fast::Matrix;

/// All that attention is made of, [head×query×key].
template <class T>
struct Steps {
  Array<T, 3> scores, scaled, masked, weights;
};

/// One head of [batch×head×row×column]; `index` counts the heads of its own tensor.
template <class T>
Matrix<T> head_of(const Array<T, 4>& tensor, std::size_t index) {
  const std::size_t rows = tensor.shape(2), columns = tensor.shape(3);
  return {tensor.data() + index * rows * columns, rows, columns};
}

template <class T>
Matrix<T> head_of(const Array<T, 3>& tensor, std::size_t index) {
  const std::size_t rows = tensor.shape(1), columns = tensor.shape(2);
  return {tensor.data() + index * rows * columns, rows, columns};
}

template <class T>
T* data_of_head(Array<T, 4>& tensor, std::size_t index) {
  return tensor.data() + index * tensor.shape(2) * tensor.shape(3);
}

template <class T>
T* data_of_head(Array<T, 3>& tensor, std::size_t index) {
  return tensor.data() + index * tensor.shape(1) * tensor.shape(2);
}

template <class T>
class XtensorAttention {
 public:
  XtensorAttention(Operands<T>& operands, const Setting& setting)
      : operands_(operands),
        setting_(setting),
        shape_{setting.heads, setting.n, setting.n},
        divisor_(std::sqrt(static_cast<T>(setting.d_k))) {}

  void forward() {
    steps_.scores = Array<T, 3>(shape_);
    for (std::size_t head = 0; head < setting_.heads; ++head)
      fast::multiply(T{1}, head_of(operands_.query, head), transposed(head_of(operands_.key, kv_head(head))),
                     data_of_head(steps_.scores, head));
    steps_.scaled = steps_.scores / divisor_;
    if (setting_.hides_keys()) steps_.masked = masked();
    steps_.weights = setting_.hides_keys() ? steps_.masked : steps_.scaled;
    for (std::size_t row = 0; row < setting_.heads * setting_.n; ++row)
      exact::softmax(steps_.weights.data() + row * setting_.n, setting_.n);
    for (std::size_t head = 0; head < setting_.heads; ++head)
      fast::multiply(T{1}, head_of(steps_.weights, head), head_of(operands_.value, kv_head(head)),
                     data_of_head(operands_.output, head));
  }

  void backward() {
    operands_.d_key.fill(T{0});
    operands_.d_value.fill(T{0});
    Array<T, 3> d_weights(shape_);
    for (std::size_t head = 0; head < setting_.heads; ++head) {
      fast::add_product(transposed(head_of(steps_.weights, head)), head_of(operands_.d_output, head),
                        data_of_head(operands_.d_value, kv_head(head)));
      fast::multiply(T{1}, head_of(operands_.d_output, head),
                     transposed(head_of(operands_.value, kv_head(head))), data_of_head(d_weights, head));
    }
    const Array<T, 2> means = xt::sum(steps_.weights * d_weights, {2});
    const Array<T, 3> d_scaled =
        steps_.weights * (d_weights - xt::view(means, xt::all(), xt::all(), xt::newaxis()));
    const Array<T, 3> d_scores = d_scaled / divisor_;
    for (std::size_t head = 0; head < setting_.heads; ++head) {
      fast::multiply(T{1}, head_of(d_scores, head), head_of(operands_.key, kv_head(head)),
                     data_of_head(operands_.d_query, head));
      fast::add_product(transposed(head_of(d_scores, head)), head_of(operands_.query, head),
                        data_of_head(operands_.d_key, kv_head(head)));
    }
  }

 private:
  std::size_t kv_head(std::size_t head) const { return head * setting_.kv_heads / setting_.heads; }

  /// The scaled scores, −∞ where a key is hidden.
  Array<T, 3> masked() const {
    auto scores = steps_.scaled;
    for (std::size_t query = 0; query < setting_.n; ++query) {
      const auto seen = visible_keys(setting_.sizes(), setting_.visible(), 0, query);
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
  Steps<T> steps_;
};

/// Scores, scaled, masked, weights and as many gradients.
template <class T>
double score_bytes(const Setting& setting) {
  const auto n = static_cast<double>(setting.n), heads = static_cast<double>(setting.heads);
  const double steps = (setting.hides_keys() ? 4.0 : 3.0) + (setting.backward ? 3.0 : 0.0);
  return n * n * heads * steps * sizeof(T);
}

}  // namespace

template <class T>
Kernel<T> xtensor_kernel() {
  return {.name = "xtensor",
          .variant = "full",
          .score_bytes = score_bytes<T>,
          .prepare = [](Operands<T>& operands, const Setting& setting) {
            const auto attention = std::make_shared<XtensorAttention<T>>(operands, setting);
            Passes passes{.forward = [attention] { attention->forward(); }};
            if (setting.backward) passes.backward = [attention] { attention->backward(); };
            return passes;
          }};
}

template Kernel<float> xtensor_kernel();
template Kernel<double> xtensor_kernel();

}  // namespace attn::bench
