#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "trace/stored_trace.hpp"

/// Reading what is stored, for tests.
namespace stored {

/// The elements of one tensor of a file, which have to be of that type.
template <class T>
std::vector<T> elements_of(const attn::StoredTrace& trace, const std::string& id,
                           attn::Dtype dtype = attn::dtype_of<T>()) {
  INFO(id);
  const auto* tensor = trace.find(id);
  REQUIRE(tensor != nullptr);
  REQUIRE(tensor->dtype == dtype);
  const auto read = trace.read(static_cast<std::size_t>(tensor - trace.tensors().data()));
  const auto* elements = static_cast<const T*>(read.view().data);
  return std::vector<T>(elements, elements + attn::element_count(read.shape()));
}

inline std::vector<std::string> ids_of(const attn::StoredTrace& trace) {
  std::vector<std::string> ids;
  for (const auto& tensor : trace.tensors()) ids.push_back(tensor.id);
  return ids;
}

/// Opens a file and reads all of it. What is said of it after its path, or "no error".
inline std::string refusal(const std::string& path) {
  try {
    const auto trace = attn::open_trace(path);
    for (std::size_t i = 0; i < trace->tensors().size(); ++i) trace->read(i);
  } catch (const attn::Error& error) {
    const std::string message = error.what();
    REQUIRE(message.rfind(path + ": ", 0) == 0);
    REQUIRE(message.find("; valid: ") != message.npos);
    REQUIRE(message.find('\n') == message.npos);
    return message.substr(path.size() + 2);
  }
  return "no error";
}

}  // namespace stored
