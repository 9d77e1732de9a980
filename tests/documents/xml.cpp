#include "tests/documents/xml.hpp"

#include <expat.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace {

struct Reader {
  std::vector<XmlElement> elements{};
  std::vector<std::size_t> open{};
};

void begin_element(void* data, const XML_Char* name, const XML_Char** attributes) {
  auto& reader = *static_cast<Reader*>(data);
  XmlElement element{name, {}};
  for (; *attributes != nullptr; attributes += 2) element.attributes[attributes[0]] = attributes[1];
  reader.open.push_back(reader.elements.size());
  reader.elements.push_back(std::move(element));
}

void end_element(void* data, const XML_Char*) {
  static_cast<Reader*>(data)->open.pop_back();
}

void add_text(void* data, const XML_Char* text, int length) {
  auto& reader = *static_cast<Reader*>(data);
  for (const auto i : reader.open) reader.elements[i].text.append(text, static_cast<std::size_t>(length));
}

}  // namespace

std::vector<XmlElement> elements_of(const std::string& document) {
  Reader reader;
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate("UTF-8"),
                                                                            &XML_ParserFree);
  XML_SetUserData(parser.get(), &reader);
  XML_SetElementHandler(parser.get(), begin_element, end_element);
  XML_SetCharacterDataHandler(parser.get(), add_text);
  if (XML_Parse(parser.get(), document.data(), static_cast<int>(document.size()), XML_TRUE) != XML_STATUS_OK)
    throw std::runtime_error("line " + std::to_string(XML_GetCurrentLineNumber(parser.get())) + ": " +
                             XML_ErrorString(XML_GetErrorCode(parser.get())));
  return reader.elements;
}

std::vector<XmlElement> elements_of(const std::string& document, std::string_view name) {
  auto elements = elements_of(document);
  std::erase_if(elements, [&](const auto& element) { return element.name != name; });
  return elements;
}
