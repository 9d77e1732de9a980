#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "lessons/workbench/inputs.hpp"

namespace lessons {

/// The text of the document `lessons/NAME` of the lab. Throws attn::Error where there is none.
std::string text_of_document(const std::string& name);

/// The document in a file, read once. Throws attn::Error where there is none.
const document::Document& document_at(const std::string& path);

/// The document `lessons/NAME` of the lab. Throws the same.
const document::Document& document_named(const std::string& name);

/// The documents in a folder that may be lessons, by name. `README.md` is none.
std::vector<std::filesystem::path> documents_in(const std::string& folder);

/// Whether one of the lab's folders has the document NAME.md.
bool is_document(const std::string& name);

/// The part that `{use parts/scores.md}` takes: one beside the document comes before the lab's. Throws the
/// same, with the place.
const document::Document& part_used_by(const document::Block& use);

/// A formula or an input of a document or of its parts.
struct Declared {
  const document::Block* block;
  std::string id;
  formula::Axes axes;                     ///< as the parts around it call them
  std::vector<formula::Expr> conditions;  ///< of its heading and of the choices around it
  bool is_given;                          ///< an input that is there only where it is given
};

/// `require: 0 < w: "--window 0 lets no token see another; …"` of a front matter.
struct Rule {
  document::Source condition, words;
};

/// Throws document::Error for what is no rule.
Rule rule_in(const document::Source& text);

/// The rules of a document, in their order. Throws the same.
std::vector<Rule> rules_in(const document::Document& document);

/// Whether there is one of an input for each sample of a batch.
bool has_samples(const document::Block& input);

/// All of them, in their order; those that a condition leaves out, too. What stands in a part that is
/// repeated is there once, with the formulas in its name: `hop={hop}/m`. Throws document::Error.
std::vector<Declared> declared_in(const document::Document& document);

/// The same for a run with these options: what is repeated is there as often as the options alone say it,
/// else once, as above.
std::vector<Declared> declared_in(const document::Document& document, const Options& options);

/// Whether the document or one of its parts repeats a part.
bool repeats_parts(const document::Document& document);

/// Whether an axis stands in a group, `t5/bucket`, and so has a length of its own.
inline bool has_own_length(std::string_view axis) {
  return axis.find('/') != axis.npos;
}

/// The name that it has on pages and in data, which others may have, too: "bucket".
inline std::string name_on_page(const std::string& axis) {
  return axis.substr(axis.rfind('/') + 1);
}

/// "feature" of an axis that an input declares as "feature=d_model".
std::string without_length(const std::string& axis);

/// Of an input `reads[token]: rows of table` the table; of others nothing.
std::string table_of(const document::Block& block);

/// Of an input `samples: option samples` the key of the option, which lives as long as the document; of
/// others nothing.
std::string_view option_of(const document::Block& block);

/// Of an input `positions[position, d_model]: as sin(position)` the formula that gives its numbers where
/// nobody does; of others nothing.
document::Source formula_of(const document::Block& block);

/// Of numbers that C++ makes, `s[d_k, sample]: random_scores(d_k, samples)`, the function and what they are
/// made from; of others no name.
document::Call function_of(const document::Block& block);

/// Whether somebody may give the numbers: not those that C++ makes, but with `input ` before the function.
bool may_be_given(const document::Block& block);

/// The inputs that a document and its parts declare, for a lesson with these keys of options, as far as these
/// options decide which there are. Throws document::Error for an unknown way to come by its numbers.
std::vector<Input> inputs_of(const document::Document& document, const std::vector<std::string_view>& keys,
                             const Options& options);

}  // namespace lessons
