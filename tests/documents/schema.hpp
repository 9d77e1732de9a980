#pragma once

#include <string>
#include <vector>

/// What is wrong with a JSON trace according to data/trace.schema.json; empty for a valid one. Text that is
/// no JSON at all has one error.
std::vector<std::string> schema_errors(const std::string& json_text);
