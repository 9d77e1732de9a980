#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Names of the tensors of attention that people use, and what they mean in a lesson.
namespace attn {

/// How a file has a weight, which the lessons multiply from the right: [in×out].
enum class Storage {
  as_it_is,
  transposed,    ///< [out×in], as nn.Linear has it
  as_in_gpt2,    ///< either, as the file's c_attn.weight shows: GPT-2's Conv1D is [in×out], others use
                 ///< nn.Linear
  interleaved,   ///< [out×in] with the rows of Q, K and V of one head after another
  by_its_shape,  ///< fused: the axis that is three times as long as the other is that of the outputs
};

/// What a name stands for.
struct Meaning {
  std::vector<std::string> ids{};  ///< of the lesson: none, one, several where the name leaves it open, or
                                   ///< the parts of a fused tensor, "" for one that the lesson lacks
  Storage storage = Storage::as_it_is;
  bool is_fused = false;
  bool is_third_each = false;  ///< fused of three equal parts, whatever the heads
};

/// Without case, blanks, underscores and dashes, and with a point between the parts of a path:
/// "q_proj/weight" is "qproj.weight".
std::string folded(std::string_view name);

/// What a folded name stands for in lessons, as data/names/ has it. Null where it is no common name. Throws
/// Error for data that cannot be read.
const Meaning* synonym_of(const std::string& folded_name);

/// What `name` means in a lesson that has tensors of these ids. A common name is as good as the id, whatever
/// its case and separators. The path before it says which of several:
/// "decoder.layers.0.cross_attn.q_proj.weight" is cross/W_Q, and W_Q where the lesson has no more than one
/// attention. A path that names another part, such as "mlp.dropout" of "mlp.dropout.output", leaves the name
/// without a meaning.
Meaning meaning_of(std::string_view name, const std::vector<std::string>& known_ids);

}  // namespace attn
