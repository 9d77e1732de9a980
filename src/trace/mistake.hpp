#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trace/any_tensor.hpp"

namespace attn {

/// The tensor of that rank and element type that an AnyTensor holds. Its rank must be N.
template <class T, std::size_t N>
Array<T, N> array_of(const AnyTensor& tensor) {
  std::array<std::size_t, N> shape{};
  std::copy(tensor.shape().begin(), tensor.shape().end(), shape.begin());
  auto array = Array<T, N>::from_shape(shape);
  std::copy_n(static_cast<const T*>(tensor.view().data), array.size(), array.begin());
  return array;
}

/// A score of that or less, where a mask hides, stands for −∞.
inline constexpr double usual_large_negative = -3e4;

/// Another way to compute a step: a classic mistake, or a convention that others have. It stands beside the
/// step as a closure over the same locals, which is called only when somebody asks what the step would be.
class Mistake {
 public:
  using Compute = std::function<std::optional<AnyTensor>(const AnyTensor* theirs)>;

  /// `compute` returns the tensor as it then is, or none where the mistake cannot be made on these
  /// dimensions: `[&] { return scores; }`. It may take the tensor that somebody has for this step, to find
  /// what a mistake leaves open, such as the probability of dropout: `[&](const Tensor<3>& theirs) { … }`.
  /// Such a one is left out where nobody has a tensor for the step.
  template <class Closure>
  Mistake(std::string id, Closure compute)
      : Mistake(std::move(id), !std::is_invocable_v<Closure>, [compute](const AnyTensor* theirs) {
          if constexpr (std::is_invocable_v<Closure>)
            return erased(compute());
          else
            return fitted(compute, &Closure::operator(), theirs);
        }) {}

  /// The same of any element type and rank; `theirs` is null where nobody has a tensor.
  Mistake(std::string id, bool is_fitted, Compute compute)
      : id_(std::move(id)),
        is_fitted_(is_fitted),
        compute_(std::make_shared<const Compute>(std::move(compute))) {}

  /// In the catalogue.
  const std::string& id() const { return id_; }

  /// Whether it follows somebody's tensor, and so explains more than others do.
  bool is_fitted() const { return is_fitted_; }

  /// The step as it is with the mistake. `theirs` is the tensor that somebody has for it, or null.
  std::optional<AnyTensor> result(const AnyTensor* theirs) const { return (*compute_)(theirs); }

 private:
  template <class T, std::size_t N>
  static std::optional<AnyTensor> erased(const Array<T, N>& tensor) {
    return AnyTensor(view_of(tensor));
  }
  static std::optional<AnyTensor> erased(AnyTensor tensor) { return tensor; }
  static std::optional<AnyTensor> erased(double number) { return AnyTensor(view_of(number)); }
  template <class T>
  static std::optional<AnyTensor> erased(std::optional<T> tensor) {
    return tensor ? erased(std::move(*tensor)) : std::nullopt;
  }

  template <class Closure, class Result, class T, std::size_t N>
  static std::optional<AnyTensor> fitted(const Closure& compute,
                                         Result (Closure::*)(const Array<T, N>&) const,
                                         const AnyTensor* theirs) {
    if (theirs == nullptr || theirs->shape().size() != N ||
        is_floating(theirs->dtype()) != std::is_same_v<T, double>)
      return std::nullopt;
    return erased(compute(array_of<T, N>(*theirs)));
  }

  std::string id_;
  bool is_fitted_;
  std::shared_ptr<const Compute> compute_;  ///< shared, for what it captures may be mistakes of other steps
};

using Mistakes = std::vector<Mistake>;

}  // namespace attn
