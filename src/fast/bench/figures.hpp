#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fast/bench/race.hpp"
#include "fast/bench/summary.hpp"

namespace attn::bench {

/// What the rounds of a series say. Ratios are the medians of the ratios within each round.
struct Figures {
  std::size_t n = 0;
  std::string kernel;
  Pass pass = Pass::forward;
  std::size_t rounds = 0;
  double operations = 0.0;
  Quartiles seconds{};
  double rate = 0.0;                     ///< useful operations a second in the median time
  double share_of_product = 0.0;         ///< of the rate of the matrix product
  double share_of_peak = 0.0;            ///< of the rate of the loop in registers
  std::optional<double> times_faster{};  ///< than the lessons' attention on xtensor
  std::optional<double> of_forward{};    ///< a way back: its time in that of the way there
  std::optional<double> of_full{};       ///< where keys are hidden: its time in that with all keys visible
  std::optional<double> extra_bytes{};
  double error = 0.0;
};

/// One for each series, in the same order.
std::vector<Figures> figures_of(const Heat& heat);

/// How the time of a kernel grows with n.
struct Growth {
  std::string kernel;
  Pass pass = Pass::forward;
  double exponent = 0.0;
  std::vector<double> lengths{};  ///< that it was fitted over
};

/// For each pass of a kernel that was timed at two lengths or more, over the three longest: fitted to its
/// time in units of the matrix product's time in the same rounds, so that a machine that slows down meanwhile
/// is not taken for growth.
std::vector<Growth> growth_of(const std::vector<Heat>& heats);

}  // namespace attn::bench
