/// Softmax in numbers that have an end: where exp overflows, why subtracting the maximum cures it, what half
/// precision makes of a mask, and what the temperature does. The lesson is the document stability.md, which
/// has its sources; here its scores are drawn.

#include <cmath>

#include "lessons/documents/front_matter.hpp"

namespace lessons {

namespace {

/// One row of scores times 1, 10, 100 and 1000: [query×key].
formula::View scores_of_all_sizes(DocumentRun& run) {
  const auto drawn = run.bench().normal("scores", {run.sheet().size_of("key")}, {.axis = 0});
  formula::Numbers scores(attn::Shape{run.sheet().size_of("size/query"), drawn.size()});
  for (std::size_t i = 0; i < scores.shape(0); ++i)
    for (std::size_t j = 0; j < drawn.size(); ++j)
      scores(i, j) = std::pow(10.0, static_cast<double>(i)) * drawn(j);
  return owned_view(std::move(scores));
}

}  // namespace

const LessonCode stability_code = {.prepare = [](DocumentRun&, Functions& functions) {
  functions.tensors["scores_of_all_sizes"] = scores_of_all_sizes;
}};

}  // namespace lessons
