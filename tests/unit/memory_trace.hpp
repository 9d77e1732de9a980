#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "trace/stored_trace.hpp"

/// A trace that a test puts together.
class MemoryTrace : public attn::StoredTrace {
 public:
  explicit MemoryTrace(std::string lesson = "",
                       std::vector<std::pair<std::string, attn::ConfigValue>> config = {}) {
    header_.lesson = std::move(lesson);
    header_.config = std::move(config);
  }

  /// Adds a tensor. Labels are none or as many as axes. Returns what is known of the tensor, to be changed.
  template <class T>
  attn::StoredTensor& add(const std::string& id, const attn::Shape& shape, const std::vector<T>& elements,
                          const std::vector<std::string>& axes = {},
                          std::vector<attn::AxisLabels> labels = {}) {
    attn::AnyTensor tensor(attn::dtype_of<T>(), shape);
    using Stored = std::conditional_t<std::is_same_v<T, float>, double, T>;
    std::copy(elements.begin(), elements.end(), tensor.template elements<Stored>());
    elements_.push_back(std::move(tensor));
    labels.resize(axes.size());
    tensors_.push_back({.id = id,
                        .dtype = attn::dtype_of<T>(),
                        .stored_dtype = std::string(attn::name_of(attn::dtype_of<T>())),
                        .shape = shape,
                        .axes = axes,
                        .labels = std::move(labels)});
    return tensors_.back();
  }

  /// The same of a tensor of any type.
  attn::StoredTensor& add(const std::string& id, attn::AnyTensor tensor,
                          const std::vector<std::string>& axes = {}) {
    tensors_.push_back({.id = id,
                        .dtype = tensor.dtype(),
                        .stored_dtype = std::string(attn::name_of(tensor.dtype())),
                        .shape = tensor.shape(),
                        .axes = axes,
                        .labels = std::vector<attn::AxisLabels>(axes.size())});
    elements_.push_back(std::move(tensor));
    return tensors_.back();
  }

  /// What is told of an event in words.
  void tell(const std::string& id, const std::vector<std::pair<std::string, std::string>>& members) {
    words_.push_back({.id = id, .members = members});
  }

  attn::AnyTensor read(std::size_t index) const override { return elements_[index]; }

 private:
  std::vector<attn::AnyTensor> elements_;
};
