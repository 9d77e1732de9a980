#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"
#include "fast/exact/kernels.hpp"
#include "fast/ranks/ring.hpp"
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

/// The inputs and outputs of a kernel, for one sample. d_output and the gradients are empty unless they are
/// measured.
template <class T>
using Operands = fast::RankBlock<T>;

/// The rows of the inputs at these positions, and of d_output where the gradients are measured: nearly normal
/// numbers, the same wherever a row is drawn. Instantiated for float and double, as the next three.
template <class T>
Operands<T> draw_inputs(const Setting& setting, const std::vector<std::size_t>& positions);

/// Gives them room for what a kernel computes, 0 everywhere.
template <class T>
void add_results(Operands<T>& operands, const Setting& setting);

/// The call of an exact kernel that computes them.
template <class T>
exact::Call<T> exact_call(Operands<T>& operands, const Setting& setting);

/// The inputs at all positions, with room for the results. With rising scores each key scores about a tenth
/// more than the one before, for every query. The loss depends only on the outputs that are checked: the
/// other rows of d_output are 0 (see `checked_queries`).
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

/// A kernel that can be timed. Its functions are instantiated for float and double.
template <class T>
struct Kernel {
  std::string name{};
  std::string variant{};  ///< of attention, as the lesson efficient calls it: full, flash, sparse, linear
  const exact::Kernel* computes = nullptr;  ///< null: attention as whole tensors of xtensor
  bool sees_all_keys = false;               ///< where other kernels' masks hide some

  Task task(const Setting& setting) const;

  /// What the lesson efficient calls the attention that it computes there: where a window leaves pairs out it
  /// is local, or sliding where that ends at the query.
  std::string variant_at(const Setting& setting) const;

  /// Why it cannot run there: "takes no window". Empty where it can.
  std::string unsupported(const Setting& setting) const;

  /// Bytes of scores that it keeps at one time, where these grow with n².
  double score_bytes(const Setting& setting) const;

  /// Everything that is not to be timed. The passes must not outlive the operands.
  std::function<Passes(Operands<T>&, const Setting&)> prepare{};
};

/// All kernels that can be timed, from the simplest on: the lessons' attention as whole tensors of xtensor,
/// then those of the tables of exact, block-sparse and linear attention. Where keys are hidden, the fastest
/// ones once more with all keys visible, "NAME-full", to show what hiding saves. Instantiated for float and
/// double.
template <class T>
std::vector<Kernel<T>> kernels(bool keys_are_hidden);

/// How long the measurement may take and how often it is repeated.
struct Effort {
  int rounds = 7;
  double seconds = 60.0;   ///< for all rounds; the slowest kernels are left out if they do not fit
  double shortest = 0.02;  ///< seconds of a measurement; quicker runs are repeated within it
};

/// The first run of one pass of a kernel.
struct Trial {
  double seconds = 0.0;
  std::optional<double> extra_bytes{};     ///< allocated at one time, at most, besides its operands
  double error = 0.0;                      ///< against the same attention in float64
  std::optional<double> relative_error{};  ///< of the output, against full attention
};

/// The measurements of one pass of a kernel at one length.
struct Series {
  std::string kernel;
  Pass pass = Pass::forward;
  double operations = 0.0;        ///< useful ones
  std::vector<double> seconds{};  ///< of one run, in each round
  std::string variant{};          ///< what the lesson efficient calls it
  Trial trial{};                  ///< before the rounds

  /// Useful operations a second, in each round.
  std::vector<double> rates() const;
};

/// All that was measured at one length, in the same rounds.
struct LengthResult {
  Setting setting;
  std::vector<Series> series{};
  std::vector<double> product_rates{};  ///< operations a second of the matrix product, in each round
  std::vector<double> peak_rates{};     ///< those of the loop in registers

  const Series* find(const std::string& kernel, Pass pass) const;
};

/// A kernel that was left out.
struct Omission {
  std::string kernel;
  std::size_t n = 0;
  std::string reason;
};

struct Result {
  std::vector<LengthResult> lengths{};
  std::vector<Omission> omissions{};
};

