#include "lessons/backward/gradients.hpp"

#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"

namespace lessons {

Gradients gradients_on(const formula::Sheet& sheet) {
  Gradients gradients;
  for (const auto& step : sheet.definitions()) {
    auto of = step.name;
    of.erase(of.rfind('/') + 1, 2);
    if (sheet.find(of) == nullptr || formula::gradient_name(of) != step.name) continue;
    const auto& tensor = sheet.tensor(step.name);
    const auto* const first = static_cast<const double*>(tensor.data);
    gradients.push_back({of, {first, first + attn::element_count(tensor.shape)}});
  }
  return gradients;
}

Gradients gradients_again(formula::Sheet sheet, const std::string& step, const formula::View& instead) {
  for (const auto& one : sheet.definitions())
    sheet.set(one.name, one.name == step ? instead : sheet.rounded_value(one));
  return gradients_on(sheet);
}

double largest_difference(const Gradients& a, const Gradients& b) {
  if (a.size() != b.size())
    throw std::invalid_argument("[largest_difference] the backward passes have different steps");
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto &x = a[i], &y = b[i];
    if (x.of != y.of || x.elements.size() != y.elements.size())
      throw std::invalid_argument("[largest_difference] " + x.of + " stands beside " + y.of);
    for (std::size_t j = 0; j < x.elements.size(); ++j)
      largest = attn::maximum({largest, std::abs(x.elements[j] - y.elements[j])});
  }
  return largest;
}

double largest_number(const Gradients& gradients) {
  double largest = 0.0;
  for (const auto& gradient : gradients)
    for (const double x : gradient.elements) largest = attn::maximum({largest, std::abs(x)});
  return largest;
}

double unit_roundoff(attn::Dtype dtype) {
  switch (dtype) {
    case attn::Dtype::float32:
      return std::ldexp(1.0, -24);
    case attn::Dtype::float16:
      return std::ldexp(1.0, -11);
    case attn::Dtype::bfloat16:
      return std::ldexp(1.0, -8);
    default:
      return std::ldexp(1.0, -53);
  }
}

double smallest_normal(attn::Dtype dtype) {
  switch (dtype) {
    case attn::Dtype::float32:
    case attn::Dtype::bfloat16:
      return std::ldexp(1.0, -126);
    case attn::Dtype::float16:
      return std::ldexp(1.0, -14);
    default:
      return std::ldexp(1.0, -1022);
  }
}

}  // namespace lessons
