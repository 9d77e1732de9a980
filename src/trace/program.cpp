#include "trace/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "attn/text/trim.hpp"
#include "formula/numpy.hpp"

namespace attn {

namespace {

/// How far what the code computes in float64 may be from a trace that is rounded at each step, relative to
/// the largest number of the tensor.
double tolerance_of(Dtype dtype) {
  if (dtype == Dtype::float32) return 1e-4;
  if (dtype == Dtype::float16) return 5e-2;
  return dtype == Dtype::bfloat16 ? 3e-1 : 1e-9;
}

std::string element_in_python(const TensorView& tensor, std::size_t offset) {
  const double element = tensor.at(offset);
  if (tensor.dtype == Dtype::boolean) return element != 0.0 ? "True" : "False";
  if (std::isnan(element)) return "np.nan";
  if (std::isinf(element)) return element > 0.0 ? "np.inf" : "-np.inf";
  return fmt::format("{}", element);
}

/// Nested lists, a line for each row; `offset` moves on to the first element that is not written yet.
std::string nested_lists(const TensorView& tensor, std::size_t axis, std::size_t& offset) {
  if (axis == tensor.shape.size()) return element_in_python(tensor, offset++);
  std::vector<std::string> parts(tensor.shape[axis]);
  for (auto& part : parts) part = nested_lists(tensor, axis + 1, offset);
  const bool is_row = axis + 1 == tensor.shape.size();
  return fmt::format("[{}]", fmt::join(parts, is_row ? ", " : ",\n" + std::string(axis + 1, ' ')));
}

std::string array_of(const TensorView& tensor) {
  std::size_t offset = 0;
  auto lists = nested_lists(tensor, 0, offset);
  const char* dtype = tensor.dtype == Dtype::boolean ? "bool"
                      : tensor.dtype == Dtype::int64 ? "int"
                                                     : "float";
  return fmt::format("np.array({}, {}).reshape({})", lists, dtype,
                     fmt::format("{}{}", fmt::join(tensor.shape, ", "), tensor.shape.empty() ? "()" : ""));
}

}  // namespace

void Program::receive(const Event& event) {
  if (event.id == "code" || event.id.ends_with("/code")) {
    code_ += event.formula + '\n';
    if (event.formula.find("import torch") != std::string::npos)  // which every machine draws its own way
      tolerance_ = std::max(tolerance_, tolerance_of(Dtype::float32));
  }
  if (!event.tensor) return;
  tolerance_ = std::max(tolerance_, tolerance_of(event.tensor->dtype));
  const auto name = formula::identifier(event.id);
  if (event.kind == Kind::step && event.after_overflow) return beyond_.push_back(name);
  const bool has_batch = !event.axes.empty() && event.axes.front() == "batch";
  if (has_batch) batch_ = event.tensor->shape.front();
  auto& variables = event.kind == Kind::input ? inputs_ : steps_;
  variables.push_back({name, AnyTensor(*event.tensor), has_batch, event.is_on_page()});
}

/// The inputs of one sample under their names, the code, and the assertions.
std::string PythonScript::body(const std::string& indent) const {
  std::string text;
  const auto line = [&](std::string_view statement) {
    text += fmt::format("{}{}\n", statement.empty() ? "" : indent, statement);
  };
  const auto of_sample = [](const Variable& variable) { return variable.has_batch ? "[sample]" : ""; };
  for (const auto& input : inputs_)
    line(fmt::format("{0} = inputs[\"{0}\"]{1}", input.name, of_sample(input)));
  line("");
  for (const auto statement : pieces_of(code_, "\n")) line(statement);  // the last one is empty
  for (const auto& step : steps_)
    line(fmt::format("{0}expect(\"{1}\", {1}, steps[\"{1}\"]{2})",
                     step.is_on_page ? "" : fmt::format("if \"{}\" in vars(): ", step.name), step.name,
                     of_sample(step)));
  return text;
}

std::string PythonScript::finish() const {
  const auto dictionary = [](std::string_view name, const std::vector<Variable>& variables) {
    std::string text = fmt::format("{} = {{\n", name);
    for (const auto& variable : variables)
      text += fmt::format("\"{}\": {},\n", variable.name, array_of(variable.tensor.view()));
    return text + "}\n";
  };
  auto text = fmt::format("# attnlab {}: {}\n", header_.lesson, header_.title);
  text += "# The inputs of one run, the code that its page shows, and an assertion for each step.\n";
  text += "import math\nimport numpy as np\n\n";
  text += "np.seterr(all=\"ignore\")  # whether a number is inf or nan is asserted as well\n\n";
  text += dictionary("inputs", inputs_) + dictionary("steps", steps_);
  text += fmt::format(
      "checked = set()\n\n\n"
      "def expect(name, computed, expected):\n"
      "    finite = np.abs(expected[np.isfinite(expected)]) if np.ndim(expected) else np.abs(expected)\n"
      "    tolerance = {} * max(1.0, np.max(finite, initial=0.0))\n"
      "    assert np.shape(computed) == np.shape(expected), f\"{{name}} is {{np.shape(computed)}}\"\n"
      "    assert np.allclose(computed, expected, rtol=0, atol=tolerance, equal_nan=True), \\\n"
      "        f\"{{name}} is off by {{np.max(np.abs(np.subtract(computed, expected, dtype=float)))}}\"\n"
      "    checked.add(name)\n\n\n",
      tolerance_);
  text += batch_ > 0 ? fmt::format("for sample in range({}):\n", batch_) + body("    ") : body("");
  text += "\nprint(f\"{len(checked)} steps agree: \" + \", \".join(sorted(checked)))\n";
  if (!beyond_.empty())
    text += fmt::format(
        "# In these steps, or before, a number is too large for the dtype and became inf; NumPy goes on "
        "with it in float64.\n"
        "beyond = [\"{}\"]\n"
        "print(\"Not asserted, after a number too large for the dtype: \" + \", \".join(beyond))\n",
        fmt::join(beyond_, "\", \""));
  return text;
}

}  // namespace attn
