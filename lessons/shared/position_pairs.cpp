#include "lessons/shared/position_pairs.hpp"

#include <fmt/format.h>

#include "attn/error.hpp"

namespace lessons {

void require_pairs(const Options& options, const std::string& needed_by, const std::string& otherwise) {
  const auto d = options.d_model.value();
  if (d % 2 == 0) return;
  const auto others = otherwise.empty() ? "" : ", or " + otherwise;
  if (options.embeddings)
    throw attn::Error(
        fmt::format("the vectors of {} have {} numbers, which do not make the pairs that {} need; valid: "
                    "vectors of even length{}",
                    *options.embeddings, d, needed_by, others));
  throw attn::Error(fmt::format("--d-model {} does not make the pairs that {} need; valid: --d-model {}{}", d,
                                needed_by, d == 1 ? "2" : fmt::format("{} or {}", d - 1, d + 1), others));
}

}  // namespace lessons
