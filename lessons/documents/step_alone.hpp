#pragma once

#include <memory>
#include <string>
#include <utility>

#include "formula/parse.hpp"
#include "lessons/documents/step_mistakes.hpp"

namespace lessons {

/// A step on a sheet of its own, for the mistakes in lessons that are no documents. Tensors of
/// three axes have one of samples, those of four one of heads, too; the caller keeps them alive.
class StepAlone {
 public:
  StepAlone(const Workbench& bench, std::string name) : bench_(bench), name_(std::move(name)) {}

  template <class T, std::size_t N>
  StepAlone& with(const char* name, const char* row, const char* column, const Array<T, N>& tensor) {
    if (bench_.trace.is_watched())
      sheet_->set(name, formula::view_of(axes<N>(row, column), attn::view_of(tensor)));
    return *this;
  }

  /// The same of a tensor that nobody else keeps.
  template <class T, std::size_t N>
  StepAlone& with_own(const char* name, const char* row, const char* column, Array<T, N> tensor) {
    if (!bench_.trace.is_watched()) return *this;
    const auto own = std::make_shared<const Array<T, N>>(std::move(tensor));
    auto view = formula::view_of(axes<N>(row, column), attn::view_of(*own));
    view.owner = own;
    sheet_->set(name, std::move(view));
    return *this;
  }

  StepAlone& with(const char* name, double number) {
    sheet_->set(name, formula::view_of({}, std::make_shared<const formula::Numbers>(
                                               formula::Numbers::shape_type{}, number)));
    return *this;
  }

  /// Of the step that this formula is; none where nobody watches.
  attn::Mistakes mistakes(const std::string& formula) {
    if (!bench_.trace.is_watched()) return {};
    const auto definition = sheet_->resolved(formula::parse_definition(formula));
    attn::Shape shape;
    for (const auto& axis : definition.axes) shape.push_back(sheet_->size_of(axis));
    sheet_->keep(definition, formula::view_of(definition.axes, {attn::Dtype::float64, shape, nullptr}));
    return mistakes_of_step(bench_, {name_, definition, sheet_});
  }

 private:
  template <std::size_t N>
  static formula::Axes axes(const char* row, const char* column) {
    if (N == 2) return {row, column};
    formula::Axes axes = {"batch", row, column};
    if (N == 4) axes.insert(axes.begin() + 1, "head");
    return axes;
  }

  const Workbench& bench_;
  std::string name_;
  std::shared_ptr<formula::Sheet> sheet_ = std::make_shared<formula::Sheet>();
};

}  // namespace lessons
