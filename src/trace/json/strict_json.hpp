#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace attn {

/// A JSON text (RFC 8259, in UTF-8), read strictly: no name twice in an object, no more than 40 levels of
/// nesting, and bounded lists. `Json` is nlohmann::json or, where the order of names matters and there are no
/// more than 1000, nlohmann::ordered_json. Throws Error, with `place`, for anything else.
template <class Json>
Json parse_json(std::string_view text, std::string_view place);

}  // namespace attn
