#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "trace/entry.hpp"
#include "trace/event.hpp"
#include "trace/text/table.hpp"

namespace attn {

/// A trace as text for people and for diffs: byte-identical for the same run on every machine.
class TextRenderer : public Sink {
 public:
  TextRenderer(const Header& header, const TextStyle& style);
  void receive(const Event& event) override;

  /// The whole text so far, with the summary of claims at its end. Leaves the renderer empty.
  std::string finish();

 private:
  struct OutlineRow {
    std::string number, id, shape, formula;
  };

  void write_header(const Header& header);
  void write_note(const Event& event);
  void write_tensor(const Event& event);
  void write_definition(const Event& event);
  void write_worked(const Event& event);
  void write_legends(const TensorView& tensor);
  void write_outline();
  void write_claims();
  void write_claim(const Event& claim);
  void write_verdict();

  void write_heading(const std::string& start, const std::string& heading);
  void write_prose(const std::string& prose, std::size_t indent);
  void write_legend(const std::string& legend);
  void write_line(const std::string& line, std::size_t indent = 0);
  std::string styled(const std::string& text, std::string_view style) const;
  std::string origin(const Event& event) const;

  TextStyle style_;
  std::string text_;
  std::size_t tensor_count_ = 0;
  std::map<std::string, Shape> shapes_;  ///< of the tensors so far, by id
  EntryNames names_;
  std::vector<OutlineRow> outline_;  ///< tensors without numbers, written together to align their columns
  std::vector<Event> claims_;
  std::set<std::string> explained_;  ///< legends that stand in the text already
};

}  // namespace attn
