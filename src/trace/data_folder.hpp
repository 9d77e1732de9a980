#pragma once

#include <string>
#include <vector>

namespace attn {

/// A folder of the lab's data by its name: "corpora", "models". It is looked for in the folder that the
/// variable ATTNLAB_DATA names, beside the installed program (share/attnlab) and in the folder that the
/// program was built from. Throws Error, with all of them, where none has it.
std::string data_folder(const std::string& name);

/// All folders of that name, in the order in which they are looked for. Throws the same.
std::vector<std::string> data_folders(const std::string& name);

}  // namespace attn
