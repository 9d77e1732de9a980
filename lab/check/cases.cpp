#include "lab/check/cases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "page/html/escape.hpp"

namespace lab {

namespace {

using attn::html::escaped;

/// Lines of text in an element of XML: each is escaped, and the breaks between them stay.
std::string escaped_lines(const std::string& text) {
  std::string lines;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find('\n', start), text.size());
    lines += escaped(text.substr(start, end - start)) + '\n';
    start = end + 1;
  }
  return lines;
}

/// As GitHub's workflow commands have it; in a property a colon and a comma are signs of the command, too.
std::string encoded(const std::string& text, bool is_property) {
  std::string result;
  for (const char c : text)
    if (c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ',')))
      result += fmt::format("%{:02X}", static_cast<unsigned>(c));
    else
      result += c;
  return result;
}

}  // namespace

std::string junit_of(const std::string& suite, const std::vector<Case>& cases) {
  const auto failures =
      std::count_if(cases.begin(), cases.end(), [](const Case& one) { return !one.problem.empty(); });
  auto xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\">\n",
      escaped(suite), cases.size(), failures);
  for (const auto& [name, problem, details] : cases) {
    xml += fmt::format("<testcase classname=\"{}\" name=\"{}\"", escaped(suite), escaped(name));
    xml += problem.empty() ? "/>\n"
                           : fmt::format(">\n<failure message=\"{}\">{}</failure>\n</testcase>\n",
                                         escaped(problem), escaped_lines(details));
  }
  return xml + "</testsuite>\n</testsuites>\n";
}

std::string annotations_of(const std::string& suite, const std::vector<Case>& cases) {
  std::string lines;
  for (const auto& [name, problem, details] : cases)
    if (!problem.empty())
      lines += fmt::format("::error title={}::{}\n", encoded(suite + ", " + name, true),
                           encoded(problem + (details.empty() ? "" : "\n" + details), false));
  return lines;
}

}  // namespace lab
