#include "attn/ops/positional_sinusoidal.hpp"

#include <cmath>
#include <string>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

Tensor<1> position_frequencies(std::size_t d) {
  if (d % 2 != 0)
    throw std::invalid_argument("[position_frequencies] d is " + std::to_string(d) + ": it must be even");
  auto frequencies = Tensor<1>::from_shape({d / 2});
  for (std::size_t i = 0; i < d / 2; ++i)
    frequencies(i) = std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(d));
  return frequencies;
}

Tensor<2> position_angles(std::size_t n, const Tensor<1>& frequencies) {
  Tensor<2> angles({n, frequencies.size()});
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t i = 0; i < frequencies.size(); ++i)
      angles(p, i) = static_cast<double>(p) * frequencies(i);
  return angles;
}

Tensor<2> sines_and_cosines(const Tensor<2>& angles) {
  Tensor<2> encoding({angles.shape(0), 2 * angles.shape(1)});
  for (std::size_t p = 0; p < angles.shape(0); ++p)
    for (std::size_t i = 0; i < angles.shape(1); ++i) {
      encoding(p, 2 * i) = std::sin(angles(p, i));
      encoding(p, 2 * i + 1) = std::cos(angles(p, i));
    }
  return encoding;
}

Tensor<2> sinusoidal_encoding(std::size_t n, std::size_t d) {
  return sines_and_cosines(position_angles(n, position_frequencies(d)));
}

Tensor<3> add_positions(const Tensor<3>& x, const Tensor<2>& table) {
  if (table.shape(0) < x.shape(1) || table.shape(1) != x.shape(2))
    throw shape_mismatch("add_positions", "x", x, "table", table,
                         "the table needs a row as long as a token for every position");
  Tensor<3> sum(x.shape());
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t p = 0; p < x.shape(1); ++p)
      for (std::size_t j = 0; j < x.shape(2); ++j) sum(b, p, j) = x(b, p, j) + table(p, j);
  return sum;
}

WorkedOut worked_position_frequencies(std::size_t d) {
  return [=](const Index& at) {
    const auto exponent =
        Worked::product({-2.0, static_cast<double>(at[0])}) / Worked(static_cast<double>(d));
    return pow(10000.0, exponent);
  };
}

WorkedOut worked_position_angles(WorkedOut frequencies) {
  return [=](const Index& at) {
    return Worked::product({Worked(static_cast<double>(at[0])), frequencies({at[1]})});
  };
}

WorkedOut worked_sines_and_cosines(Known<2> angles) {
  return [=](const Index& at) {
    const auto angle = angles({at[0], at[1] / 2});
    return at[1] % 2 == 0 ? sin(angle) : cos(angle);
  };
}

WorkedOut worked_add_positions(Known<3> x, Known<2> table) {
  return [=](const Index& at) { return Worked::sum({x(at), table({at[1], at[2]})}); };
}

}  // namespace attn
