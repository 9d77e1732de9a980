#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "fast/sparse/pattern.hpp"

/// Benchmarks of attention kernels.
namespace attn::bench {

enum class Pass { forward, backward };

std::string_view name_of(Pass pass);

/// What the scores are like: normal around 0, or rising steadily from the first key to the last, so that
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
  bool backward = false;  ///< whether the gradients are measured, too

  fast::Sizes sizes() const;
  fast::Visibility visible() const;
  bool hides_keys() const { return causal || window.has_value(); }

  /// The same with all keys visible.
  Setting unmasked() const;
};

/// Useful multiplications and additions of softmax attention to so many pairs in each head: 2 (d_k + d_v) a
/// pair forward, which is 4 n² d for a head where all keys are visible, and 2 (3 d_k + 2 d_v) a pair
/// backward, 10 n² d: the scores once more and the four products of the gradients.
double softmax_operations(const Setting& setting, Pass pass, double pairs);

/// What a kernel computes at a setting: which keys a query reads and what it computes from them. From this
/// its operations are counted and its results are checked.
struct Task {
  enum class Formula { softmax, linear };

  Setting setting{};  ///< the kernel's own: it may see all keys where other kernels' masks hide some
  Formula formula = Formula::softmax;
  std::optional<fast::BlockPattern> pattern{};

  /// Full attention in its place: the softmax of all pairs, but for those that look ahead where it is causal.
  Task full() const;

  /// Whether it is that itself.
  bool is_full() const { return formula == Formula::softmax && !pattern && !setting.window; }

  /// The keys that a query reads, in rising order.
  std::vector<std::size_t> keys_of(std::size_t query) const;

  /// Pairs of a query and a key that it reads, in one head.
  double pairs() const;

  /// Useful multiplications and additions over all heads: `softmax_operations`, or for linear attention as
  /// its kernels count.
  double operations(Pass pass) const;
};

}  // namespace attn::bench
