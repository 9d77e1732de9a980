#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/file.hpp"

namespace attn {

/// What a student wrote on a worksheet.
struct Answers {
  std::string command;                                      ///< that printed the sheet, as it stands there
  std::map<std::string, std::vector<std::string>> cells{};  ///< by step, row by row; a blank one is empty
  std::string student{};                                    ///< the name; empty where none is written
};

/// The answers on a worksheet: of a text its first page, on which each row of a table ends in "|" and has one
/// before every cell; of JSON the object {"worksheet": COMMAND, "name": NAME, ID: [[CELL, …], …], …}, whose
/// cells are numbers, texts or null. None where the file is no worksheet. Throws Error for one that is
/// damaged.
std::optional<Answers> read_answers(const File& file);

}  // namespace attn
