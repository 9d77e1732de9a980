#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/attention.hpp"
#include "attn/random/random.hpp"
#include "attn/tensor.hpp"
#include "lessons/workbench/options.hpp"

namespace lessons {

/// Which parts of a tensor have names of their own under --draws name, so that a word more leaves the others
/// as they are.
struct Slices {
  bool batched = false;               ///< whether the first axis is the samples
  std::optional<std::size_t> axis{};  ///< of words or positions
  std::vector<std::string> entries{};  ///< the words along it; none for positions, which are called 0, 1, 2 …
};

/// Whether each name has a stream of its own (--draws name), so that no draw depends on another.
bool draws_by_name(const Options& options);

/// The random numbers of a run: one stream for all of them (--draws stream), or one for each name (--draws
/// name).
class Draws {
 public:
  explicit Draws(const Options& options);

  /// The stream that what is called `name` is drawn from: that of the run, or its own, at its beginning. It
  /// is there until the next call.
  attn::Random& stream(std::string_view name);

  /// A tensor of that name and shape, normal(0, s). Its slices are drawn one by one under --draws name, each
  /// in C order: "Q 3", "output/W chat", "W_Q", and with " sample b" behind it from the second sample on.
  attn::AnyRank<double> normal(const std::string& name, double s, const attn::Shape& shape,
                               const Slices& slices = {});

  /// The weights of torch.nn.Linear, uniform on ±1/√fan_in, as they stand there: [fan_out×fan_in].
  attn::Tensor<2> linear(std::size_t fan_out, std::size_t fan_in);

  /// torch.rand(shape).
  attn::AnyRank<double> uniform(const attn::Shape& shape);

 private:
  std::unique_ptr<attn::Random> new_stream(std::optional<std::string_view> name) const;

  const Options& options_;
  std::unique_ptr<attn::Random> stream_;
};

/// Code that a reader can run to draw what a run with these options draws: NumPy's, or PyTorch's with --rng
/// torch.
struct DrawCode {
  const Options& options;

  /// "rng = np.random.RandomState(42)": what comes before all draws.
  std::string begin() const;

  /// "rng.normal(0, 1, 6)" for the shape "6". Under --draws name `name` is a string of Python: "\"W_Q\"".
  std::string normal(std::string_view name, std::string_view shape) const;

  /// "rng.binomial(1, p, 6)" likewise.
  std::string binomial(std::string_view name, std::string_view probability, std::string_view shape) const;

  /// "rng.randint(0, 7, 6)" likewise: whole numbers from 0 to below `count`.
  std::string integers(std::string_view name, std::size_t count, std::string_view shape) const;

  /// "NumPy" or "PyTorch".
  std::string_view library() const;
};

/// The standard deviation of a drawn weight [fan_in×fan_out]: 1/√fan_in where nothing is chosen,
/// √(2/(fan_in+fan_out)) for "xavier" (Glorot & Bengio 2010), √(2/fan_in) for "he" (He et al. 2015), that of
/// the uniform numbers on ±1/√fan_in for "linear" and on [0, 1) for "uniform", or the number that `choice`
/// is. Throws attn::Error for anything else.
double standard_deviation(const std::optional<std::string>& choice, std::size_t fan_in, std::size_t fan_out);

/// How many times as large as x the numbers of x W are at most, about: for numbers drawn with mean 0 twice
/// the standard deviation times √fan_in; those of "uniform" have the mean 1/2 and add up.
double growth(const std::optional<std::string>& choice, std::size_t fan_in, std::size_t fan_out);

/// Throws attn::Error for a --weight-scale that is none, or that needs --rng torch.
void check_weight_scale(const Options& options);

}  // namespace lessons
