#include "lessons/sdpa/mistakes.hpp"

#include <string>
#include <utility>
#include <vector>

#include "formula/parse.hpp"
#include "lessons/documents/step_mistakes.hpp"

namespace lessons {

namespace {

/// A step of attention on a sheet of its own, for lessons that are no documents.
class StepAlone {
 public:
  StepAlone(const Workbench& bench, std::string name) : bench_(bench), name_(std::move(name)) {}

  template <class T, std::size_t N>
  StepAlone& with(const char* name, const char* row, const char* column, const Array<T, N>& tensor) {
    formula::Axes axes = {"batch", row, column};
    if (N == 4) axes.insert(axes.begin() + 1, "head");
    sheet_->set(name, formula::view_of(axes, attn::view_of(tensor)));
    return *this;
  }

  StepAlone& with(const char* name, double number) {
    sheet_->set(name, formula::view_of({}, std::make_shared<const formula::Numbers>(
                                               formula::Numbers::shape_type{}, number)));
    return *this;
  }

  /// Of the step that this formula is.
  attn::Mistakes mistakes(const char* formula) {
    const auto definition = sheet_->resolved(formula::parse_definition(formula));
    attn::Shape shape;
    for (const auto& axis : definition.axes) shape.push_back(sheet_->size_of(axis));
    sheet_->keep(definition, formula::view_of(definition.axes, {attn::Dtype::float64, shape, nullptr}));
    return mistakes_of_step(bench_, {name_, definition, sheet_});
  }

 private:
  const Workbench& bench_;
  std::string name_;
  std::shared_ptr<formula::Sheet> sheet_ = std::make_shared<formula::Sheet>();
};

}  // namespace

template <std::size_t N>
attn::Mistakes mistakes_of_divisor(const Workbench& bench, const Tensor<N>& d_scaled, std::size_t d_k) {
  return StepAlone(bench, "d_scores")
      .with("d_scaled", "query", "key", d_scaled)
      .with("d_k", static_cast<double>(d_k))
      .mistakes("d_scores[query, key] = d_scaled");
}

template <std::size_t N>
attn::Mistakes mistakes_of_masked(const Workbench& bench, const Tensor<N>& scaled, const Mask<3>& mask) {
  StepAlone step(bench, "masked");
  step.with("scaled", "query", "key", scaled).with("mask", "query", "key", mask);
  return step.mistakes("masked[query, key] = where(mask, scaled, -inf)");
}

template <std::size_t N>
attn::Mistakes mistakes_of_weights(const Workbench& bench, const Tensor<N>& seen, const Tensor<N>& scaled,
                                   const std::optional<Mask<3>>& mask, double divisor) {
  StepAlone step(bench, "weights");
  step.with("masked", "query", "key", seen).with("unmasked", "query", "key", scaled);
  step.with("temperature", 1.0).with("d_k", divisor * divisor);
  if (mask) step.with("mask", "query", "key", *mask);
  return step.mistakes("weights[query, key] = softmax(key) masked");
}

template <std::size_t N>
attn::Mistakes mistakes_of_output(const Workbench& bench, const Tensor<N>& weights, const Tensor<N>& V) {
  return StepAlone(bench, "output")
      .with("dropped", "query", "key", weights)
      .with("V", "key", "d_v", V)
      .mistakes("output[query, d_v] = sum(key) dropped * V");
}

#define INSTANTIATE(N)                                                                              \
  template attn::Mistakes mistakes_of_divisor(const Workbench&, const Tensor<N>&, std::size_t);     \
  template attn::Mistakes mistakes_of_masked(const Workbench&, const Tensor<N>&, const Mask<3>&);   \
  template attn::Mistakes mistakes_of_weights(const Workbench&, const Tensor<N>&, const Tensor<N>&, \
                                              const std::optional<Mask<3>>&, double);               \
  template attn::Mistakes mistakes_of_output(const Workbench&, const Tensor<N>&, const Tensor<N>&);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace lessons
