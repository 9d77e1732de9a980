#include "attn/random/ziggurat.hpp"

#include <cmath>

namespace attn {

namespace {

constexpr std::size_t layer_count = 256;
constexpr double tail_begin = 3.6541528853610088;     ///< where the layer at the bottom becomes the tail
constexpr double layer_area = 0.0049286732339746519;  ///< of each layer, the tail included
constexpr double units = 0x1p52;                      ///< into which a layer's width is divided

double density(double x) {
  return std::exp(-0.5 * x * x);
}

/// Layer 0 is the one at the bottom; of the others the topmost is 1 and the lowest 255.
struct Ziggurat {
  std::array<double, layer_count> unit;         ///< the width of a layer, divided by `units`
  std::array<double, layer_count> density;      ///< at its right end
  std::array<std::uint64_t, layer_count> safe;  ///< how many units lie below the density in all their height

  Ziggurat();
};

std::uint64_t units_in(double ratio) {
  return static_cast<std::uint64_t>(std::nearbyint(ratio * units));
}

/// Each layer ends where the density has risen by the layer's height, area / width. The density at the end of
/// layer 38 lies almost halfway between two float64 numbers; NumPy's table has the upper one.
Ziggurat::Ziggurat() {
  double width = tail_begin;
  unit.back() = width / units;
  density.back() = attn::density(width);
  safe.front() = units_in(width * density.back() / layer_area);
  unit.front() = layer_area / density.back() / units;
  density.front() = 1.0;
  for (std::size_t layer = layer_count - 2; layer > 0; --layer) {
    const double inner = std::sqrt(-2.0 * std::log(layer_area / width + density[layer + 1]));
    safe[layer + 1] = units_in(inner / width);
    unit[layer] = inner / units;
    density[layer] = attn::density(inner);
    if (layer == 38) density[layer] = 0x1.5ad29acc85c89p-1;
    width = inner;
  }
  safe[1] = 0;
}

/// A number beyond `tail_begin` (Marsaglia 1964).
double tail(Pcg64& bits) {
  constexpr double reciprocal = 0.27366123732975827;  // of tail_begin
  for (;;) {
    const double x = -std::log1p(-bits.next_double()) * reciprocal;
    const double y = -std::log1p(-bits.next_double());
    if (y + y > x * x) return tail_begin + x;
  }
}

}  // namespace

double ziggurat_normal(Pcg64& bits) {
  static const Ziggurat ziggurat;
  for (;;) {
    const auto drawn = bits.next_uint64();
    const auto layer = drawn & 0xff;
    const bool is_negative = (drawn >> 8 & 1) != 0;
    const auto distance = drawn >> 9 & 0xfffffffffffff;
    const double size = static_cast<double>(distance) * ziggurat.unit[layer];
    const double x = is_negative ? -size : size;
    if (distance < ziggurat.safe[layer]) return x;
    if (layer == 0) return (distance >> 8 & 1) != 0 ? -tail(bits) : tail(bits);
    const double height = ziggurat.density[layer - 1] - ziggurat.density[layer];
    if (height * bits.next_double() + ziggurat.density[layer] < density(x)) return x;
  }
}

}  // namespace attn
