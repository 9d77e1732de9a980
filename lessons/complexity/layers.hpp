#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "attn/efficient/meter.hpp"
#include "attn/random/random.hpp"
#include "lessons/workbench/options.hpp"

namespace lessons {

/// How long the sequence is and how many numbers a token has.
struct Size {
  std::size_t n, d;
};

/// What a layer took on one sequence.
struct Cost {
  attn::Work work;
  std::int64_t sequential_steps = 0;
  std::int64_t path_length = 0;  ///< between the first token and the last; 0 where nothing connects them
};

/// A layer whose cost is counted by running it.
struct CountedLayer {
  std::string_view id;
  std::string_view title;
  std::string_view formula;
  std::string_view note = "";
  bool connects_tokens = true;  ///< whether sequential steps and path length mean anything
};

/// The layers, in the order of the lesson.
const std::vector<CountedLayer>& counted_layers();

/// Runs layers on random numbers and remembers what was counted. Options are those of the lesson complexity.
class Costs {
 public:
  Costs(const Options& options, attn::Random& random) : options_(options), random_(random) {}

  /// Throws std::out_of_range for an id that no layer has.
  const Cost& of(std::string_view layer, const Size& size);

  std::int64_t multiply_adds(std::string_view layer, const Size& size) {
    return of(layer, size).work.multiply_adds;
  }

  /// The smallest n up to `longest` from which on full attention takes more multiply-adds than another layer;
  /// nothing where it takes no more at `longest`. It is searched by halves: once full attention takes more,
  /// it does so for every greater n.
  std::optional<std::size_t> crossing(std::string_view layer, std::size_t d, std::size_t longest);

 private:
  Cost run(std::string_view layer, const Size& size);

  const Options& options_;
  attn::Random& random_;
  std::map<std::tuple<std::string, std::size_t, std::size_t>, Cost> known_;
};

}  // namespace lessons
