#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"

/// What a run writes as JSON.
inline nlohmann::json trace_of(const std::string& arguments) {
  return nlohmann::json::parse(output_of(arguments + " --format json"));
}

/// The event of a trace, null where there is none.
inline nlohmann::json event_of(const nlohmann::json& trace, const std::string& id) {
  for (const auto& event : trace["events"])
    if (event["id"] == id) return event;
  return nullptr;
}

inline nlohmann::json data_of(const nlohmann::json& trace, const std::string& id) {
  return event_of(trace, id)["data"];
}
