#include "lessons/trained/said_of.hpp"

#include <fmt/format.h>

#include <charconv>

#include "attn/error.hpp"
#include "trace/file.hpp"

namespace lessons {

std::string said_of(const attn::Model& model, const std::string& name) {
  const auto found = model.configuration.find(name);
  return found == model.configuration.end() ? "" : found->second;
}

std::size_t number_said_of(const attn::Model& model, const std::string& name) {
  const auto found = model.configuration.find(name);
  if (found == model.configuration.end())
    throw attn::Error(fmt::format("the model of the task {} does not say its {}", model.task, name));
  const auto& text = found->second;
  std::size_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    throw attn::Error(fmt::format("the {} of the model of the task {} is {}; valid: a whole number", name,
                                  model.task, attn::in_message(text)));
  return value;
}

}  // namespace lessons
