#include "lessons/backward/gradients.hpp"

#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"

namespace lessons {

const std::vector<double>& Gradients::of(const std::string& id) const {
  for (const auto& gradient : all_)
    if (gradient.of == id) return gradient.elements;
  throw std::out_of_range("[Gradients] no gradient of " + id);
}

Gradients gradients_on(const formula::Sheet& sheet, Workbench& bench) {
  Gradients gradients(bench);
  for (const auto& step : sheet.definitions()) {
    auto of = step.name;
    of.erase(of.rfind('/') + 1, 2);
    if (sheet.find(of) == nullptr || formula::gradient_name(of) != step.name) continue;
    const auto& tensor = sheet.tensor(step.name);
    const auto* const first = static_cast<const double*>(tensor.data);
    gradients.keep(of, {first, first + attn::element_count(tensor.shape)});
  }
  return gradients;
}

Gradients gradients_again(formula::Sheet sheet, Workbench& bench, const std::string& step,
                          const formula::View& instead) {
  for (const auto& one : sheet.definitions())
    sheet.set(one.name, one.name == step ? instead : sheet.rounded_value(one));
  return gradients_on(sheet, bench);
}

double largest_difference(const Gradients& a, const Gradients& b) {
  if (a.all().size() != b.all().size())
    throw std::invalid_argument("[largest_difference] the backward passes have different steps");
  double largest = 0.0;
  for (std::size_t i = 0; i < a.all().size(); ++i) {
    const auto &x = a.all()[i], &y = b.all()[i];
    if (x.of != y.of || x.elements.size() != y.elements.size())
      throw std::invalid_argument("[largest_difference] " + x.of + " stands beside " + y.of);
    for (std::size_t j = 0; j < x.elements.size(); ++j)
      largest = attn::maximum({largest, std::abs(x.elements[j] - y.elements[j])});
  }
  return largest;
}

double largest_number(const Gradients& gradients) {
  double largest = 0.0;
  for (const auto& gradient : gradients.all())
    for (const double x : gradient.elements) largest = attn::maximum({largest, std::abs(x)});
  return largest;
}

}  // namespace lessons
