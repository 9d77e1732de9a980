#pragma once

#include <optional>
#include <string>

namespace lab {

/// The whole curriculum as one page of HTML that runs the lab in the browser.
struct MakeBook {
  std::string output;
  std::optional<std::string> program{};  ///< the folder that lab/browser/build has made
};

/// The document: every lesson's page, the exercises, the glossary, and the program as WebAssembly where there
/// is one. Throws attn::Error where the folder of `program` does not hold it.
std::string book_of(const MakeBook& make);

/// Writes it, and says on stderr where it is without the program. Throws attn::Error where that cannot be
/// done.
void run_book(const MakeBook& make);

}  // namespace lab
