#include "lessons/masking/mistakes.hpp"

#include <algorithm>

namespace lessons {

namespace {

/// A mask as large as `like`, true where `may_see(b, i, j)` says so.
template <class MaySee>
Mask<3> mask_with_rule(const Mask<3>& like, MaySee may_see) {
  auto mask = like;
  for (std::size_t b = 0; b < mask.shape(0); ++b)
    for (std::size_t i = 0; i < mask.shape(1); ++i)
      for (std::size_t j = 0; j < mask.shape(2); ++j) mask(b, i, j) = may_see(b, i, j);
  return mask;
}

}  // namespace

template <std::size_t N>
Mask<N> negated(Mask<N> mask) {
  std::transform(mask.begin(), mask.end(), mask.begin(), [](bool may_see) { return !may_see; });
  return mask;
}

template Mask<3> negated(Mask<3>);
template Mask<4> negated(Mask<4>);

attn::Mistakes mistakes_of_causal_mask(const Mask<3>& mask) {
  return {{"mask-diagonal", [&] { return mask_with_rule(mask, [](auto, auto i, auto j) { return j < i; }); }},
          {"mask-leaks-one",
           [&] { return mask_with_rule(mask, [](auto, auto i, auto j) { return j <= i + 1; }); }},
          {"mask-inverted:mask", [&] { return negated(mask); }},
          {"mask-true-hidden", [&] { return negated(mask); }}};
}

attn::Mistakes mistakes_of_padding_mask(const Mask<3>& mask) {
  return {{"mask-padding-on-queries",
           [&] { return mask_with_rule(mask, [&](auto b, auto i, auto j) { return mask(b, j, i); }); }},
          {"mask-inverted:mask", [&] { return negated(mask); }},
          {"mask-true-hidden", [&] { return negated(mask); }}};
}

attn::Mistakes mistakes_of_combined_mask(const Mask<3>& causal, const Mask<3>& padding) {
  const auto either = [&] {
    return mask_with_rule(causal,
                          [&](auto b, auto i, auto j) { return causal(b, i, j) || padding(b, i, j); });
  };
  return {{"mask-combined-or", either}, {"mask-true-hidden", either}};  // what either hides is hidden
}

}  // namespace lessons
