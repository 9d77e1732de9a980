#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "corpora/sentence_pair.hpp"
#include "formula/sheet.hpp"
#include "lessons/workbench/options.hpp"

/// The models of the task translation. Their vocabulary has stand-ins, as "[animal]" and "[verbed]", for the
/// English words that it lacks; French carries such a word over (Luong et al. 2015, "Addressing the Rare Word
/// Problem in Neural Machine Translation").
namespace lessons {

/// "j'aime" is "j'" and "aime"; "aujourd'hui" is one word, and so is "par", "-", "dessus".
std::vector<std::string> with_elisions_cut(const std::vector<std::string>& tokens);

/// What a translation model reads in place of each word of both sides, for `Options::read_as`: the word
/// in small letters, the stand-in for its kind ("wolves": "[animals]"), and what French has for that
/// ("[noun]"). Nothing where the vocabulary has no stand-ins.
std::optional<std::map<std::string, std::string>> readings_of_pairs(
    const std::vector<std::vector<std::string>>& sources,
    const std::vector<std::vector<std::string>>& targets, const std::vector<std::string>& source_words,
    const std::vector<std::string>& target_words);

/// `most of the words ("gustan", …): it writes French`: why the model cannot write a target of which it knows
/// fewer than half of the words, those that are carried over among them. Nothing where it can.
std::optional<std::string> not_french(const std::vector<std::vector<std::string>>& targets,
                                      const Options& options);

/// The word of `source` that is carried over where the decoder writes `written` with those weights on each of
/// them: of those that it reads as such stand-ins the one with the largest weight. `written` itself where it
/// is no stand-in or the source has none.
std::string carried_over(const std::string& written, const std::vector<std::string>& source,
                         const double* weights, const Options& options);

/// Whether two sentences have the same words, in capital letters or small ones.
bool are_the_same(const std::vector<std::string>& a, const std::vector<std::string>& b);

/// The translation of the lab's grammar with the words of `source` as they were typed, where it has one.
std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source,
                                               const Options& options);

/// What the lab's grammar makes of the source, where it is one of its sentences: the translation, and which
/// word comes from which.
std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source);

/// The source words that each word of the target is linked to.
std::vector<std::set<std::size_t>> gold_links(const corpora::SentencePair& pair);

/// The same as 1 and 0 for a document, of the first `rows` words: [target×source].
formula::View links_of_grammar(const corpora::SentencePair& pair, std::size_t rows);

}  // namespace lessons
