#include "lessons/backward/projection_check.hpp"

#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/linear_backward.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"

namespace lessons {

namespace {

/// By how much queries, keys and values move; none where they stay.
struct Move {
  std::optional<Tensor<3>> Q{}, K{}, V{};
};

/// The forward pass from Q, K and V on, which may be moved.
class MovableAttention {
 public:
  MovableAttention(const AttentionInputs& in, const Attention<3>& attention, double divisor)
      : in_(in), attention_(attention), divisor_(divisor) {}

  Tensor<3> output(const Move& move) const {
    auto scaled = attn::add(attention_.scaled, first_order(move));
    if (move.Q && move.K) scaled = attn::add(scaled, second_order(move));
    const auto weights = attn::softmax(in_.mask ? attn::apply_mask(scaled, *in_.mask) : scaled);
    return attn::matmul(weights, move.V ? attn::add(in_.V, *move.V) : in_.V);
  }

  /// How far a scaled score goes at most with a move, and how far with the square root of what a move of
  /// both sides adds: a step of h goes no farther than h times that.
  double reach(const Move& move) const {
    const double both = move.Q && move.K ? std::sqrt(attn::max_abs(second_order(move))) : 0.0;
    return attn::max_abs(first_order(move)) + both;
  }

 private:
  Tensor<3> first_order(const Move& move) const {
    Tensor<3> change(attention_.scaled.shape(), 0.0);
    if (move.Q) change = attn::add(change, attn::matmul(*move.Q, attn::transpose(in_.K)));
    if (move.K) change = attn::add(change, attn::matmul(in_.Q, attn::transpose(*move.K)));
    return attn::divide(change, divisor_);
  }

  Tensor<3> second_order(const Move& move) const {
    return attn::divide(attn::matmul(*move.Q, attn::transpose(*move.K)), divisor_);
  }

