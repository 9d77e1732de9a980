#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formula/sheet.hpp"
#include "lessons/backward/gradients.hpp"

namespace lessons {

/// A tensor of a forward pass, an input or a step, by its id, and how far each of its numbers is moved.
struct Move {
  std::string id{};
  std::vector<double> change{};

  /// The tensor `of` as the forward pass begins with it: x, moved where it is the one.
  template <std::size_t N>
  Tensor<N> operator()(const std::string& of, Tensor<N> x) const {
    if (of == id) apply(x.data());
    return x;
  }

  template <std::size_t N>
  std::optional<Tensor<N>> operator()(const std::string& of, const std::optional<Tensor<N>>& x) const {
    return x ? std::optional((*this)(of, *x)) : std::nullopt;
  }

  void apply(double* elements) const {
    for (std::size_t i = 0; i < change.size(); ++i) elements[i] += change[i];
  }
};

/// The formulas of a sheet that lead to the step `loss`, in float64: a forward pass, of which what follows
/// from a tensor that is moved is computed again.
class FormulasAgain;
std::shared_ptr<FormulasAgain> formulas_again(const formula::Sheet& sheet, const std::string& loss);

/// A forward pass that is run again with a tensor moved.
struct ForwardPass {
  /// Runs it on the mute workbench, its inputs as `move` has them, and returns the loss.
  std::function<double(Workbench& mute, const Move& move)> loss{};
  double magnitude = 1.0;  ///< what the terms of the loss sum up to without their signs

  /// Steps whose numbers a difference may move by little, because what follows is curved: scores, the rows of
  /// layer norms, gates. A step of `of_its_size` may move by that share of its largest number.
  std::vector<std::string> curved{}, of_its_size{};
  std::vector<std::string> with_corner{};  ///< steps after ReLU: none of their numbers may leave or reach 0
  std::shared_ptr<FormulasAgain> formulas{};  ///< in the place of `loss`
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
MovedCheck check_by_moving(Workbench& bench, const ForwardPass& forward, const Gradients& gradients);

/// The note `differences` and the claims `check/d_W_Q` and so on. Where the limit of a claim is beyond the
/// hundredth part of the gradient, or in half precision beyond the fourth, it would say nothing: a note of
/// the same id tells so.
void claim_by_moving(Workbench& bench, const ForwardPass& forward, const Gradients& gradients);

}  // namespace lessons
