#pragma once

#include <functional>
#include <string>

#include "page/svg/panel.hpp"

namespace attn::html {

/// Where the box of a tensor leads, as an address on the page: by its name and its shape as the diagram has
/// them ("weights", "4×4"; empty without one); empty where no step of the page is meant.
using Target = std::function<std::string(const std::string& name, const std::string& shape)>;

/// The address of a box that is no link.
inline constexpr const char* nowhere = "#";

/// A diagram of text as an SVG drawing: `name [shape]` becomes a box that is a link where it has a target,
/// other words stay words, which may be links, and box-drawing characters and arrows become lines that reach
/// the words beside them.
svg::Drawing flow_drawing(const std::string& diagram, const Target& target);

}  // namespace attn::html
