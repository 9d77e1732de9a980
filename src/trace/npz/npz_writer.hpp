#pragma once

#include <memory>
#include <string>

#include "trace/event.hpp"

namespace attn {

/// A trace as an .npz archive: each input and step under its id, in its dtype and shape, as NumPy's `savez`
/// would store it, and the member `config` (uint8), the JSON of the header's config. What NumPy does not look
/// at says the rest: the archive's comment names the lesson, a member's comment its kind, axes and labels
/// (left out where they take more than the 65,535 bytes of a comment). The same trace gives the same bytes,
/// and every NaN is the positive quiet one.
/// Notes, claims and tensors without their numbers are left out.
class NpzWriter : public Sink {
 public:
  explicit NpzWriter(const Header& header);
  ~NpzWriter() override;
  void receive(const Event& event) override;

  /// The archive. Leaves the writer empty.
  std::string finish();

 private:
  struct Archive;
  std::unique_ptr<Archive> archive_;
};

}  // namespace attn
