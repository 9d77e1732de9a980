#pragma once

#include <vector>

#include "trace/stored_trace.hpp"

namespace attn {

/// Keeps the inputs and steps of a run, to be compared with a stored trace. Tensors without their numbers are
/// left out.
class Recorder : public Sink, public StoredTrace {
 public:
  explicit Recorder(const Header& header);
  void receive(const Event& event) override;
  AnyTensor read(std::size_t index) const override;

 private:
  std::vector<AnyTensor> recorded_;
};

}  // namespace attn
