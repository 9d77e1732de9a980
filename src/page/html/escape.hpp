#pragma once

#include <string>
#include <string_view>

namespace attn::html {

/// Words as the text of an element or the value of an attribute in double quotes, in HTML as in XML: no
/// character of theirs ends it, moves a cursor, reorders a line or is forbidden in a document.
std::string escaped(std::string_view words);

/// Words as a JSON string that may stand in a script element: it has no "<", ">" or "&".
std::string json_string(std::string_view words);

}  // namespace attn::html
