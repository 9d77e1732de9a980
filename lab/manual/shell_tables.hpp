#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/manual/completions.hpp"

namespace lab {

/// Names that share a text: "--causal --seed" of sdpa and multihead.
using NamesByText = std::map<std::string, std::vector<std::string>>;

/// A function for bash and zsh that prints the text of the name it is given; of any other name the text that
/// most names have.
std::string table_function(const std::string& function, const NamesByText& names_by_text);

/// `_attnlab_value COMMAND OPTION` prints what may follow the option, where something may, and FILE or DIR
/// for a file or a folder; it fails for an option without a value. `_attnlab_argument COMMAND PLACE LESSON`
/// does the same for an argument at a place.
std::string value_functions(const CompletedProgram& program);

/// The text between single quotes, as a shell reads it.
std::string quoted_for_shell(const std::string& text);

/// Words for a value, with FILE and DIR among them.
std::string words_of(const Choices& choices);

std::string joined(const std::vector<std::string>& words, const std::string& separator = " ");

}  // namespace lab
