#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Unicode text in UTF-8. All but the check itself want valid UTF-8; what is not is read as U+FFFD.

/// Throws Error that begins with `what` (the name of an option, a place in a file) and tells the first byte
/// that belongs to no well-formed character, and its offset.
void require_valid_utf8(std::string_view text, std::string_view what);

/// Normalization Form C (UAX #15): an "e" and a combining acute accent become "é".
std::string nfc(std::string_view text);

/// Lower case, in no language in particular.
std::string lower_case(std::string_view text);

std::u32string code_points(std::string_view text);

/// The text cut into what a reader takes for single characters (extended grapheme clusters, UAX #29): a
/// letter with its accents, a whole emoji sequence.
std::vector<std::string_view> grapheme_clusters(std::string_view text);

/// The text cut at its word boundaries (UAX #29; Chinese, Japanese, Thai… by dictionaries). Pieces of white
/// space and punctuation are among them: together they are the text.
std::vector<std::string_view> word_segments(std::string_view text);

}  // namespace attn
