/// What attention looks like, in numbers, and the two ways in which it goes wrong. The lesson is the document
/// patterns.md; here is what no formula says: the heads of the lab's models, and which words are the same.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>
#include <xtensor/xview.hpp>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/claims.hpp"
#include "trace/diagnosis/replay.hpp"

namespace lessons {

namespace {

/// Throws attn::Error unless every row of weights that are given sums to 1, or is 0 where nothing may be
/// seen.
void require_shares(DocumentRun& run) {
  const auto& trace = run.bench().trace;
  if (!trace.is_given("weights")) return;
  const auto weights = run.in_heads("weights");
  const double rounding_of_others = attn::item_size(trace.dtype()) == 2 ? 1e-2 : 1e-3;
  const auto n_k = static_cast<std::ptrdiff_t>(weights.shape(3));
  for (auto row = weights.begin(); row != weights.end(); row += n_k) {
    const double sum = std::accumulate(row, row + n_k, 0.0), smallest = *std::min_element(row, row + n_k);
    if (smallest < 0.0 || (sum != 0.0 && std::abs(sum - 1.0) > rounding_of_others))
      throw attn::Error(
          fmt::format("{} has a row with the sum {:g} and the smallest weight {:g}; valid: rows of weights "
                      "of 0 or more that sum to 1",
                      trace.given_name("weights"), sum, smallest));
  }
}

/// What rounding explains in the sums of the rows: weights that are given may have been rounded before.
attn::Limit rounding_of_rows(const Workbench& bench) {
  const auto given = bench.plan.given.find("weights");
  const auto limit = rounding(bench.trace);
  if (given == bench.plan.given.end() || !given->second.tensor) return limit;
  const auto of_given = rounding(attn::arithmetic_of({&*given->second.tensor}));
  return of_given.bound > limit.bound ? of_given : limit;
}

void claim_rows_sum_to_1(DocumentRun& run, const ToClaim& claim) {
  run.bench().trace.claim({.id = claim.id,
                           .claim = claim.words,
                           .formula = "max |Σⱼ weights − 1|",
                           .value = attn::row_sum_deviation(run.in_heads("weights")),
                           .limit = rounding_of_rows(run.bench())});
}

/// For each word the place where it stands first.
std::vector<std::size_t> first_places(const std::vector<std::string>& words) {
  std::vector<std::size_t> places;
  for (const auto& word : words) places.push_back(attn::place_of(word, words));
  return places;
}

/// The same of the words of a run, [batch×key]; padding is like no word.
formula::View same_words(const DocumentRun& run) {
  std::vector<std::vector<std::size_t>> places;
  for (const auto& words : run.bench().plan.sentence.tokens) places.push_back(first_places(words));
  return owned_view(numbers_in_rows(places, -1.0));
}

/// All heads of the shipped models one below the other. A text that is shorter than the longest has zeros
/// behind it.
struct HeadsOfModels {
  std::vector<std::string> names;   ///< "language 2.3"
  std::vector<std::string> words;   ///< of all texts, as keys have them
  formula::Numbers weights, links;  ///< [head×query×key]; links: 1 where a word comes from that one
  formula::Numbers seen;            ///< [head×query] how many keys the query may see
  formula::Numbers same, begins;    ///< [head×key] first place of the word; [head] its first one in `words`
  formula::Numbers next;            ///< [token×letter] the logits of the model induction
};

const HeadsOfModels& heads_of_models() {
  static const auto heads = [] {
    const auto layers = layers_of_models();
    std::size_t count = 0, longest = 0;
    for (const auto& layer : layers) {
      count += layer.weights.shape(1);
      longest = std::max({longest, layer.queries.size(), layer.keys.size()});
    }
    const attn::Shape pairs = {count, longest, longest}, rows = {count, longest};
    HeadsOfModels all = {.names = {},
                         .words = {},
                         .weights = formula::Numbers(pairs, 0.0),
                         .links = formula::Numbers(pairs, 0.0),
                         .seen = formula::Numbers(rows, 0.0),
                         .same = formula::Numbers(rows, -1.0),
                         .begins = formula::Numbers(attn::Shape{count}, 0.0),
                         .next = {}};
    for (const auto& layer : layers) {
      if (layer.model == "induction" && layer.logits) all.next = attn::sample(*layer.logits, 0);
      const auto same = first_places(layer.keys);
      for (std::size_t head = 0; head < layer.weights.shape(1); ++head) {
        const auto at = all.names.size();
        all.names.push_back(layer.weights.shape(1) > 1 ? fmt::format("{}.{}", layer.name, head) : layer.name);
        all.begins(at) = static_cast<double>(all.words.size());
        std::copy(same.begin(), same.end(), &all.same(at, 0));
        for (std::size_t query = 0; query < layer.queries.size(); ++query)
          for (std::size_t key = 0; key < layer.keys.size(); ++key) {
            all.weights(at, query, key) = layer.weights(0, head, query, key);
            all.seen(at, query) += layer.is_causal && query < key ? 0.0 : 1.0;
          }
        for (std::size_t query = 0; query < layer.links.size(); ++query)
          for (const auto key : layer.links[query]) all.links(at, query, key) = 1.0;
      }
      all.words.insert(all.words.end(), layer.keys.begin(), layer.keys.end());
    }
    return all;
  }();
  return heads;
}

/// The weights, and the names of heads and words for the steps to come.
formula::View weights_of_models(const DocumentRun& run) {
  const auto& heads = heads_of_models();
  run.bench().trace.label("head_of_model", {{heads.names}});
  run.bench().trace.label("models/word", {{heads.words}});
  return owned_view(heads.weights);
}

/// What the model induction says behind the letters that the page shows, [letter].
formula::View letters_after_both(const DocumentRun& run) {
  run.bench().trace.label("two/letter", {{attn::shipped_model("induction")->vocabularies.at("classes")}});
  return owned_view(formula::Numbers(xt::row(heads_of_models().next, run.sheet().size_of("two/query") - 1)));
}

/// What each model, and each part of the translator, reads.
std::string texts_of_models(const DocumentRun&) {
  std::string lines, part;
  for (const auto& layer : layers_of_models()) {
    if (layer.part != part)
      lines +=
          fmt::format("{}{:<10} {}", lines.empty() ? "" : "\n", layer.part, fmt::join(layer.queries, " "));
    part = layer.part;
  }
  return lines;
}

void prepare_patterns(DocumentRun& run, Functions& functions) {
  functions.actions["shares"] = require_shares;
  functions.claims["rows-sum-to-1"] = claim_rows_sum_to_1;
  functions.texts["texts_of_models"] = texts_of_models;
  functions.tensors.insert(
      {{"same_words", same_words},
       {"weights_of_models", weights_of_models},
       {"links_of_models", [](DocumentRun&) { return owned_view(heads_of_models().links); }},
       {"keys_seen_in_models", [](DocumentRun&) { return owned_view(heads_of_models().seen); }},
       {"same_words_of_models", [](DocumentRun&) { return owned_view(heads_of_models().same); }},
       {"letters_after_both", letters_after_both},
       {"beginnings", [](DocumentRun&) { return owned_view(heads_of_models().begins); }}});
  if (run.bench().options.model)
    run.set("words_of_models", static_cast<double>(heads_of_models().words.size()));
}

}  // namespace

const LessonCode patterns_code = {.give = give_about_heads, .prepare = prepare_patterns};

}  // namespace lessons
