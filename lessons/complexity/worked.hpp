#pragma once

#include <string_view>

#include "attn/worked.hpp"
#include "lessons/workbench/options.hpp"

namespace lessons {

/// What the layers take as arithmetic, which the counts are judged by: nothing of a run goes into it but n, d
/// and the options of the lesson `complexity`.
struct WorkedCosts {
  attn::Worked n, d;
  const Options& options;
  std::size_t bytes;  ///< of a number

  /// `quantity` is multiply_adds, score_bytes, sequential_steps or path_length. Throws std::out_of_range for
  /// a layer that does not exist.
  attn::Worked of(std::string_view quantity, std::string_view layer) const;

 private:
  attn::Worked multiply_adds(std::string_view layer) const;
  attn::Worked numbers_held(std::string_view layer) const;
  attn::Worked sequential_steps(std::string_view layer) const;
  attn::Worked path_length(std::string_view layer) const;

  attn::Worked pairs(std::string_view layer) const;
  attn::Worked pairs_of_band(std::size_t before, std::size_t after) const;
  attn::Worked pairs_of_strides() const;
  attn::Worked blocks() const;
  attn::Worked features() const;
};

}  // namespace lessons
