#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// An element of an XML document.
struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text{};  ///< its own and that of all elements in it
};

/// All elements of the document in the order in which they begin. Throws std::runtime_error, with the line,
/// where it is not well-formed.
std::vector<XmlElement> elements_of(const std::string& document);

/// Those of that name.
std::vector<XmlElement> elements_of(const std::string& document, std::string_view name);
