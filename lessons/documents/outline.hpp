#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "document/document.hpp"

namespace lessons {

class Meanings;

/// What `{use …}` puts in the place of names, around a part.
struct Scope {
  std::string prefix{};                            ///< "causal/"
  std::map<std::string, formula::Expr> renamed{};  ///< of operands
  std::map<std::string, std::string> results{};    ///< of steps and axes: "output" to "heads"
  std::map<std::string, double> counters{};        ///< of parts that are repeated
  std::string format{};                            ///< to which each of its steps is rounded, "float16"
  document::Marks marks{};
  std::size_t depth = 0;  ///< of parts that use parts

  /// What a step or an axis is called here.
  std::string name_of(const std::string& name) const;

  /// "causal/weights" of the formula of `weights`.
  std::string id_of(const document::Block& formula) const;
};

/// A heading and what follows it up to the next.
struct Section {
  Scope scope;
  const document::Block* heading = nullptr;
  bool is_left_out = false;
  bool depends_on_steps = false;  ///< whether the condition of a note speaks of what the run computes first
  std::vector<const document::Block*> blocks{};

  std::vector<const document::Block*> of(document::Block::Kind kind) const;
};

/// The sections of a document and of the parts that it uses, as the conditions of a run have them, and what
/// remarks say of their steps. The documents must live as long.
class Outline {
 public:
  explicit Outline(Meanings& meanings) : meanings_(meanings) {}

  /// Reads the blocks; those of parts with their front matter. Throws document::Error.
  std::vector<Section> sections_of(const std::vector<document::Block>& blocks, const Scope& scope);

  /// What the arguments of `{use …}` make of the names around it.
  Scope scope_of(const document::Block& use, const Scope& around) const;

  /// Throws document::Error where a remark is on a step that the document does not have.
  void require_steps_of_remarks() const;

  /// Whether that word, `with --all`, stands behind the block, around its part, or in a remark on its step.
  bool has(const Section& section, const document::Block* block, const std::string& word) const;

  /// A remark on a step, with the names that it has.
  struct Remark {
    std::string id;
    const document::Block* block;
    Scope scope;
  };

  /// The last remark on a step that says something, or null.
  const Remark* remark_on(const std::string& step) const;

  /// What the heading says, or the last remark on its step that has a title.
  const document::Prose& title_of(const Section& section) const;

  /// The entry that the page works out, as the heading says it, or the last remark on its step that does; and
  /// what names mean there.
  std::pair<std::string, Scope> follow_of(const Section& section) const;

  /// The steps of the document, those that are left out, too.
  const std::set<std::string>& steps() const { return steps_; }

  /// Whether the trace has a step of that name, in some run.
  bool shows_step(const std::string& name) const { return shown_.count(name) > 0; }

  /// What the page has for the formula of a section, `{written q · k}`: as its heading says it, or the last
  /// remark on its step that does. Nothing where the formula itself stands there.
  std::string written_in(const Section& section) const;

  /// What a flow calls steps.
  const std::map<std::string, std::string>& drawn_as() const { return drawn_as_; }

 private:
  void add_all(std::vector<Section>& sections, const std::vector<document::Block>& blocks,
               const Scope& scope);
  void add(std::vector<Section>& sections, const document::Block& block, const Scope& scope);
  void add_heading(std::vector<Section>& sections, const document::Block& heading, const Scope& scope) const;
  void add_part(std::vector<Section>& sections, const document::Block& use, const Scope& scope);
  void add_part_once(std::vector<Section>& sections, const document::Block& use, const Scope& scope);
  void note_step(const Section& section, const document::Block& formula, const Scope& scope);
  /// The formula with the steps of that group that stand before.
  formula::Expr with_steps(const formula::Expr& x, const std::string& prefix) const;

  /// The remarks on the steps of a section, in their order.
  std::vector<const Remark*> remarks_about(const Section& section) const;
  const std::vector<std::size_t>& remarks_about(const std::string& step) const;

  Meanings& meanings_;
  std::vector<Remark> remarks_;
  mutable std::map<std::string, std::vector<std::size_t>> by_step_;  ///< places among the remarks
  mutable std::size_t found_ = 0;                                    ///< how many of them stand there
  std::set<std::string> steps_, shown_;
  std::map<std::string, std::string> drawn_as_;
};

}  // namespace lessons
