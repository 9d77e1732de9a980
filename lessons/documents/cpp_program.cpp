#include "lessons/documents/cpp_program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "formula/numpy.hpp"

namespace lessons {

namespace {

std::string number(double x) {
  if (std::isnan(x)) return "lab::nan";
  if (std::isinf(x)) return x < 0.0 ? "-lab::inf" : "lab::inf";
  return fmt::format("{}", x);
}

}  // namespace

std::string CppProgram::of_sample(std::size_t sample) const {
  const auto array_of = [&](const Variable& variable) {
    auto shape = variable.tensor.shape();
    if (variable.has_batch) shape.erase(shape.begin());
    const auto count = attn::element_count(shape);
    const auto view = variable.tensor.view();
    std::vector<std::string> numbers;
    for (std::size_t i = 0; i < count; ++i)
      numbers.push_back(number(view.at((variable.has_batch ? sample * count : 0) + i)));
    return fmt::format("array<{}>({{{}}}, {{{}}})", view.dtype == attn::Dtype::boolean ? "bool" : "double",
                       fmt::join(shape, ", "), fmt::join(numbers, ", "));
  };
  std::string text = fmt::format("void sample_{}() {{\n", sample);
  for (const auto& input : inputs_)
    text += fmt::format("  [[maybe_unused]] const auto {} = {};\n", input.name, array_of(input));
  text += "\n";
  for (std::size_t begin = 0; begin < code_.size();) {
    const auto end = code_.find('\n', begin);
    text += "  " + code_.substr(begin, end + 1 - begin);
    begin = end + 1;
  }
  text += "\n";
  for (const auto& step : steps_)
    if (code_.find(fmt::format("> {} =", step.name)) != std::string::npos)
      text += fmt::format("  expect(\"{0}\", {0}, {1});\n", step.name, array_of(step));
  return text + "}\n\n";
}

std::string CppProgram::finish() const {
  const auto samples = std::max<std::size_t>(batch_, 1);
  auto text = fmt::format(
      "// g++ -std=c++20 -O2 THIS_FILE.cpp -o lesson -lopenblas && ./lesson\n"
      "// attnlab {}: {}\n// Needs xtensor and xtensor-blas.\n",
      header_.lesson, header_.title);
  text += formula::xtensor_head() + fmt::format("\nconstexpr double tolerance = {};\n\n", tolerance_) +
          formula::xtensor_expect() + "\n";
  for (std::size_t sample = 0; sample < samples; ++sample) text += of_sample(sample);
  text += "}  // namespace\n\nint main() {\n";
  for (std::size_t sample = 0; sample < samples; ++sample) text += fmt::format("  sample_{}();\n", sample);
  return text + "  std::printf(\"%d tensors agree, %d differ\\n\", agree, wrong);\n  return wrong > 0;\n}\n";
}

}  // namespace lessons
