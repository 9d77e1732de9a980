#pragma once

#include "lessons/generate.hpp"

namespace lessons {

/// Shows, after the last step of decoding, the notes `work` and `memory` for the page, `cost` [step×feature],
/// what each step took, how the caches have grown, `cache/K` and `cache/V` of each layer as they are now, and
/// `cache/bytes` [kv_head]: what they would take up in memory with as many key and value heads as query
/// heads, with each smaller number that these can share, and with one. Claims that the caches of the run take
/// up their share.
void show_cache(Workbench& bench, const Decoding& decoding);

}  // namespace lessons
