#pragma once

#include <memory>
#include <string>

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

/// Opens such a document, read strictly: each name once in an object, no more than 40 levels, and bounded lists
/// but for those of elements. All of it is read here; elements take 8 bytes each, and 16 until their tensor is
/// complete. Throws Error as `open_trace` does.
std::unique_ptr<StoredTrace> open_json(File file);

}  // namespace attn
