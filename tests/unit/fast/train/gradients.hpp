#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fast/train/operations.hpp"

/// Gradients of anything on a tape beside central differences.
namespace gradients {

using Variable = attn::train::Variable<double>;
using Tape = attn::train::Tape<double>;
using Weights = attn::train::Weights<double>;

/// A loss, [1×1], of named matrices.
using Loss = std::function<Variable(Tape&, const Weights&)>;

/// Σ coefficients · x, [1×1]: any output as a loss. Where a coefficient is 0 the number is not read.
template <class T>
attn::train::Variable<T> project(attn::train::Tape<T>& tape, const attn::train::Variable<T>& x,
                                 const std::vector<double>& coefficients);

/// The same with coefficients of its own for each number.
Variable project(Tape& tape, const Variable& x);

/// Numbers of normal(0, 0.7) for all weights of a table.
std::vector<double> draw(const attn::train::WeightTable& table);

/// The gradients of the loss with respect to all numbers.
std::vector<double> of(const attn::train::WeightTable& table, std::vector<double> values, const Loss& loss);

/// The largest difference between these gradients and central ones, in units of the largest gradient of the
/// same tensor, or of a floor where all of them are tiny.
double error(const attn::train::WeightTable& table, const Loss& loss);

/// The same for matrices of these sizes, called "0", "1", ….
struct Size {
  std::size_t rows, columns;
};
using LossOfMatrices = std::function<Variable(Tape&, const std::vector<Variable>&)>;
double error(const std::vector<Size>& sizes, const LossOfMatrices& loss);

}  // namespace gradients
