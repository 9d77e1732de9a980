#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/workbench/options.hpp"

namespace lessons {

struct Lesson;

/// What an axis of an input is as long as: `multiplier` · `dimension` + `offset`. The dimension is the key of
/// an option ("d-model"), or a text, which stands for its tokens ("sentence", "source", "target", "memory").
struct Extent {
  std::string_view dimension;  ///< empty where the length follows from something else
  std::size_t multiplier = 1;
  std::size_t offset = 0;
  std::string name;  ///< as errors call the axis: "head·d_k"
};

/// The axes, without a batch axis, of the input `id` of the lesson, under options that decide the number of
/// heads and whether a sentence or a pair of texts is used. None for an id whose shape decides nothing: the
/// lesson itself checks it.
std::optional<std::vector<Extent>> input_shape(const Lesson& lesson, const std::string& id,
                                               const Options& options);

/// The key of the option whose value is what the elements of the input are: `d_k` of the lesson scaling. None
/// for all others.
std::optional<std::string_view> option_of_input(const Lesson& lesson, const std::string& id);

}  // namespace lessons
