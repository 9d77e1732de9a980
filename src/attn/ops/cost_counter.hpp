#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attn/ops/matmul.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Which operations of a layer read the results of which others. An operation is whatever mixes vectors of
/// several tokens; what happens to a single token by itself is none. The layer's input is one node a token,
/// numbered as the tokens are.
class DependencyGraph {
 public:
  using Node = std::size_t;

  explicit DependencyGraph(std::size_t tokens);

  /// A new operation that reads these nodes. Throws std::out_of_range for a node that does not exist yet.
  Node add_operation(const std::vector<Node>& inputs);

  /// The operation's result is the output vector of a token.
  void set_output(Node operation, std::size_t token);

  /// The length of the critical path: the longest chain of operations of which each has to wait for the one
  /// before. They cannot be done in parallel.
  std::int64_t sequential_steps() const;

  /// The fewest operations between the input vector of one token and the output vector of another, where the
  /// layer may be stacked upon itself any number of times. Nothing where no number of layers connects them.
  std::optional<std::int64_t> path_length(std::size_t from, std::size_t to) const;

 private:
  std::vector<std::vector<Node>> readers_;         ///< of each node
  std::vector<std::int64_t> depths_;               ///< the longest chain that ends in each node
  std::vector<std::vector<std::size_t>> outputs_;  ///< the tokens whose output each node is
};

/// What a computation took.
struct Cost {
  std::int64_t multiply_adds = 0;  ///< products, most of them added to a sum at once
  std::int64_t score_bytes = 0;    ///< the most held at one time: scores, or what stands in their place
};

/// Computes products and counts them. Additions alone, divisions and exponentials are not counted.
class CostCounter {
 public:
  using Node = DependencyGraph::Node;

  /// A score takes the bytes of a number of that dtype. Operations are recorded in the graph where there is
  /// one.
  explicit CostCounter(Dtype dtype = Dtype::float64, DependencyGraph* graph = nullptr)
      : bytes_per_score_(static_cast<std::int64_t>(item_size(dtype))), graph_(graph) {}

  const Cost& cost() const { return cost_; }

  /// A product of matrices, or of a matrix and a vector, as in matmul.hpp. Throws as that does.
  template <class A, class B>
  auto matmul(const A& a, const B& b) {
    auto product = attn::matmul(a, b);
    count(product.size() * b.shape(0));
    return product;
  }

  /// The products of x with the rows of that number, of a matrix that is as wide as x is long.
  void multiply_rows(const double* x, const Tensor<2>& matrix, std::span<const std::size_t> rows,
                     double* products);

  /// sum + factor · x, in the place of `sum`, which is as long as x.
  void add_product(double factor, std::span<const double> x, double* sum);

  /// factor · x; of several numbers in their place.
  double scale(double factor, double x);
  void scale(double factor, std::span<double> x);

  struct GiveBack {
    std::int64_t bytes;
    void operator()(CostCounter* counter) const { counter->change_held(-bytes); }
  };

  /// Counts that many scores as held until the result goes out of scope.
  [[nodiscard]] std::unique_ptr<CostCounter, GiveBack> hold(std::size_t scores) {
    const auto bytes = static_cast<std::int64_t>(scores) * bytes_per_score_;
    change_held(bytes);
    return {this, GiveBack{bytes}};
  }

  /// As DependencyGraph::add_operation and set_output; nothing is recorded where there is no graph.
  bool records() const { return graph_ != nullptr; }
  Node operation(const std::vector<Node>& inputs) { return graph_ ? graph_->add_operation(inputs) : 0; }
  void output(Node operation, std::size_t token) {
    if (graph_) graph_->set_output(operation, token);
  }

 private:
  void count(std::size_t products) { cost_.multiply_adds += static_cast<std::int64_t>(products); }
  void change_held(std::int64_t bytes);

  Cost cost_;
  std::int64_t bytes_per_score_;
  std::int64_t held_bytes_ = 0;
  DependencyGraph* graph_;
};

/// Feature maps φ for linear attention: all features are positive, so that every weight is.

/// φ(x) = elu(x) + 1, that is x + 1 where x > 0 and exp(x) elsewhere (Katharopoulos et al. 2020, equation 7).
/// [n×d_k] → [n×d_k].
Tensor<2> elu_plus_one(const Tensor<2>& x);

/// φ(x)ₘ = exp(ωₘᵀy − |y|²/2) / √M with y = x / d_k^¼, for M features. With ω drawn normal(0, 1) the
/// expected value of φ(q)ᵀφ(k) is exp(qᵀk / √d_k), the weight of softmax before it is normalised
/// (Choromanski et al. 2021, lemma 1). x is [n×d_k], omega [feature×d_k] → [n×feature]. Throws
/// std::invalid_argument, with both shapes, where they do not match.
Tensor<2> positive_random_features(const Tensor<2>& x, const Tensor<2>& omega, CostCounter& counter);

}  // namespace attn
