#include "tests/unit/fast/train/gradients.hpp"

#include <algorithm>
#include <cmath>

#include "attn/random/random.hpp"
#include "tests/unit/numbers.hpp"

namespace gradients {

template <class T>
attn::train::Variable<T> project(attn::train::Tape<T>& tape, const attn::train::Variable<T>& x,
                                 const std::vector<double>& coefficients) {
  const auto sum = tape.variable(1, 1);
  *sum.value = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (coefficients[i] != 0) *sum.value += static_cast<T>(coefficients[i]) * x.value[i];
  tape.on_backward([=] {
    for (std::size_t i = 0; i < x.size(); ++i)
      x.gradient[i] += *sum.gradient * static_cast<T>(coefficients[i]);
  });
  return sum;
}

template attn::train::Variable<float> project(attn::train::Tape<float>&, const attn::train::Variable<float>&,
                                              const std::vector<double>&);
template Variable project(Tape&, const Variable&, const std::vector<double>&);

Variable project(Tape& tape, const Variable& x) {
  std::vector<double> coefficients(x.size());
  for (std::size_t i = 0; i < coefficients.size(); ++i)
    coefficients[i] = std::sin(1.3 * static_cast<double>(i) + 0.4);
  return project(tape, x, coefficients);
}

std::vector<double> draw(const attn::train::WeightTable& table) {
  attn::RandomState random(5);
  std::vector<double> values(table.numbers());
  for (double& value : values) value = random.normal(0, 0.7);
  return values;
}

std::vector<double> of(const attn::train::WeightTable& table, std::vector<double> values, const Loss& loss) {
  std::vector<double> result(values.size(), 0.0);
  Tape tape;
  tape.backward(loss(tape, Weights{&table, values.data(), result.data()}));
  return result;
}

double error(const attn::train::WeightTable& table, const Loss& loss) {
  auto values = draw(table);
  const auto computed = of(table, values, loss);
  std::vector<double> ignored(values.size());
  Tape tape;  // that records, so that dropout acts
  const auto loss_at = [&](double& value, double moved) {
    const double kept = value;
    value = moved;
    tape.clear();
    const double result = *loss(tape, Weights{&table, values.data(), ignored.data()}).value;
    value = kept;
    return result;
  };
  // A loss is rounded to about 1e-15 of its size, which gives central differences an error of 1e-11 of it: a
  // part in 10⁷ of this floor.
  const double floor = 1e-4 * std::abs(loss_at(values[0], values[0]));
  double worst = 0;
  for (const auto& shape : table.shapes()) {
    double error = 0, size = floor;
    for (std::size_t i = shape.offset; i < shape.offset + shape.size(); ++i) {
      const auto central = [&](double step) {
        return (loss_at(values[i], values[i] + step) - loss_at(values[i], values[i] - step)) / (2 * step);
      };
      constexpr double step = 1e-4;
      // Richardson's extrapolation: an error of step⁴.
      const double extrapolated = (4 * central(step / 2) - central(step)) / 3;
      error = std::max(error, difference(computed[i], extrapolated));
      size = std::max(size, std::abs(extrapolated));
    }
    worst = std::max(worst, error / size);
  }
  return worst;
}

double error(const std::vector<Size>& sizes, const LossOfMatrices& loss) {
  attn::train::WeightTable table;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    table.add(std::to_string(i), sizes[i].rows, sizes[i].columns);
  return error(table, [&](Tape& tape, const Weights& weights) {
    std::vector<Variable> matrices;
    for (std::size_t i = 0; i < sizes.size(); ++i) matrices.push_back(weights(std::to_string(i)));
    return loss(tape, matrices);
  });
}

}  // namespace gradients
