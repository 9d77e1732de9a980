#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lessons/self_attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What the lesson starts from.
struct ScoringInputs {
  Tensor<3> queries, keys;        ///< [batch×query×d_model], [batch×key×d_model]
  Tensor<2> W_a;                  ///< [d_model×d_model]
  Tensor<2> W_q, W_k;             ///< [d_model×d_a]
  Tensor<1> v_a;                  ///< [d_a]
  std::optional<Mask<3>> mask{};  ///< [batch×query×key], where a source is padded or a mask is given
  std::optional<Tensor<1>> b_q{}, b_k{};  ///< of W_q and W_k, where they are given: [d_a]

  LinearMap q() const { return {W_q, b_q}; }
  LinearMap k() const { return {W_k, b_k}; }
};

/// A scoring function with what it learns, what scoring all pairs costs, and the weights that it gives.
struct Scored {
  std::string name, formula;
  double parameters = 0.0, multiply_adds = 0.0;
  Tensor<3> weights;  ///< [batch×query×key]
};

/// The query that the page follows: its place among the words of the first target.
std::size_t query_on_page(const Workbench& bench);

/// The code of the function that the page goes into, then that of the others.
void show_scoring_code(Workbench& bench, bool is_masked);

}  // namespace lessons
