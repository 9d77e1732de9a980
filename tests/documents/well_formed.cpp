#include "tests/documents/well_formed.hpp"

#include <regex>
#include <vector>

bool is_well_formed(const std::string& document) {
  static const std::regex tag(
      R"(<(/?)([a-z]+)((?:\s+[A-Za-z0-9:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)\s*(/?)>)");
  std::vector<std::string> open;
  auto rest = document.cbegin();
  for (std::sregex_iterator match(document.begin(), document.end(), tag), end; match != end; ++match) {
    const std::string between(rest, (*match)[0].first);
    static const std::regex text("(?:[^<&]|&(?:amp|lt|gt|quot);)*");
    if (!std::regex_match(between, text)) return false;
    rest = (*match)[0].second;
    if ((*match)[4].length() > 0) continue;
    if ((*match)[1].length() == 0) {
      open.push_back((*match)[2]);
    } else {
      if (open.empty() || open.back() != (*match)[2]) return false;
      open.pop_back();
    }
  }
  return open.empty() && std::string(rest, document.cend()) == "\n";
}