/// Called with the share of the work that is done, from 0 to 1, and with what comes next.
using Progress = std::function<void(double share, const std::string& next)>;

/// Times the kernels of these names (all where there are none) at each setting. Each round runs every kernel,
/// the matrix product and the loop in registers once, one after the other, and starts with another one of
/// them than the round before. Before the rounds each kernel is run once, see `try_out`. The settings differ
/// in n only and have rising n.
///
/// Throws Error for an unknown name, for operands that do not fit in memory and where no kernel can be timed.
/// Instantiated for float and double.
template <class T>
Result run_benchmark(const std::vector<Setting>& settings, const std::vector<std::string>& names,
                     const Effort& effort, const Progress& progress);

/// All functions of series throw std::invalid_argument for an empty one and, where there are two, for series
/// of different lengths.
struct Quartiles {
  double lower = 0.0;
  double median = 0.0;
  double upper = 0.0;
};

/// As numpy.percentile([25, 50, 75]): linear between the two nearest values.
Quartiles quartiles(std::vector<double> values);

double median(std::vector<double> values);

/// The median of xᵢ / yᵢ, where both were measured in round i: a disturbance that lasts longer than a round
/// affects both.
double median_ratio(const std::vector<double>& x, const std::vector<double>& y);

/// The exponent e of y ≈ c · xᵉ: the slope of the least-squares line through (ln xᵢ, ln yᵢ). Throws
/// std::invalid_argument unless there are two different x.
double fitted_exponent(const std::vector<double>& x, const std::vector<double>& y);

/// Statistics of the rounds of a series. Ratios are the medians of the ratios within each round.
struct Statistics {
  const Series* series = nullptr;
  Quartiles seconds{};
  double rate = 0.0;                   ///< useful operations a second in the median time
  double share_of_product = 0.0;       ///< of the rate of the matrix product
  double share_of_peak = 0.0;          ///< of the rate of the loop in registers
  std::optional<double> speedup{};     ///< over the xtensor kernel
  std::optional<double> of_forward{};  ///< backward: its time divided by that of forward
  std::optional<double> of_full{};  ///< where keys are hidden: its time divided by that with all keys visible
};

/// One for each series, in the same order, as long as the result is there.
std::vector<Statistics> statistics_of(const LengthResult& result);

/// How the time of a kernel grows with n.
struct Growth {
  std::string kernel;
  Pass pass = Pass::forward;
  std::optional<double> exponent{};  ///< of a fit over three lengths: two always lie on a line
  std::vector<double> lengths{};     ///< at which the kernel was timed, the three longest
};

/// For each pass of a kernel that was timed at two lengths or more. The exponent is fitted to its time in
/// units of the matrix product's time in the same rounds, so that a machine that slows down does not look
/// like growth.
std::vector<Growth> growth_of(const std::vector<LengthResult>& lengths);

/// Checks of the results of a kernel against kernel 1 of its family in float64, at the `checked_queries`. An
/// error is the largest deviation of a number. Instantiated for float and double.
template <class T>
double output_error(const Task& task, const Operands<T>& operands);

/// How far the output is off from that of full attention in float64, at the `checked_queries`: the largest
/// difference, relative to the largest number there. Nothing of full attention itself.
template <class T>
std::optional<double> relative_error(const Task& task, const Operands<T>& operands);

/// The largest of the errors of the three gradients.
template <class T>
double gradient_error(const Task& task, const Operands<T>& operands);

struct Trials {
  Trial forward{};
  std::optional<Trial> backward{};  ///< its memory is that of both passes together

  double seconds() const { return forward.seconds + (backward ? backward->seconds : 0.0); }
};

/// Useful operations of all passes that are measured.
double operations_of(const Task& task);

/// Seconds that all passes take for a useful operation, measured at rising lengths below the setting's, 16,
/// 64, 256 …, for as long as none is expected to take more than `longest` seconds: a run cannot be stopped.
/// The first run also starts the threads and sets up BLAS. Instantiated for float and double.
template <class T>
double seconds_per_operation(const Kernel<T>& kernel, Setting setting, double longest);

