#pragma once

#include "attn/random/random.hpp"

namespace attn {

/// Number of successes in `trials` trials of probability `probability`, made of the uniform numbers of
/// `random`: by inversion for small means, by BTPE (Kachitvichyanukul & Schmeiser 1988) otherwise. Uses up
/// draws even where the result is certain.
std::int64_t binomial_of_uniforms(Random& random, std::int64_t trials, double probability);

}  // namespace attn
