#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trace/event.hpp"
#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// A trace as one JSON document of the schema attnlab.trace/1 (data/trace.schema.json): numbers in shortest
/// round-trip form for their dtype, the non-finite ones as the strings "-Infinity", "Infinity", "NaN".
/// Every event has a line of its own.
class JsonWriter : public Sink {
 public:
  explicit JsonWriter(const Header& header);
  void receive(const Event& event) override;

  /// The document, with a newline at its end. Leaves the writer empty.
  std::string finish();

 private:
  std::string document_;
  bool has_events_ = false;
};

/// A tensor in nested lists, "[[1, 0], [0, 1]]", read as strictly: of bool, of int64 where all elements are
/// whole, or of float64. Throws Error, with `place`, for anything else.
AnyTensor parse_tensor(std::string_view text, std::string_view place);

/// Opens such a document, or one of nothing but tensors by id, {"X": [[1, 0], [0, 1]]}, and perhaps the
/// options that they were made with, {"config": {"heads": 2}}, read strictly: each name once in an object, no
/// more than 40 levels, and bounded lists but for those of a trace's elements. All of it is read here;
/// elements take 8 bytes each, and 16 until their tensor is complete. Throws Error as `open_trace` does.
std::unique_ptr<StoredTrace> open_json(File file);

}  // namespace attn
