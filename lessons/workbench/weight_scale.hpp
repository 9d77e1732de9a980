#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace lessons {

/// The standard deviation of a drawn weight [fan_in×fan_out]: 1/√fan_in where nothing is chosen,
/// √(2/(fan_in+fan_out)) for "xavier" (Glorot & Bengio 2010), √(2/fan_in) for "he" (He et al. 2015), or the
/// number that `choice` is. Throws attn::Error for anything else.
double standard_deviation(const std::optional<std::string>& choice, std::size_t fan_in, std::size_t fan_out);

}  // namespace lessons
