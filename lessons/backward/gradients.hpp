#pragma once

#include <string>
#include <vector>

#include "formula/gradient.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The gradient of a loss with respect to the tensor `of`, its elements in C order.
struct Gradient {
  std::string of;
  std::vector<double> elements;
};

/// The tap of a backward pass: shows each gradient and keeps it, for whoever wants to compare.
class Gradients {
 public:
  explicit Gradients(Workbench& bench) : bench_(bench) {}

  const Workbench& bench() const { return bench_; }

  /// The step d_`of` of the group in which the trace is; its id is filled in. Returns the gradient to go on
  /// with.
  template <std::size_t N>
  Tensor<N> show(const std::string& of, attn::About about, const Tensor<N>& gradient,
                 const attn::Mistakes& mistakes = {}) {
    about.id = formula::gradient_name(of);
    auto shown = bench_.trace.step(about, gradient, mistakes);
    keep(of, shown);
    return shown;
  }

  /// Keeps the gradient of the tensor `of` of that group, which a recurrence has shown.
  template <std::size_t N>
  void keep(const std::string& of, const Tensor<N>& shown) {
    keep(of, std::vector<double>(shown.begin(), shown.end()));
  }
  void keep(const std::string& of, std::vector<double> elements) {
    all_.push_back({bench_.trace.full_id(of), std::move(elements)});
  }

  /// That of a tensor of this full id, in the shape that it has. Throws std::out_of_range where none was
  /// shown.
  const std::vector<double>& of(const std::string& id) const;

  /// In the order in which they were shown.
  const std::vector<Gradient>& all() const { return all_; }

 private:
  Workbench& bench_;
  std::vector<Gradient> all_;
};

/// The gradients d_X on a sheet of its tensors X.
Gradients gradients_on(const formula::Sheet& sheet, Workbench& bench);

/// The same, all steps computed again, with the tensor `instead` in the place of the step of that name.
Gradients gradients_again(formula::Sheet sheet, Workbench& bench, const std::string& step = "",
                          const formula::View& instead = {});

/// The largest difference between two backward passes of the same tensors. Throws std::invalid_argument where
/// they are not of the same ones.
double largest_difference(const Gradients& a, const Gradients& b);

/// The largest number in size of a backward pass.
double largest_number(const Gradients& gradients);

}  // namespace lessons
