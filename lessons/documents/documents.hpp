#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "lessons/workbench/inputs.hpp"

namespace lessons {

/// The document `lessons/NAME`, read once. Throws attn::Error where there is none.
const document::Document& document_named(const std::string& name);

/// A formula or an input of a document or of its parts.
struct Declared {
  const document::Block* block;
  std::string id;
  std::vector<formula::Expr> conditions;  ///< of its heading and of the choices around it
};

/// All of them, in their order; those that a condition leaves out, too. Throws document::Error.
std::vector<Declared> declared_in(const document::Document& document);

/// The inputs that a document and its parts declare, for a lesson with these keys of options, as far as these
/// options decide which there are. Throws document::Error for an unknown way to come by its numbers.
std::vector<Input> inputs_of(const document::Document& document, const std::vector<std::string_view>& keys,
                             const Options& options);

}  // namespace lessons
