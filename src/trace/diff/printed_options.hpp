#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/event.hpp"

namespace attn {

/// The options in the header of a printed trace, such as `sentence="the cat"  d_k=8  causal`. A flag is true;
/// what looks like no option is a flag too, so that nothing is lost.
std::vector<std::pair<std::string, ConfigValue>> parse_printed_options(std::string_view text);

}  // namespace attn
