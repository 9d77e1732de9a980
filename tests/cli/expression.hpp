#pragma once

#include <string>
#include <vector>

/// An expression of a worked entry: its value, and the numbers in it in their order.
struct Evaluated {
  double value = 0.0;
  std::vector<double> numbers;
};

/// Evaluates numbers, + − · / ^, parentheses, exp √ tanh log erf sin cos floor max min, and < ≤, which are 1
/// where they hold and 0 elsewhere. Throws std::runtime_error for any other text.
Evaluated evaluate(const std::string& expression);
