#include "trace/recorder.hpp"

namespace attn {

Recorder::Recorder(const Header& header) {
  header_ = header;
}

void Recorder::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  const auto& tensor = *event.tensor;
  tensors_.push_back({.id = event.id,
                      .dtype = tensor.dtype,
                      .stored_dtype = std::string(name_of(tensor.dtype)),
                      .shape = tensor.shape,
                      .kind = event.kind,
                      .axes = event.axes,
                      .labels = event.labels});
  recorded_.emplace_back(tensor);
}

AnyTensor Recorder::read(std::size_t index) const {
  return recorded_.at(index);
}

}  // namespace attn
