#include "lessons/multihead/glosses.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/layer_norm.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/trained/gold_alignment.hpp"
#include "trace/model.hpp"

namespace lessons {

namespace {

/// The French form that the model's last layer makes of each word: LN(X + output) W + b, the likeliest.
std::vector<std::string> glosses(const attn::Model& model, const Tensor<3>& X, const Tensor<3>& output) {
  const auto normalized = attn::layer_norm(attn::add(X, output), model.vector("layer=1/norm_1/gain"),
                                           model.vector("layer=1/norm_1/bias"));
  const auto logits = attn::linear(normalized, model.matrix("output/W"), model.vector("output/b"));
  const auto& classes = model.vocabularies.at("classes");
  std::vector<std::string> words;
  for (std::size_t t = 0; t < logits.shape(1); ++t)
    words.push_back(classes.at(attn::argmax(&logits(0, t, 0), logits.shape(2))));
  return words;
}

/// "Head 0 looks at "king" (1.0000), head 1 at "cats" (0.9916)."
std::string looks_of_heads(const Tensor<4>& weights, const std::vector<std::string>& words,
                           std::size_t query) {
  std::string text;
  for (std::size_t head = 0; head < weights.shape(1); ++head) {
    const double* const row = &weights(0, head, query, 0);
    const auto key = attn::argmax(row, weights.shape(3));
    text += fmt::format("{} {} {}at \"{}\" ({:.4f})", head == 0 ? "Head" : ", head", head,
                        head == 0 ? "looks " : "", words[key], row[key]);
  }
  return text + ".";
}

}  // namespace

void show_wrong_gloss(Workbench& bench, const Tensor<3>& X, const MultiHeadAttention& attention) {
  const auto& sentence = bench.plan.sentence;
  if (bench.is_mute() || bench.options.model != "gloss" || sentence.size() != 1) return;
  const auto& words = sentence.tokens.front();
  const auto pair = gold_pair(words);
  if (!pair) return;
  const auto written = glosses(*attn::shipped_model("gloss"), X, attention.output);
  for (std::size_t t = 0; t < words.size(); ++t) {
    const auto& word = pair->source[t];
    if (written[t] == word.gloss || !word.controller) continue;
    return bench.trace.note(
        "wrong-gloss", "Where a head looks is not yet what comes out",
        fmt::format(
            "The model goes on: layer norm of X + output, then a matrix with a column for each French "
            "form. Of \"{0}\" it makes “{1}”. Right is “{2}”: what decides is \"{3}\". {4} W_O mixes "
            "what both bring, so a look at the right word alone does not make a word right.",
            word.text, written[t], word.gloss, words[*word.controller],
            looks_of_heads(attention.attention.weights, words, t)));
  }
}

}  // namespace lessons
