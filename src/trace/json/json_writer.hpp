#pragma once

#include <string>

#include "trace/event.hpp"

namespace attn {

/// A trace as one JSON document of the schema attnlab.trace/1 (data/trace.schema.json): numbers in shortest
/// round-trip form for their dtype, the non-finite ones as the strings "-Infinity", "Infinity", "NaN".
/// Every event has a line of its own.
class JsonRenderer : public Sink {
 public:
  explicit JsonRenderer(const Header& header);
  void receive(const Event& event) override;

  /// The document, with a newline at its end. Leaves the renderer empty.
  std::string finish();

 private:
  std::string document_;
  bool has_events_ = false;
};

}  // namespace attn
