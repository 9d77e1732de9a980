#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "attn/random/random.hpp"
#include "corpora/sentence_pair.hpp"

namespace corpora {

struct CompiledGrammar;
struct GrammarText;

/// A synchronous grammar: each of its rules makes a piece of a source sentence and the same piece of its
/// translation, and words agree across rules in number, gender and whatever else the grammar's file declares.
/// data/corpora/README.md tells how such a file is written.
class Grammar {
 public:
  /// Throws attn::Error, with the name of the file and the line, where the text is no grammar: an unknown
  /// nonterminal or feature, sides that do not match, a rule that cannot end or can never be used.
  static Grammar read(std::string_view text, std::string_view file_name);

  /// As above, from a file.
  static Grammar load(const std::string& path);

  Grammar(Grammar&&) noexcept;
  Grammar& operator=(Grammar&&) noexcept;
  ~Grammar();

  /// A pair whose source has exactly `length` words, by the weights of the grammar among those. Throws
  /// attn::Error where the grammar has none.
  SentencePair draw(attn::Random& random, std::size_t length) const;

  /// The pair whose source is those words; none where the grammar does not have it. "a" and "an" may stand
  /// for each other, and come out as is right.
  std::optional<SentencePair> translate(const std::vector<std::string>& words) const;

  /// The numbers of source words that a sentence can have, up to 32.
  std::vector<std::size_t> lengths() const;

  /// Every word that can stand in a source sentence, sorted by its bytes.
  std::vector<std::string> source_words() const;

  /// Every word that can stand in a target sentence, and a few that cannot (a contraction of words that never
  /// meet in it); sorted by its bytes.
  std::vector<std::string> target_words() const;

 private:
  explicit Grammar(GrammarText text);

  std::unique_ptr<GrammarText> text_;
  std::unique_ptr<CompiledGrammar> compiled_;
};

/// A grammar that is read once and compiled for one sentence at a time: what its words have no part in is
/// left out first, which takes a fraction of the time that Grammar::load takes.
class GrammarFile {
 public:
  /// Throws attn::Error as Grammar::load does, but for rules that can never be used.
  explicit GrammarFile(const std::string& path);
  ~GrammarFile();

  /// What Grammar::load(path).translate(words) gives.
  std::optional<SentencePair> translate(const std::vector<std::string>& words) const;

 private:
  std::unique_ptr<const GrammarText> text_;
};

/// Words of the longest source that is trained on.
inline constexpr std::size_t longest_in_training = 16;

/// Sentence pairs of a grammar, all with different sources; fewer than asked for where the grammar has no
/// more.
struct GrammarPairs {
  std::vector<SentencePair> training;    ///< of up to 16 source words
  std::vector<SentencePair> validation;  ///< likewise, as the next
  std::vector<SentencePair> held_out;    ///< no more than a tenth of these and the training pairs
  std::vector<SentencePair> longer;      ///< of 17 to 25
};

/// Throws attn::Error for a grammar that has fewer than two sentences of up to 16 words.
GrammarPairs draw_pairs(const Grammar& grammar, attn::Random& random, std::size_t training,
                        std::size_t held_out, std::size_t longer);

/// `count` pairs whose source sentences have `shortest` to `longest` words and are all different, none of
/// which `excluded` has (as source_text writes it); fewer where the grammar has no further ones. Each length
/// is equally likely, as long as the grammar has further sentences of it.
std::vector<SentencePair> draw_distinct(const Grammar& grammar, attn::Random& random, std::size_t count,
                                        std::size_t shortest, std::size_t longest,
                                        const std::unordered_set<std::string>& excluded = {});

}  // namespace corpora
