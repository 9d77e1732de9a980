#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lessons/workbench/options.hpp"

namespace lessons {

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
