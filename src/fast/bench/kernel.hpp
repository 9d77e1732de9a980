#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"
#include "fast/visibility.hpp"

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

/// The inputs and outputs of a kernel, for one sample.
template <class T>
struct Operands {
  Array<T, 4> query;     ///< [batch×head×query×d_k]
  Array<T, 4> key;       ///< [batch×kv_head×key×d_k]
  Array<T, 4> value;     ///< [batch×kv_head×key×d_v]
  Array<T, 4> d_output;  ///< [batch×head×query×d_v]; this and the gradients are empty unless
                         ///< they are measured

  Array<T, 4> output;       ///< [batch×head×query×d_v]
  Array<T, 3> log_sum_exp;  ///< [batch×head×query]
  Array<T, 4> d_query, d_key, d_value;
};

/// Of mean 0 and variance 1: the sum of four uniform numbers, made of 64 random bits.
double nearly_normal(std::uint64_t bits);

/// Inputs of nearly normal numbers, the same at every call. With rising scores each key scores about a tenth
/// more than the one before, for every query. The loss depends only on the outputs that are checked: the
/// other rows of d_output are 0 (see `checked_queries`). Instantiated for float and double.
template <class T>
Operands<T> draw_operands(const Setting& setting);

/// Bytes that the operands of a setting need.
double operand_bytes(const Setting& setting, std::size_t element_size);

/// The queries whose results are checked, in rising order, the first and the last among them. To check all of
/// them would take longer than anything that is measured.
std::vector<std::size_t> checked_queries(const Setting& setting);

/// A kernel with its operands: each call computes once. `backward` must follow a `forward` and is empty where
/// the kernel has no backward pass.
struct Passes {
  std::function<void()> forward{};
  std::function<void()> backward{};

  const std::function<void()>& of(Pass pass) const { return pass == Pass::forward ? forward : backward; }
};

/// A kernel that can be timed.
template <class T>
struct Kernel {
  std::string name;
  std::string variant;  ///< of attention, as the lesson efficient calls it: full, flash, sparse, linear
  std::function<Task(const Setting&)> task = [](const Setting& setting) { return Task{.setting = setting}; };

  /// Why it cannot run there: "takes no window". Empty where it can.
  std::function<std::string(const Setting&)> unsupported = [](const Setting&) { return ""; };

  /// Bytes of scores that it keeps at one time, where these grow with n².
  std::function<double(const Setting&)> score_bytes = [](const Setting&) { return 0.0; };

  /// Everything that is not to be timed. The passes must not outlive the operands.
  std::function<Passes(Operands<T>&, const Setting&)> prepare;
};

/// What the lesson efficient calls the attention that a kernel computes there: where a window leaves pairs
/// out it is local, or sliding where that ends at the query.
template <class T>
std::string variant_of(const Kernel<T>& kernel, const Setting& setting);

/// All kernels that can be timed, from the simplest on: the lessons' attention as whole tensors of xtensor,
/// then those of the tables of exact, block-sparse and linear attention. Where keys are hidden, the fastest
/// ones once more with all keys visible, "NAME-full", to show what hiding saves. Instantiated for float and
/// double.
template <class T>
std::vector<Kernel<T>> kernels(bool keys_are_hidden);

/// Attention as the lessons compute it: every step a whole tensor, and all of them kept.
template <class T>
Kernel<T> xtensor_kernel();

}  // namespace attn::bench
