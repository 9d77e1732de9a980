#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/memory_trace.hpp"

/// Somebody's tensors, for tests.
namespace somebody {

using Strings = std::vector<std::string>;

inline std::vector<double> entries_of(const attn::AnyTensor& tensor) {
  std::vector<double> entries;
  for (std::size_t i = 0; i < attn::element_count(tensor.shape()); ++i)
    entries.push_back(tensor.view().at(i));
  return entries;
}

inline attn::AnyTensor tensor(attn::Shape shape, const std::vector<double>& entries,
                              attn::Dtype dtype = attn::Dtype::float64) {
  attn::AnyTensor result(dtype, std::move(shape));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (dtype == attn::Dtype::boolean)
      result.elements<bool>()[i] = entries[i] != 0.0;
    else if (dtype == attn::Dtype::int64)
      result.elements<std::int64_t>()[i] = static_cast<std::int64_t>(entries[i]);
    else
      result.elements<double>()[i] = entries[i];
  }
  return result;
}

/// Its entries are first, first + 1, … in row-major order.
inline attn::AnyTensor counting(attn::Shape shape, double first = 0.0) {
  attn::AnyTensor result(attn::Dtype::float64, std::move(shape));
  for (std::size_t i = 0; i < attn::element_count(result.shape()); ++i)
    result.elements<double>()[i] = first + static_cast<double>(i);
  return result;
}

/// A file that holds these tensors.
inline MemoryTrace file_of(std::vector<std::pair<std::string, attn::AnyTensor>> tensors,
                           std::vector<std::pair<std::string, attn::ConfigValue>> config = {}) {
  MemoryTrace file("", std::move(config));
  for (auto& [name, tensor] : tensors) file.add(name, std::move(tensor));
  return file;
}

}  // namespace somebody
