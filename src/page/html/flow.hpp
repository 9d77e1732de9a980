#pragma once

#include <functional>
#include <string>

namespace attn::html {

/// Where the box of a tensor leads, as an address on the page: by its name and its shape as the diagram has
/// them ("weights", "4×4"; empty without one); empty where no step of the page is meant.
using Target = std::function<std::string(const std::string& name, const std::string& shape)>;

/// A diagram of text as an SVG drawing: `name [shape]` becomes a box that is a link where it has a target,
/// other words stay words, which may be links, and box-drawing characters and arrows become lines that reach
/// the words beside them.
std::string flow_drawing(const std::string& diagram, const Target& target);

}  // namespace attn::html
