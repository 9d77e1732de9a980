#pragma once

#include <string>
#include <string_view>

namespace attn {

/// The text with ASCII in the place of the signs of mathematics, arrows, quotation marks and drawings:
/// "softmax(Q K^T / sqrt d_k)", "head*d_v", "h_(t-1)". Letters of other scripts stay, since they are the
/// reader's.
std::string in_ascii(std::string_view text);

/// Whether a text draws with lines: a diagram, which nobody can read aloud.
bool is_drawing(std::string_view text);

}  // namespace attn
