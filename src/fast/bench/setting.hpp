#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "fast/exact/problem.hpp"

/// Time measurements of attention kernels against one another.
namespace attn::bench {

enum class Pass { forward, backward };

std::string_view name_of(Pass pass);

/// What the scores are like: normal around 0, or rising steadily from the first key to the last, on which
/// kernels with a running maximum have to rescale all the time.
enum class Scores { normal, rising };

std::string_view name_of(Scores scores);

/// One size at which kernels are compared: a single sample with as many queries as keys.
struct Setting {
  std::size_t n = 1024;
  std::size_t d_k = 64;
  std::size_t d_v = 64;
  std::size_t heads = 8;
  std::size_t kv_heads = 8;  ///< divides heads
  bool causal = false;
  std::optional<std::size_t> window{};
  Scores scores = Scores::normal;
  int threads = 1;
  bool backward = false;  ///< whether the way back is measured, too

  exact::Sizes sizes() const;
  exact::Visibility visible() const;
  bool hides_keys() const { return causal || window.has_value(); }

  /// The same with all keys visible.
  Setting unmasked() const;
};

}  // namespace attn::bench
