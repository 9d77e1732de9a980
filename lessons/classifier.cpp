/// A classifier of sentences with attention: embeddings, positions, one layer of multi-head attention, the
/// mean over the tokens, and a score for each class. The lesson is the document classifier.md, which has its
/// sources.

#include <algorithm>
#include <string>
#include <utility>

#include "attn/error.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"

namespace lessons {

namespace {

/// "very" in place of "not", the place of which is all that changes.
constexpr const char *negation = "not", *in_its_place = "very";

bool is_negated(const Workbench& bench) {
  if (!bench.options.model || bench.plan.is_batched()) return false;
  const auto words = attn::shipped_model("sentiment")->vocabularies.at("words");
  const auto& sentence = bench.plan.sentence.tokens.front();
  return attn::place_of(in_its_place, words) < words.size() &&
         attn::place_of(negation, sentence) < sentence.size();
}

/// X with the vector of the other word wherever the sentence has "not".
formula::View not_negated(DocumentRun& run) {
  const auto X = run.copy_of<double, 3>("X");
  formula::Numbers rows(attn::Shape{1, X.shape(1), X.shape(2)});
  std::copy(X.begin(), X.end(), rows.begin());
  const auto model = attn::shipped_model("sentiment");
  const auto word = attn::place_of(in_its_place, model->vocabularies.at("words"));
  const auto vectors = model->matrix("embedding");
  const auto& sentence = run.bench().plan.sentence.tokens.front();
  for (std::size_t i = 0; i < sentence.size(); ++i)
    if (sentence[i] == negation)
      std::copy_n(&vectors(word, 0), X.shape(2), rows.begin() + static_cast<std::ptrdiff_t>(i * X.shape(2)));
  return owned_view(std::move(rows));
}

void prepare_classifier(DocumentRun& run, Functions& functions) {
  functions.tensors["not_negated"] = not_negated;
  run.set("negated", is_negated(run.bench()));
}

void give_sentiment(ModelInputs& inputs) {
  if (inputs.number("layers") != 1 || inputs.number("d_ff") != 0)
    throw attn::Error(
        "this lesson's classifier has one layer of attention and no feed-forward network, the model has "
        "more; valid: --model sentiment, one that was trained without --layers and --d-ff, or none");
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", inputs.rows("embedding", "words", inputs.sentence()));
  inputs.give_named("attention/", "layer=1/attention/", {"W_Q", "W_K", "W_V", "W_O"});
  inputs.give_named("attention/norm/", "layer=1/norm_1/", {"gain", "bias"});
  inputs.give("W_class", inputs.matrix("output/W"));
  inputs.give("b_class", inputs.vector("output/b"));
}

}  // namespace

const LessonCode classifier_code = {.give = give_sentiment, .prepare = prepare_classifier};

}  // namespace lessons
