#pragma once

#include <map>
#include <optional>
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

  /// The whole text so far, with the claims at its end. Leaves the renderer empty.
  std::string finish();

 private:
  /// An event as text. Steps are numbered when it is known in which order they stand.
  struct Block {
    std::size_t position = 0;
    bool is_numbered = false;
    std::string definition{};  ///< "scores = Q Kᵀ"; empty of a note
    std::string title{};
    std::string shape{};  ///< "[query 6 × key 6]"
    std::string id{};
    std::string origin{};
    std::string worked{}, worked_by_full_name{};  ///< "output[a, 0] = …", "ffn/output[a, 0] = …"
    std::string body{};
  };

  struct OutlineRow {
    std::string id, shape, formula;
  };

  void write_header(const Header& header);
  void write_rule();
  Block note_block(const Event& event);
  Block tensor_block(const Event& event);
  Block line_block(const Event& event);
  void write_blocks();
  void write_block(const Block& block);
  void write_definition(const Block& block);
  void write_worked(const Event& event, std::size_t name_begins);
  void write_origin(const Event& event);
  void write_legends(const Event& event);
  void write_outline();
  void write_claims();
  void write_claim(const Event& claim);
  void write_verdict();
  void write_what_is_left_out();

  void write_heading(const std::string& start, const std::string& heading);
  void write_prose(const std::string& prose, std::size_t indent);
  void write_formula(const std::string& formula, std::size_t most_indent);
  void write_legend(const std::string& legend);
  void write_line(const std::string& line, std::size_t indent = 0);
  std::string styled(const std::string& text, std::string_view style) const;

  TextStyle style_;
  std::string text_;
  std::size_t step_count_ = 0;
  std::vector<std::string> left_out_;    ///< tensors
  std::map<std::string, Shape> shapes_;  ///< of the tensors so far, by id
  EntryNames names_;
  std::vector<Block> blocks_;
  std::set<std::string> ids_;        ///< of the blocks
  std::vector<OutlineRow> outline_;  ///< tensors without numbers, written together to align their columns
  std::vector<Event> claims_;
  std::size_t claims_left_out_ = 0;
  std::optional<Block> next_;        ///< what to try next, which stands after the claims
  std::set<std::string> explained_;  ///< legends that stand in the text already
};

}  // namespace attn
