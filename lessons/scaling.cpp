/// Why scores are divided by √d_k: derived, then measured. The lesson is the document scaling.md, which has
/// its source; here are its random queries and keys.

#include <fmt/format.h>

#include <numeric>

#include "lessons/documents/front_matter.hpp"

namespace lessons {

namespace {

/// The dot product of each query with its key: [d_k×sample].
formula::View random_scores(DocumentRun& run) {
  auto& bench = run.bench();
  const auto samples = *bench.options.samples;
  const auto& lengths = bench.options.d_k_list;
  formula::Numbers scores;
  for (std::size_t at = 0; at < lengths.size(); ++at) {
    const auto q = bench.normal(fmt::format("q d_k={}", lengths[at]), {samples, lengths[at]});
    const auto k = bench.normal(fmt::format("k d_k={}", lengths[at]), {samples, lengths[at]});
    if (at == 0) scores = formula::Numbers(attn::Shape{lengths.size(), samples}, 0.0);
    for (std::size_t i = 0; i < samples; ++i)
      scores(at, i) = std::inner_product(q.data() + i * lengths[at], q.data() + (i + 1) * lengths[at],
                                         k.data() + i * lengths[at], 0.0);
  }
  return owned_view(std::move(scores));
}

}  // namespace

const LessonCode scaling_code = {.prepare = [](DocumentRun&, Functions& functions) {
  functions.tensors["random_scores"] = random_scores;
}};

}  // namespace lessons
