#include "attn/ops/positional.hpp"

#include <string>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/error.hpp"
#include "attn/ops/slice.hpp"

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

Tensor<3> rotate_pairs(const Tensor<3>& x, const Tensor<2>& angles, Pairing pairing) {
  const std::size_t n = x.shape(1), d = x.shape(2), pairs = angles.shape(1);
  if (angles.shape(0) < n || 2 * pairs != d)
    throw shape_mismatch("rotate_pairs", "x", x, "angles", angles,
                         "every position needs an angle for each pair of numbers");
  const bool is_adjacent = pairing == Pairing::adjacent;
  const auto numbers = [&](auto& of, std::size_t first) {
    return xt::view(of, xt::all(), xt::all(),
                    xt::range(first, is_adjacent ? d : first + pairs, is_adjacent ? 2 : 1));
  };
  const std::size_t second = is_adjacent ? 1 : pairs;
  const Tensor<2> turned_by = attn::rows(angles, 0, n), cosine = xt::cos(turned_by),
                  sine = xt::sin(turned_by);
  const auto u = numbers(x, 0), v = numbers(x, second);
  Tensor<3> rotated(x.shape());
  numbers(rotated, 0) = u * cosine - v * sine;
  numbers(rotated, second) = u * sine + v * cosine;
  return rotated;
}

}  // namespace attn
