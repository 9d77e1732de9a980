#pragma once

#include <optional>
#include <string>

namespace lab {

/// The whole curriculum as one page of HTML that runs the lab in the browser.
struct MakeBook {
  std::string output;
  std::optional<std::string> program{};  ///< the folder that lab/browser/build has made
};

/// Writes a document with every lesson's page, the exercises, the glossary, and the program as WebAssembly
/// where there is one; where there is none it says so on stderr. Throws attn::Error where that cannot be
/// done, and where the folder of `program` does not hold it.
void run_book(const MakeBook& make);

}  // namespace lab