  const AttentionInputs& in_;
  const Attention<3>& attention_;
  double divisor_;
};

/// A tensor that is moved, and what moves with it.
struct MovedInput {
  MovedTensor tensor;
  std::function<Move(const Tensor<3>& change)> move;
  double reach_of_one;  ///< how far a scaled score moves at most where one entry moves by 1
};

Tensor<3> magnitude_of_weight(const Named& X, const Tensor<3>& magnitude) {
  return attn::as_batch(attn::linear_backward_weight(attn::absolute(X.tensor), magnitude));
}

Tensor<3> magnitude_of_input(const Tensor<3>& magnitude, const Tensor<2>& W) {
  return attn::linear_backward_input(magnitude, attn::absolute(W));
}

MovedTensor moved_weight(const char* name, const Tensor<2>& W, const Tensor<2>& d_W, const Named& X,
                         const Tensor<3>& magnitude) {
  return {name, attn::as_batch(W), attn::as_batch(d_W), magnitude_of_weight(X, magnitude), {}};
}

/// What X times a change of a weight is, which comes as a batch of one.
Tensor<3> change_times(const Named& X, const Tensor<3>& change_of_weight) {
  return attn::linear(X.tensor, attn::sample(change_of_weight, 0));
}

std::vector<MovedInput> weights_to_move(const ProjectedFrom& from, const AttentionInputs& in,
                                        const ProjectionGradients& gradients,
                                        const AttentionGradients<3>& magnitudes, double divisor) {
  const auto &X_query = from.X_query, &X_key = from.X_key;
  const auto& weights = from.weights;
  return {{moved_weight("W_Q", weights.W_Q, gradients.d_W_Q, X_query, magnitudes.d_Q),
           [&](const Tensor<3>& change) { return Move{.Q = change_times(X_query, change)}; },
           attn::max_abs(X_query.tensor) * attn::max_abs(in.K) / divisor},
          {moved_weight("W_K", weights.W_K, gradients.d_W_K, X_key, magnitudes.d_K),
           [&](const Tensor<3>& change) { return Move{.K = change_times(X_key, change)}; },
           attn::max_abs(X_key.tensor) * attn::max_abs(in.Q) / divisor},
          {moved_weight("W_V", weights.W_V, gradients.d_W_V, X_key, magnitudes.d_V),
           [&](const Tensor<3>& change) { return Move{.V = change_times(X_key, change)}; }, 0.0}};
}

std::vector<MovedInput> vectors_to_move(const ProjectedFrom& from, const AttentionInputs& in,
                                        const ProjectionGradients& gradients,
                                        const AttentionGradients<3>& magnitudes, double divisor) {
  const auto &X_query = from.X_query, &X_key = from.X_key;
  const auto& weights = from.weights;
  const auto &W_Q = weights.W_Q, &W_K = weights.W_K, &W_V = weights.W_V;
  const double through_Q = attn::max_abs(attn::linear_backward_input(in.K, W_Q)) / divisor;
  const double through_K = attn::max_abs(attn::linear_backward_input(in.Q, W_K)) / divisor;
  const double through_both = std::sqrt(attn::max_abs(attn::matmul(W_Q, attn::transpose(W_K))) / divisor);
  const auto of_queries = magnitude_of_input(magnitudes.d_Q, W_Q);
  const auto of_keys =
      attn::add(magnitude_of_input(magnitudes.d_K, W_K), magnitude_of_input(magnitudes.d_V, W_V));
  if (from.is_one_text())
    return {{{X_query.id, X_query.tensor, gradients.d_X_query, attn::add(of_queries, of_keys), {}},
             [&](const Tensor<3>& change) {
               return Move{attn::linear(change, W_Q), attn::linear(change, W_K), attn::linear(change, W_V)};
             },
             through_Q + through_K + through_both}};
  return {{{X_query.id, X_query.tensor, gradients.d_X_query, of_queries, {}},
           [&](const Tensor<3>& change) { return Move{.Q = attn::linear(change, W_Q)}; },
           through_Q},
          {{X_key.id, X_key.tensor, gradients.d_X_key, of_keys, {}},
           [&](const Tensor<3>& change) {
             return Move{.K = attn::linear(change, W_K), .V = attn::linear(change, W_V)};
           },
           through_K}};
}

/// Of moving every entry up and down.
double multiply_adds_to_move(const std::vector<MovedInput>& all, const AttentionInputs& in) {
  double entries = 0.0;
  for (const auto& input : all) entries += static_cast<double>(input.tensor.x.size());
  const auto widths = static_cast<double>(in.Q.shape(2) + in.V.shape(2)),
             n_q = static_cast<double>(in.Q.shape(1)), n_k = static_cast<double>(in.K.shape(1)),
             d_model = static_cast<double>(all.back().tensor.x.shape(2));
  return 2.0 * entries * static_cast<double>(in.Q.shape(0)) * widths * (n_q * n_k + (n_q + n_k) * d_model);
}

}  // namespace

GradientCheck check_projections(const ProjectedFrom& from, const AttentionInputs& in,
                                const Attention<3>& attention, const Tensor<3>& d_output,
                                const ProjectionGradients& gradients, double temperature, attn::Dtype dtype,
                                const RandomOf& random_of) {
  const double divisor = std::sqrt(static_cast<double>(in.Q.shape(2))) * temperature;
  const auto magnitudes = gradient_magnitudes(in, attention, d_output, temperature);
  const MovableAttention movable(in, attention, divisor);
  auto all = weights_to_move(from, in, gradients, magnitudes, divisor);
  for (auto& input : vectors_to_move(from, in, gradients, magnitudes, divisor)) all.push_back(input);
  const DifferenceCheck check(attention, d_output, magnitudes.d_weights, dtype,
                              multiply_adds_to_move(all, in) <= affordable_multiply_adds);
  GradientCheck result{.entry_by_entry = check.entry_by_entry()};
  for (auto& [tensor, move, reach_of_one] : all) {
    const auto direction = random_signs(random_of("check/d_" + tensor.name), tensor.x.shape());
    tensor.output_of = [&, &start = tensor.x, &move_by = move](const Tensor<3>& x) {
      return movable.output(move_by(difference(x, start)));
    };
    const double reach = check.entry_by_entry() ? reach_of_one : movable.reach(move(direction));
    result.deviations.push_back(check.through_softmax(tensor, reach, direction));
  }
  return result;
}

}  // namespace lessons
