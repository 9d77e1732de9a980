#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Common names of the tensors of attention: those of papers, tutorials and the libraries' state dicts.
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

/// What a common name stands for.
struct Synonym {
  std::vector<std::string> ids;  ///< in lessons: one of them, or the parts of a fused tensor in their order
  Storage storage = Storage::as_it_is;
  bool is_fused = false;
  bool is_third_each = false;  ///< fused of three equal parts, whatever the heads
};

/// Without case, blanks, underscores and dashes, and with a point between the parts of a path:
/// "q_proj/weight" is "qproj.weight".
std::string folded(std::string_view name);

/// What a folded name stands for. Null where it is no common name.
const Synonym* synonym_of(const std::string& folded_name);

}  // namespace attn
