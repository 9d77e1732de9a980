#include "tests/documents/well_formed.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace {

/// Whether no & stands for itself.
bool has_whole_entities(std::string_view text) {
  for (auto at = text.find('&'); at != text.npos; at = text.find('&', at + 1))
    if (const auto rest = text.substr(at); !rest.starts_with("&amp;") && !rest.starts_with("&lt;") &&
                                           !rest.starts_with("&gt;") && !rest.starts_with("&quot;"))
      return false;
  return true;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == ':' || c == '-';
  });
}

/// ` width="10" x-y="a &amp; b"`
bool are_attributes(std::string_view text) {
  while (true) {
    const auto begin = std::min(text.find_first_not_of(" \n"), text.size());
    if (begin == text.size()) return true;
    const auto equals = text.find("=\"", begin);
    if (begin == 0 || equals == text.npos || !is_name(text.substr(begin, equals - begin))) return false;
    const auto end = text.find('"', equals + 2);
    if (end == text.npos || !has_whole_entities(text.substr(equals + 2, end - equals - 2))) return false;
    text.remove_prefix(end + 1);
  }
}

/// Where the tag ends; npos where it does not, or has a < in it.
std::size_t end_of_tag(std::string_view text) {
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size() && text[i] != '<'; ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (text[i] == '>' && !is_quoted) return i;
  }
  return text.npos;
}

}  // namespace

bool is_well_formed(const std::string& document) {
  std::vector<std::string_view> open;
  std::string_view rest = document;
  while (true) {
    const auto begin = std::min(rest.find('<'), rest.size());
    const auto text = rest.substr(0, begin);
    if (!has_whole_entities(text)) return false;
    if (begin == rest.size()) return open.empty() && text == "\n";
    rest.remove_prefix(begin + 1);
    const auto end = end_of_tag(rest);
    if (end == rest.npos) return false;
    auto tag = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const bool closes = tag.starts_with('/'), is_empty = tag.ends_with('/');
    tag = tag.substr(closes ? 1 : 0, tag.size() - (closes ? 1 : 0) - (is_empty ? 1 : 0));
    const auto name = tag.substr(0, tag.find_first_of(" \n"));
    if (!is_name(name) || !are_attributes(tag.substr(name.size()))) return false;
    if (closes) {
      if (open.empty() || open.back() != name) return false;
      open.pop_back();
    } else if (!is_empty) {
      open.push_back(name);
    }
  }
}
