#include "lessons/complexity/worked.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lessons {

namespace {

using attn::Worked;

Worked number_of(std::size_t count) {
  return static_cast<double>(count);
}

bool is_one_of(std::string_view layer, std::initializer_list<std::string_view> layers) {
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

/// ⌈x / y⌉ of whole numbers.
Worked quotient_up(const Worked& x, const Worked& y) {
  return floor((Worked::sum({x, y}) - Worked(1.0)) / y);
}

}  // namespace

Worked WorkedCosts::of(std::string_view quantity, std::string_view layer) const {
  if (quantity == "multiply_adds") return multiply_adds(layer);
  if (quantity == "score_bytes") return Worked::product({numbers_held(layer), number_of(bytes)});
  if (quantity == "sequential_steps") return sequential_steps(layer);
  if (quantity == "path_length") return path_length(layer);
  throw std::out_of_range("[worked_costs] no quantity " + std::string(quantity));
}

/// n places, each with that many before and after it, less those beyond the ends.
Worked WorkedCosts::pairs_of_band(std::size_t before, std::size_t after) const {
  const auto beyond = [&](std::size_t side) {
    const auto reach = min(number_of(side), n - Worked(1.0));
    return Worked::product({n, reach}) - Worked::product({reach, Worked::sum({reach, 1.0})}) / Worked(2.0);
  };
  if (before == after) return Worked::sum({n, Worked::product({2.0, beyond(after)})});
  return Worked::sum({n, beyond(before)});
}

/// The neighbours nearer than a stride, and two keys for each multiple of it.
Worked WorkedCosts::pairs_of_strides() const {
  const std::size_t stride = *options.block;
  std::vector<Worked> terms = {pairs_of_band(stride - 1, stride - 1)};
  for (std::size_t distance = stride; static_cast<double>(distance) < n.value(); distance += stride)
    terms.push_back(Worked::product({2.0, n - number_of(distance)}));
  return Worked::sum(std::move(terms));
}

Worked WorkedCosts::pairs(std::string_view layer) const {
  const std::size_t window = *options.window;
  if (layer == "local" || layer == "convolution") return pairs_of_band(window, window);
  if (layer == "sliding") return pairs_of_band(window, 0);
  if (layer == "sparse") return pairs_of_strides();
  return Worked::product({n, n});
}

Worked WorkedCosts::blocks() const {
  return quotient_up(n, number_of(*options.block));
}

Worked WorkedCosts::features() const {
  return options.features ? number_of(*options.features) : Worked::product({2.0, d});
}

Worked WorkedCosts::multiply_adds(std::string_view layer) const {
  const auto of_pairs = Worked::product({pairs(layer), 2.0, d});
  if (layer == "recurrence") return Worked::product({n, 2.0, d, d});
  if (layer == "convolution") return Worked::product({pairs(layer), d, d});
  if (layer == "projections") return Worked::product({4.0, n, d, d});
  if (layer == "linformer") return Worked::product({4.0, n, number_of(*options.rank), d});
  if (layer == "flash") {
    const auto rescaled = Worked::product({n, blocks() - Worked(1.0), Worked::sum({d, 1.0})});
    return Worked::sum({of_pairs, rescaled});
  }
  if (layer == "gqa") {
    const auto heads = number_of(*options.heads);
    return Worked::product({heads, pairs(layer), 2.0, floor(d / heads)});
  }
  const auto width = Worked::sum({Worked::product({2.0, d}), 1.0});
  if (is_one_of(layer, {"linear", "linear/causal"})) return Worked::product({n, d, width});
  if (layer == "performer") {
    const auto for_features = Worked::product({2.0, n, Worked::sum({features(), 1.0}), d});
    return Worked::sum({for_features, Worked::product({n, features(), width})});
  }
  if (is_one_of(layer, {"full", "local", "sliding", "sparse", "chunked"})) return of_pairs;
  throw std::out_of_range("[worked_costs] no layer " + std::string(layer));
}

Worked WorkedCosts::numbers_held(std::string_view layer) const {
  const auto block = min(number_of(*options.block), n);
  if (layer == "recurrence") return d;
  if (layer == "convolution") return 0.0;
  if (is_one_of(layer, {"linear", "linear/causal"})) return Worked::product({d, Worked::sum({d, 1.0})});
  if (layer == "performer") return Worked::product({features(), Worked::sum({d, 1.0})});
  if (layer == "chunked") return Worked::product({block, n});
  if (layer == "flash") return Worked::product({block, block});
  if (layer == "linformer") return Worked::product({n, number_of(*options.rank)});
  if (layer == "gqa") return Worked::product({number_of(*options.heads), pairs(layer)});
  return pairs(layer);
}

Worked WorkedCosts::sequential_steps(std::string_view layer) const {
  if (layer == "recurrence") return n;
  if (layer == "linear/causal") return Worked::sum({n, 1.0});
  if (layer == "flash") return blocks();
  return is_one_of(layer, {"linear", "linformer", "performer"}) ? 2.0 : 1.0;
}

/// In a window every step goes as far as it reaches; in strides one goes by a multiple and one by the rest.
Worked WorkedCosts::path_length(std::string_view layer) const {
  const auto distance = n - Worked(1.0);
  if (is_one_of(layer, {"convolution", "local", "sliding"}))
    return max(1.0, quotient_up(distance, number_of(*options.window)));
  if (layer == "sparse") {
    const auto stride = number_of(*options.block);
    const auto is_multiple = Worked::at_most(distance / stride, floor(distance / stride));
    return Worked(2.0) - max(Worked::less(distance, stride), is_multiple);
  }
  return sequential_steps(layer);
}

}  // namespace lessons
