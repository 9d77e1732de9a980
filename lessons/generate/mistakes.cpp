#include "lessons/generate/mistakes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lessons/generate.hpp"

namespace lessons {

attn::Mistakes mistakes_of_reading(const Tensor<2>& embedding, const Tensor<2>& positions,
                                   const std::vector<std::size_t>& tokens, std::size_t known) {
  const auto read_at = [&, known](std::ptrdiff_t offset) -> std::optional<Tensor<3>> {
    const auto first = static_cast<std::ptrdiff_t>(known) + offset;
    if (first < 0 || static_cast<std::size_t>(first) + tokens.size() > positions.shape(0))
      return std::nullopt;
    return embed_tokens(embedding, positions, tokens, static_cast<std::size_t>(first));
  };
  attn::Mistakes mistakes = {{"pe-missing", [&] {
                                const Tensor<2> none(positions.shape(), 0.0);
                                return embed_tokens(embedding, none, tokens, 0);
                              }}};
  if (known == 0) return mistakes;
  mistakes.emplace_back("cache-position-zero", [&] { return embed_tokens(embedding, positions, tokens, 0); });
  mistakes.emplace_back("cache-offset", [=] { return read_at(-1); });
  mistakes.emplace_back("cache-offset:late", [=] { return read_at(1); });
  return mistakes;
}

attn::Mistakes mistakes_of_cache(const Tensor<4>& kept, std::size_t known) {
  if (known == 0) return {};
  const auto per_head = [&kept](auto change) {
    auto changed = kept;
    const auto size = kept.shape(2) * kept.shape(3);
    for (std::size_t head = 0; head < kept.shape(0) * kept.shape(1); ++head)
      change(changed.data() + head * size);
    return changed;
  };
  const auto keys = kept.shape(2), d = kept.shape(3);
  return {{"cache-stale",
           [=] {
             return per_head([=](double* rows) {
               for (std::size_t key = known; key < keys; ++key)
                 std::copy_n(rows + (known - 1) * d, d, rows + key * d);
             });
           }},
          // A window of as many keys as there are now moves on, though its last place was still empty.
          {fmt::format("cache-window-early:{}", keys), [=] {
             return per_head([=](double* rows) {
               std::copy(rows + d, rows + known * d, rows);
               std::fill_n(rows + (known - 1) * d, d, 0.0);
             });
           }}};
}

}  // namespace lessons
