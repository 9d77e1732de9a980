#pragma once

#include <string>
#include <string_view>

namespace attn::html {

/// The files style.css and page.js of this folder, as they stand in the elements of a page.
std::string_view style_sheet();
std::string_view page_script();

/// The Content-Security-Policy under which a page runs nothing but that script and has no style but that
/// sheet, and fetches nothing.
std::string content_policy();

}  // namespace attn::html
