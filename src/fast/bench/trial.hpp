#pragma once

#include <optional>
#include <variant>

#include "fast/bench/child.hpp"
#include "fast/bench/contestant.hpp"

namespace attn::bench {

/// What a kernel showed when it was tried out.
struct Trial {
  double seconds = 0.0;
  std::optional<double> extra_bytes{};  ///< that it mapped at one time, at most, besides its operands
  double error = 0.0;                   ///< as Judge says
};

struct Trials {
  Trial forward{};
  std::optional<Trial> backward{};  ///< its memory is that of both ways together

  double seconds() const { return forward.seconds + (backward ? backward->seconds : 0.0); }
};

/// Runs the kernel in a process of its own, twice where it is quick. The process is ended where one of these
/// runs takes longer than `seconds`. As for `run_in_child`, nothing may have been computed on several threads
/// before.
/// The operands stay as they are. Memory counts from the moment when the kernel's code, its threads and the
/// buffers of BLAS are in place. Instantiated for float and double.
template <class T>
std::variant<Trials, Ending> try_out(const Contestant<T>& contestant, Operands<T>& operands,
                                     const Setting& setting, double seconds);

}  // namespace attn::bench
