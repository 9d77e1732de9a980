#pragma once

#include <string>
#include <string_view>

namespace attn::html {

/// A formula in plain Unicode maths, of one line, as MathML: "Q Kᵀ / √d_k" becomes a fraction with a root
/// below its line, ᵢ and _k subscripts, ᵀ and ^2 superscripts. A "/" between spaces is the line of a
/// fraction, another one stands in a name (encoder/h) or in the line. Words stay words. Whatever the text,
/// the result is well-formed.
std::string mathml(std::string_view formula);

}  // namespace attn::html
