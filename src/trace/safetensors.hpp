#pragma once

#include <memory>
#include <string>

#include "trace/event.hpp"
#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

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

/// Opens a .safetensors file (https://github.com/huggingface/safetensors): the length of a JSON header, the
/// header, then the elements of all tensors without a gap. Only the header is read. Throws Error as
/// `open_trace` does.
std::unique_ptr<StoredTrace> open_safetensors(File file);

}  // namespace attn
