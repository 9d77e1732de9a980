#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/diagnosis/synonyms.hpp"

namespace attn {

/// What somebody's name may mean in a lesson.
struct Meaning {
  std::vector<std::string> ids{};  ///< of the lesson: none, one, several where the name leaves it open, or
                                   ///< the parts of a fused tensor, "" for one that the lesson lacks
  Storage storage = Storage::as_it_is;
  bool is_fused = false;
  bool is_third_each = false;
};

/// What `name` means in a lesson that has tensors of these ids. A common name is as good as the id, whatever
/// its case and separators. The path before it says which of several:
/// "decoder.layers.0.cross_attn.q_proj.weight" is cross/W_Q, and W_Q where the lesson has no more than one
/// attention. A path that names another part, such as "mlp.dropout" of "mlp.dropout.output", leaves the name
/// without a meaning.
Meaning meaning_of(std::string_view name, const std::vector<std::string>& known_ids);

}  // namespace attn
