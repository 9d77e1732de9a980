#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trace/element_type.hpp"
#include "trace/event.hpp"
#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// The bytes of a .safetensors file (https://github.com/huggingface/safetensors), put together: texts about
/// it, of which there is one at least, and tensors under their ids.
class SafetensorsFile {
 public:
  /// A text of `__metadata__`.
  void describe(std::string_view name, const std::string& text);

  /// Its elements are rounded to `type`, as `encode` does.
  void add(std::string_view id, const TensorView& tensor, ElementType type);

  std::string finish();

 private:
  std::string metadata_, entries_;  ///< members of the header's __metadata__ and of the header so far
  std::string elements_;
};

/// A trace as a .safetensors file: each input and step under its id; the lesson, the config and each tensor's
/// kind, axes and labels as JSON texts in `__metadata__`. The same trace gives the same bytes. Notes, claims
/// and tensors without their numbers are left out.
class SafetensorsWriter : public Sink {
 public:
  explicit SafetensorsWriter(const Header& header);
  void receive(const Event& event) override;

  /// The file's bytes.
  std::string finish() { return file_.finish(); }

 private:
  SafetensorsFile file_;
};

/// Opens a .safetensors file (https://github.com/huggingface/safetensors): the length of a JSON header, the
/// header, then the elements of all tensors without a gap. Throws Error as
/// `open_trace` does.
std::unique_ptr<StoredTrace> open_safetensors(File file);

}  // namespace attn