/// Runs the kernel once, and once more where that takes far less than `longest` seconds. Nothing where memory
/// runs out. Instantiated for float and double.
template <class T>
std::optional<Trials> try_out(const Kernel<T>& kernel, Operands<T>& operands, const Setting& setting,
                              double longest);

/// A kernel that is timed at one of the settings.
template <class T>
struct TimedKernel {
  const Kernel<T>* kernel;
  std::size_t setting;  ///< its index
  Trials trials;
};

/// Which kernels are timed at which settings.
template <class T>
struct Selection {
  std::vector<TimedKernel<T>> timed{};  ///< kernel by kernel, rising n
  std::vector<Omission> omissions{};
};

/// Leaves out the slowest kernels until the rounds of the others fit into this many seconds. The fastest at
/// each setting stays. Instantiated for float and double.
template <class T>
void leave_out_slowest(Selection<T>& selection, const std::vector<Setting>& settings, const Effort& effort,
                       double seconds);

/// How long the rounds of a kernel take.
double expected_seconds(const Trials& trials, const Effort& effort);

/// One pass of ring attention, measured.
struct RanksPass {
  Pass pass = Pass::forward;
  double operations = 0.0;               ///< useful ones, of all ranks together
  std::vector<double> seconds{};         ///< in each round, of the rank that took longest
  std::vector<double> waiting{};         ///< in each round, the longest that a rank waited for transfers
  std::vector<double> one_rank_rates{};  ///< in each round, of the kernel on the blocks of rank 0, alone
  std::vector<double> one_process{};     ///< in each round, seconds with a thread for each rank; may be empty
  std::vector<std::uint64_t> bytes{};    ///< [rank] sent, counted
  std::vector<std::uint64_t> formula{};  ///< [rank] what they should be
  std::vector<double> memory{};          ///< [rank] bytes allocated at one time, inputs and results included
  double error = 0.0;  ///< the largest difference of rank 0's rows from those of one process
};

/// What a message takes between two ranks: seconds = latency + bytes / bandwidth.
struct Link {
  double latency = 0.0;    ///< seconds
  double bandwidth = 0.0;  ///< bytes a second

  double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// Ring attention on all ranks of a network, at one length.
struct RanksResult {
  Setting setting;
  fast::Order order = fast::Order::contiguous;
  std::size_t ranks = 1;
  std::size_t hosts = 1;
  double imbalance = 1.0;  ///< pairs of the rank with the most over those of the one with the fewest
  Link link{};             ///< from rank 0 to rank 1 and back; where there is one rank, nothing
  std::vector<RanksPass> passes{};
};

/// Times the fastest kernel on each rank, with transfers behind it, forward and, where the setting asks for
/// it, backward. In each round all ranks run together; then rank 0 alone runs the kernel on its own block
/// with its threads; then it alone runs the whole with as many threads as all ranks have, where that fits in
/// memory. Every process gets the same result. Instantiated for float and double.
///
/// Throws Error where a rank's blocks do not fit in memory, and std::invalid_argument where this process
/// plays other than one rank.
template <class T>
RanksResult run_on_ranks(const Setting& setting, fast::Order order, fast::Network& network, int rounds,
                         const Progress& progress = {});

/// What the measured rates would give for a sequence of n tokens on more ranks.
struct Projection {
  std::size_t ranks = 0;
  double computing = 0.0;  ///< seconds of a hop
  double transfer = 0.0;   ///< seconds of a hop, behind the computing
  double seconds = 0.0;    ///< of the whole forward pass: at each hop the longer of the two
  double waiting = 0.0;    ///< the share of it in which a rank waits for a transfer
  double memory = 0.0;     ///< bytes of a rank
};

/// On paper: each rank computes at the rate measured, a transfer takes what the link takes, the work is
/// shared evenly, and memory grows with n / ranks.
Projection project(const RanksResult& measured, std::size_t n, std::size_t ranks, std::size_t item_size);

}  // namespace attn::bench
