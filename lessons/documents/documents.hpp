#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "document/document.hpp"
#include "formula/parse.hpp"
#include "lessons/workbench/plan.hpp"

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

/// `{use parts/hop.md, under hop={hop}/, for hop from 0 to ranks - 1}`: a part that is there once for each
/// value of a counter.
struct Repetition {
  std::string counter;
  formula::Expr from, to;
};

/// What `{use …}` says of it; none of a part that is there once. Throws document::Error.
std::optional<Repetition> repetition_of(const document::Block& use);

/// The values of the counter between two numbers. Throws document::Error where they are no whole numbers, or
/// too many.
std::vector<double> values_of_counter(const Repetition& repetition, double from, double to,
                                      const document::Place& place);

/// How a declared input comes by its numbers where it is not drawn: what stands behind its colon.
struct Origin {
  std::string_view table{};   ///< of `reads[token]: rows of table`
  std::string_view option{};  ///< the key of `samples: option samples`
  document::Source
      formula{};  ///< of `positions[position, d_model]: as sin(position)`, where nobody gives them
  document::Call function{};  ///< of numbers that C++ makes, `s[d_k, sample]: random_scores(d_k, samples)`
  bool may_be_given = true;   ///< not those that C++ makes, but with `input ` before the function
};

/// It lives as long as the document.
Origin origin_of(const document::Block& input);

/// A formula or an input of a document or of its parts.
struct Declared {
  const document::Block* block;
  std::string id;
  formula::Axes axes;                     ///< as the parts around it call them
  std::vector<formula::Expr> conditions;  ///< of its heading and of the choices around it
  bool is_given;                          ///< an input that is there only where it is given
  Origin origin;
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
/// With options it is there as often as these alone say it.
std::vector<Declared> declared_in(const document::Document& document, const Options* options = nullptr);

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

/// The inputs that a document and its parts declare, for a lesson with these keys of options, as far as these
/// options decide which there are. Throws document::Error for an unknown way to come by its numbers.
std::vector<Input> inputs_of(const document::Document& document, const std::vector<std::string_view>& keys,
                             const Options& options);

/// What is wrong with the names in a document's formulas, conditions, claims and values, whatever its
/// conditions leave out: each that is neither a tensor, nor an axis, nor an option, with its place.
std::vector<std::string> unknown_names_in(const document::Document& document);

/// What `act` returns; what is wrong with a formula in it is said with its place in the document: the one
/// given, or in that formula's text.
template <class Where, class Act>
auto at_place(const Where& where, const Act& act) {
  try {
    return act();
  } catch (const formula::Error& error) {
    if constexpr (std::is_same_v<Where, document::Source>)
      throw document::Error(where.place_of(error.at()), error.what());
    else
      throw document::Error(where, error.what());
  }
}

/// What a document calls by a name. Throws document::Error where the lesson has none of it.
template <class Map>
const auto& named(const Map& functions, const std::string& name, const document::Place& place) {
  const auto found = functions.find(name);
  if (found != functions.end()) return found->second;
  std::vector<std::string> valid;
  for (const auto& one : functions) valid.push_back(one.first);
  throw document::Error(place, fmt::format("{} is no function of the lesson; valid: {}", name,
                                           valid.empty() ? "a formula, since it has none"
                                                         : fmt::format("{}", fmt::join(valid, ", "))));
}

}  // namespace lessons
