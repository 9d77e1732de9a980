#pragma once

#include <cstddef>
#include <string>

#include "trace/model.hpp"

namespace lessons {

/// What the model's configuration says of `name`, and nothing where it does not say it.
std::string said_of(const attn::Model& model, const std::string& name);

/// A number of the configuration. Throws attn::Error where it has none of that name.
std::size_t number_said_of(const attn::Model& model, const std::string& name);

}  // namespace lessons
