#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/source.hpp"
#include "formula/expression.hpp"

/// A lesson as a document: headings, prose and formulas.
namespace document {

/// What is wrong with a document: "lessons/sdpa.md, line 12, column 5: …".
class Error : public attn::Error {
 public:
  Error(const Place& place, const std::string& message);
};

struct Piece;

/// Text with values and conditions in it.
using Prose = std::vector<Piece>;

/// `{if a} … {else if b} … {else} … {end}`: the first part whose condition holds.
template <class Content>
struct Choice {
  struct Branch {
    std::optional<formula::Expr> condition;  ///< none of `{else}`
    Content content;
  };
  std::vector<Branch> branches;
};

/// `{NAME rest}`: a function of the program, `{call pictures}`, or a list over an axis, `{list(key)
/// weights}`.
struct Call {
  std::string name;
  std::vector<std::string> arguments;  ///< cut at commas outside of parentheses
};

/// One part of a line of prose: exactly one of them is there.
struct Piece {
  std::string text{};                    ///< as it stands
  std::optional<formula::Expr> value{};  ///< `{max(key) weights:.2f}`
  std::string format{};                  ///< ".2f"
  std::optional<Call> call{};            ///< `{token(query)}`
  std::optional<Choice<Prose>> choice{};
  Place place{};
};

/// What stands in braces behind a heading, a paragraph or a claim: `{#id}`, `{if masked}`, `{follow head =
/// 1}`, and words of which each may have a condition: `{with --all}`: not on the short page; `{one line if
/// trained}`: the formula and the shape alone; `{no table}`: the formula and the worked entry alone;
/// `{hidden}`: computed, and shown nowhere;
/// `{shares}`: rows of shares; `{curve}`: worth a plot; `{whole numbers}`: counts or indices; `{for all
/// samples}`: there is one, and not one a sample; `{given}`: inputs are there only where they are given;
/// `{spare}`: of a proposal, for one that was just run.
struct Marks {
  std::string id{};
  std::optional<formula::Expr> condition{};
  std::string follow{};  ///< "head = 1, query = 0": the entry of this step that is worked out
  std::map<std::string, std::optional<formula::Expr>> words{};
  std::string written{};         ///< `{written q · k}`: the formula on the page
  std::string drawn_as{};        ///< `{drawn as mask}`: what a flow calls the step
  Source rounded_as{};           ///< `{rounded as scores}`: of a claim, numbers that it is rounded with
  Prose title{};                 ///< `{at Q, titled The queries}`: of a step of a part
  std::string solved{}, step{};  ///< `{solve fill}`, `{in masked}`: of a mistake's formula
};

/// The entries for which a cell or a line of a table stands there: `{each key}`, `{each batch, head}` for all
/// pairs, `{every head}` also where there are many, `{close key}` with a single blank between them.
struct Each {
  std::vector<Source> axes{};  ///< none where it stands there once
  bool is_every = false, is_close = false;
};

struct Cell {
  Each each{};
  Prose prose{};
};

struct Row {
  Each each{};
  std::vector<Cell> cells{};
};

struct Block {
  enum class Kind {
    heading,    ///< prose: the title; level; marks
    formula,    ///< definition, or an input's declaration
    paragraph,  ///< prose
    fence,      ///< prose, line by line as it stands; or a table, whose lines begin with |
    item,       ///< of a list: prose, and its formula between backticks
    call,       ///< `{do parameters}`
    label,      ///< `{label head as no. {head}}`: its call has the axis, prose the words for each entry
    flow,       ///< `{flow output, from scores, V}`: its call has the names
    use,        ///< `{use scores.md, Q = Q_heads, under causal/}`
    remark,     ///< `{at weights, heads}` and the paragraph after it: its call has the steps
    choice,
  };

  Kind kind = Kind::paragraph;
  Place place{};
  std::size_t level = 0;
  Prose prose{};
  Marks marks{};
  std::vector<Row> rows{};  ///< of a fence that is a table
  std::optional<formula::Definition> definition{};
  bool is_input = false;
  std::string draw{};  ///< of an input, `Q[query, d_k]: normal`: how its numbers come about
  Source code{};       ///< of a formula: its text; of an item: what stands between its first backticks
  Call call{};
  std::optional<Choice<std::vector<Block>>> choice{};
};

struct Document {
  std::string file;
  std::vector<std::pair<std::string, Source>> front_matter;  ///< in order; a key may come twice
  std::vector<Block> blocks;

  /// The first value of a key, valid as long as the document; empty where there is none.
  std::string_view front(std::string_view key) const;
  std::vector<std::string_view> all_front(std::string_view key) const;

  /// The first value of a key with its place; that of the first line where there is none.
  Source front_source(std::string_view key) const;
};

/// Reads a document. Throws Error with file, line and column for what cannot be read.
Document read(const std::string& file, std::string_view text);

}  // namespace document
