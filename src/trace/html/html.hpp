#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "trace/entry.hpp"
#include "trace/event.hpp"
#include "trace/html/workings.hpp"

namespace attn {

/// What a page of HTML shows of a trace.
struct HtmlStyle {
  int precision = 4;  ///< digits after the decimal point
  bool full = false;  ///< never elide a large tensor
  bool all = false;   ///< everything unfolded, in the order of the computation; else what belongs on the page
  bool brief = false;            ///< without what is folded and how each number came about
  bool weights_by_hand = false;  ///< those of the model that the header names; else they were trained
};

/// A trace as one HTML file that needs no other: the page of text with real tables, formulas in MathML, the
/// flow as a drawing, and what the page leaves out folded below it. A script, the only one that its
/// Content-Security-Policy lets run, shows how the cell that a reader points at came about. Without it the
/// page reads as a page. The markup is also well-formed XML.
class HtmlRenderer : public Sink {
 public:
  HtmlRenderer(const Header& header, const HtmlStyle& style);
  void receive(const Event& event) override;

  /// The document. Leaves the renderer empty.
  std::string finish();

  /// What stands in the document's body, but for the script. Leaves the renderer empty.
  std::string finish_body();

 private:
  /// An event as markup. A step has a number, and a line stands folded among others of its kind.
  struct Block {
    enum class Form { note, step, line };
    Form form = Form::note;
    std::size_t position = 0;
    std::string id{}, title{}, definition{}, shape{}, body{};
    std::string diagram{};  ///< drawn when it is known what there is to lead to
  };

  void write_header(const Header& header);
  Block note_block(const Event& event) const;
  Block tensor_block(const Event& event, Block::Form form);
  std::string worked_line(const Event& event) const;
  std::string origin(const Event& event) const;
  std::size_t most_cells(const Event& event, bool is_core) const;
  std::string numbers(const Event& event, bool is_core, bool is_folded);
  std::string tables(const Event& event, bool is_core);
  void add_workings(const Event& event, const std::vector<std::size_t>& cells, bool is_core);
  std::string plot(const Event& event) const;
  std::string claim_item(const Event& claim) const;
  std::string folded(const Block& block) const;
  std::string workings() const;
  std::string address_of(const std::string& name, const std::string& shape) const;

  void write_blocks();
  void write_block(const Block& block);
  void write_more();
  void write_outline();
  void write_claims();

  HtmlStyle style_;
  std::string title_, lesson_, head_, text_;
  html::Workings workings_;
  EntryNames names_;
  std::map<std::string, Shape> shapes_;  ///< of the tensors so far, by id
  std::vector<std::string> core_ids_;
  std::vector<Block> blocks_, more_;
  std::vector<std::string> outline_;
  std::vector<Event> claims_, more_claims_;
  std::size_t step_count_ = 0;
  std::size_t detail_bytes_ = 0;  ///< of their markup so far
};

}  // namespace attn
