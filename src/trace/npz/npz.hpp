#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

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

  /// The archive. Leaves the writer empty.
  std::string finish();

 private:
  std::string config_, description_, tensors_;  ///< members of JSON objects so far
  std::vector<std::pair<std::string, std::string>> members_;
};

/// Opens an .npz archive: of its members no more than the headers is read. Throws Error as `open_trace` does;
/// also for members of other names than ID.npy, and for one that unpacks to more than deflate could pack, or
/// all together to more than 64 MiB and 100 times the file.
std::unique_ptr<StoredTrace> open_npz(File file);

}  // namespace attn
