#include "attn/ops/positional_sinusoidal.hpp"

#include <string>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/error.hpp"
#include "attn/ops/shape_mismatch.hpp"

namespace attn {

Tensor<1> position_frequencies(std::size_t d) {
  if (d % 2 != 0) throw Error("d is " + std::to_string(d) + "; valid: an even number");
  return xt::pow(10000.0, -2.0 * xt::arange<double>(static_cast<double>(d / 2)) / static_cast<double>(d));
}

Tensor<2> position_angles(std::size_t n, const Tensor<1>& frequencies) {
  return xt::view(xt::arange<double>(static_cast<double>(n)), xt::all(), xt::newaxis()) * frequencies;
}

Tensor<2> sines_and_cosines(const Tensor<2>& angles) {
  const auto pairs = xt::stack(xt::xtuple(xt::sin(angles), xt::cos(angles)), 2);
  return xt::reshape_view(pairs, {angles.shape(0), 2 * angles.shape(1)});
}

Tensor<2> sinusoidal_encoding(std::size_t n, std::size_t d) {
  return sines_and_cosines(position_angles(n, position_frequencies(d)));
}

Tensor<3> add_positions(const Tensor<3>& x, const Tensor<2>& table) {
  if (table.shape(0) < x.shape(1) || table.shape(1) != x.shape(2))
    throw shape_mismatch("add_positions", "x", x, "table", table,
                         "the table needs a row as long as a token for every position");
  return x + xt::view(table, xt::range(std::size_t{0}, x.shape(1)));
}

}  // namespace attn
