#pragma once

#include <string>

#include "lessons/documents/meanings.hpp"
#include "trace/event.hpp"

namespace lessons {

struct Functions;
class DocumentRun;

/// The prose of a document as text, with the values, words and choices of a run.
class Wording {
 public:
  Wording(Meanings& meanings, const Functions& functions, const DocumentRun& run)
      : meanings_(meanings), functions_(functions), run_(run) {}

  /// `event` is the step that a remark is on. Throws document::Error.
  std::string text_of(const document::Prose& prose, const Scope& scope,
                      const attn::Event* event = nullptr) const;

  /// What a fence shows: its text, or its table, in which columns that say nothing are left out.
  std::string drawn(const document::Block& fence, const Scope& scope) const;

  /// The paragraphs of a section; those of the short page alone without the ones that it leaves out.
  std::string paragraphs(const Section& section, bool short_page = false) const;

 private:
  std::string text_of(const document::Piece& piece, const Scope& scope, const attn::Event* event) const;

  /// With fewer columns for the entries of an axis, or else with shorter cells, where the page has no room.
  std::string table_of(const std::vector<document::Row>& rows, const Scope& scope) const;
  using Line = std::vector<std::string>;
  Line line_of(const document::Row& row, const Scope& scope, std::size_t most_columns,
               std::size_t widest) const;

  /// Calls `tell(true)` at each entry that is shown, and `tell(false)` in the place of those that are not;
  /// once where there is no axis.
  template <class Tell>
  void for_each(const document::Each& each, const Scope& scope, std::size_t most, const Tell& tell) const;

  std::string number_of(const document::Piece& piece, const Scope& scope) const;
  std::string list_of(const document::Piece& piece, const Scope& scope) const;
  std::string text_of(const document::Call& call, const document::Place& place, const Scope& scope,
                      const attn::Event* event) const;
  std::string call(const std::string& function, const document::Place& place, const attn::Event* event) const;
  std::string shape(const formula::Expr& tensor, const Scope& scope) const;

  Meanings& meanings_;
  const Functions& functions_;
  const DocumentRun& run_;
};

}  // namespace lessons
