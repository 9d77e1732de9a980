#include "lessons/trained/said_of.hpp"

namespace lessons {

std::string said_of(const attn::Model& model, const std::string& name) {
  const auto found = model.configuration.find(name);
  return found == model.configuration.end() ? "" : found->second;
}

}  // namespace lessons
