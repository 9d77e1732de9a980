#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "trace/stored_trace.hpp"

/// What a file says of a trace and its tensors beside their elements. All functions throw Error, with
/// `place`, for what contradicts data/trace.schema.json.
namespace attn {

/// Lesson and title.
void read_lesson(const nlohmann::json& description, Header& header, std::string_view place);

/// Options by name, from a JSON object. A number without a fraction comes back as int64, an empty list as a
/// list of texts.
void read_config(const nlohmann::ordered_json& options, Header& header, std::string_view place);

/// Kind, axes and labels, each where it is there.
void read_description(const nlohmann::json& description, StoredTensor& tensor, std::string_view place);

}  // namespace attn
