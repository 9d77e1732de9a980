#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/any_tensor.hpp"
#include "trace/event.hpp"
#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// A trace as an .npz archive: each input and step under its id, in its dtype and shape, as NumPy's `savez`
/// would store it. The member `config` (uint8) is the JSON of the header's config, in which the name `trace`
/// tells the lesson and each tensor's kind, axes and labels. The same trace gives the same bytes, and every
/// NaN is the positive quiet one. Notes, claims and tensors without their numbers are left out.
class NpzWriter : public Sink {
 public:
  explicit NpzWriter(const Header& header);
  void receive(const Event& event) override;

  /// The archive.
  std::string finish();

 private:
  std::string config_, description_, tensors_;  ///< members of JSON objects so far
  std::vector<std::pair<std::string, std::string>> members_;
};

/// Opens an .npz archive: of its members no more than the headers is unpacked. Throws Error as `open_trace`
/// does; also for members of other names than ID.npy, and for one that unpacks to more than deflate could
/// pack, or all together to more than 64 MiB and 100 times the file.
std::unique_ptr<StoredTrace> open_npz(File file);

/// The bytes of a .safetensors file (https://github.com/huggingface/safetensors), put together: texts about
/// it, of which there is one at least, and tensors under their ids.
class SafetensorsFile {
 public:
  /// A text of `__metadata__`.
  void describe(std::string_view name, const std::string& text);

  /// Its elements are rounded to `dtype`, as `encode` does.
  void add(std::string_view id, const TensorView& tensor, Dtype dtype);

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

}  // namespace attn
