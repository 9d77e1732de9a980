#pragma once

#include "attn/train/initialisation.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// How many vectors are sent through freshly drawn layers, and how many of them attend to each other.
constexpr std::size_t vectors = 256, attending = 16;

/// Shows the group initialisation/ and returns what Xavier's does with nothing between the layers.
attn::VarianceThroughLayers show_initialisations(Workbench& bench);

}  // namespace lessons
