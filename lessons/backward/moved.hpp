#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "formula/gradient.hpp"
#include "formula/sheet.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The gradient of a loss with respect to the tensor `of`, its elements in C order.
struct Gradient {
  std::string of;
  std::vector<double> elements;
};

/// Those of a backward pass, in its order.
using Gradients = std::vector<Gradient>;

/// The gradients d_X on a sheet of its tensors X.
Gradients gradients_on(const formula::Sheet& sheet);

/// The formulas of a sheet that lead to the step `loss`, which are computed again in float64 with a tensor
/// moved.
struct ForwardPass {
  double magnitude = 1.0;  ///< what the terms of the loss sum up to without their signs

  /// Steps whose numbers a difference may move by little, because what follows is curved: scores, the rows of
  /// layer norms, gates. A step of `of_its_size` may move by that share of its largest number.
  std::vector<std::string> curved{}, of_its_size{};
  std::vector<std::string> with_corner{};  ///< steps after ReLU: none of their numbers may leave or reach 0
  std::string loss = "L";
};

/// Of the loss Σ output · d_output: Σ |output| |d_output|, but with the largest number of the output.
double magnitude_of_loss(const Tensor<3>& output, const Tensor<3>& d_output);

/// How far a gradient is from central differences of the loss, and how far it may be.
struct MovedDeviation {
  std::string of;
  double deviation = 0.0;
  double allowed = 0.0;  ///< what the truncation of a difference and rounding may amount to together
  double size = 0.0;     ///< of the gradient: its largest number, or √Σ g² where all of them move at once
  std::size_t at_corner = 0;  ///< numbers that stand on ReLU's corner, where there is no derivative: left out
};

struct MovedCheck {
  bool entry_by_entry = false;  ///< or else all numbers of a tensor at once, up or down at random
  std::vector<MovedDeviation> deviations{};  ///< in the order of the gradients
};

/// Holds each gradient against (L(x + h) − L(x − h)) / 2h: x is moved where it stands in the forward pass,
/// which is run again in float64. h is so small that no number of a curved step moves by more than 1e-5 of
/// its unit; a difference is off by the square of that, and rounding by epsilon divided by it. Entry by entry
/// where that is done in a moment, otherwise along one direction of random signs for each tensor, drawn as
/// "check/d_W_Q" and so on.
MovedCheck check_by_moving(Workbench& bench, const formula::Sheet& sheet, const ForwardPass& forward,
                           const Gradients& gradients);

/// The note `differences` and the claims `check/d_W_Q` and so on. Where the limit of a claim is beyond the
/// hundredth part of the gradient, or in half precision beyond the fourth, it would say nothing: a note of
/// the same id tells so.
void claim_by_moving(Workbench& bench, const formula::Sheet& sheet, const ForwardPass& forward,
                     const Gradients& gradients);

}  // namespace lessons
