#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "trace/any_tensor.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// The matrix in a file of rows of numbers with commas between them, one row a line; what is blank around
/// them and at the end is passed over. Words such as inf, -inf and nan are numbers, too. Throws Error, with
/// the path and the line, for anything else.
AnyTensor read_csv(const std::string& path);

/// Whether it is a folder with such files in it or in folders inside it.
bool has_csv_files(const std::string& folder);

/// Their matrices, each under the name of its file, with those of the folders inside: "encoder/h" of
/// encoder/h.csv. Throws Error as `open_trace` does.
std::unique_ptr<StoredTrace> open_csv_folder(const std::string& folder);

/// A table of objects that have the same members: a line of their names, then a line for each. A list of
/// texts is written one behind the other, true and false as 1 and 0, null as nothing.
std::string csv_of(const nlohmann::ordered_json& objects);

}  // namespace attn
