#pragma once

#include <string>

#include "trace/model.hpp"

namespace lessons {

/// What the model's configuration says of `name`, and nothing where it does not say it.
std::string said_of(const attn::Model& model, const std::string& name);

}  // namespace lessons
