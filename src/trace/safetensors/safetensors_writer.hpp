#pragma once

#include <string>

#include "trace/event.hpp"

namespace attn {

/// A trace as a .safetensors file: each input and step under its id; the lesson, the config and each tensor's
/// kind, axes and labels as JSON texts in `__metadata__`. The same trace gives the same bytes. Notes, claims
/// and tensors without their numbers are left out.
class SafetensorsWriter : public Sink {
 public:
  explicit SafetensorsWriter(const Header& header);
  void receive(const Event& event) override;

  /// The file's bytes. Leaves the writer empty.
  std::string finish();

 private:
  std::string metadata_;  ///< members of the header's __metadata__ so far
  std::string entries_;   ///< members of the header so far
  std::string elements_;
};

}  // namespace attn
