/// Cross-attention: the queries come from one sentence, the keys and values from another. The lesson is the
/// document cross-attention.md, which has its sources.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/trained/translation.hpp"

namespace lessons {

namespace {

constexpr const char* rates_id = "alignment_error_rates";

/// The heads that the page shows.
struct AligningHeads {
  std::size_t layer;     ///< of the decoder, from 0
  std::size_t aligning;  ///< the head of the least alignment error rate
  std::size_t other;     ///< the one of the highest in that layer
};

std::string cross_name(std::size_t layer) {
  return fmt::format("decoder/layer={}/cross/", layer + 1);
}

/// [layer×head]
Tensor<2> error_rates_of(const ModelInputs& inputs) {
  const auto layers = inputs.number("layers"), heads = inputs.number("heads");
  Tensor<2> rates = xt::zeros<double>({layers, heads});
  for (std::size_t layer = 0; layer < layers; ++layer)
    for (std::size_t head = 0; head < heads; ++head) {
      const auto name = fmt::format("alignment error rate, layer {}, head {}", layer + 1, head);
      const auto found = inputs.model().scores.find(name);
      if (found == inputs.model().scores.end())
        throw attn::Error(
            fmt::format("the model of the task {} does not say its {}; valid: one that attnlab train "
                        "translation --attention transformer wrote, or --model none",
                        inputs.model().task, name));
      rates(layer, head) = found->second;
    }
  return rates;
}

AligningHeads heads_of(const Tensor<2>& rates) {
  const auto heads = rates.shape(1);
  const auto best = static_cast<std::size_t>(std::min_element(rates.begin(), rates.end()) - rates.begin());
  const double* row = &rates(best / heads, 0);
  const auto* highest = std::max_element(row, row + heads);
  return {best / heads, best % heads, static_cast<std::size_t>(highest - row)};
}

void require_transformer(const attn::Model& model) {
  const auto attention = model.said("attention");
  if (attention == "transformer") return;
  throw attn::Error(
      fmt::format("the model of the task {} attends as \"{}\"; valid: a model with attention transformer, or "
                  "--model none",
                  model.task, attention));
}

/// Gives the rows of both sentences where cross-attention of the model reads them, the weights of the head
/// with the least alignment error rate and of the one of its layer with the highest, and these rates.
void give_cross_attention(ModelInputs& inputs) {
  require_transformer(inputs.model());
  const auto rates = error_rates_of(inputs);
  const auto heads = heads_of(rates);
  std::vector<Tensor<3>> sources, targets;
  for (std::size_t b = 0; b < inputs.source().size(); ++b) {
    sources.push_back(encoder_blocks(inputs, {{inputs.source().tokens[b]}}).back().output);
    const auto read = before_each(inputs.target().tokens.at(b));
    targets.push_back(decoder_blocks(inputs, read, sources.back(), heads.layer + 1).back().attended);
  }
  inputs.give_rows("X_target", as_samples(targets, inputs.target().length()));
  inputs.give_rows("X_source", as_samples(sources, inputs.source().length()));
  for (const std::string id : {"W_Q", "W_K", "W_V"}) {
    inputs.give(id, inputs.columns_of_head(cross_name(heads.layer) + id, heads.aligning));
    inputs.give("other/" + id, inputs.columns_of_head(cross_name(heads.layer) + id, heads.other));
  }
  inputs.give(rates_id, rates);
}

/// What the lab's grammar makes of the source, where that is the target.
std::optional<corpora::SentencePair> gold_of(const Workbench& bench) {
  if (bench.plan.source.size() != 1) return std::nullopt;
  auto pair = gold_pair(bench.plan.source.tokens.front(), bench.options);
  return pair && are_the_same(pair->target, bench.plan.target.tokens.front()) ? pair : std::nullopt;
}

void prepare_cross_attention(DocumentRun& run, Functions& functions) {
  const auto& bench = run.bench();
  if (bench.options.heads) add_cross_attends_itself(functions, "X_target", "");
  const auto gold = bench.options.model && !bench.options.heads ? gold_of(bench) : std::nullopt;
  run.set("has_gold", gold.has_value());
  if (!gold) return;
  functions.tensors["links_of_grammar"] = [gold](DocumentRun&) {
    return links_of_grammar(*gold, gold->target.size());
  };
  functions.tensors["words_that_decide"] = [gold](DocumentRun&) {
    std::vector<double> places;
    for (const auto& word : gold->source)
      places.push_back(word.controller ? static_cast<double>(*word.controller) : -1.0);
    return owned_view(places);
  };
}

}  // namespace

const LessonCode cross_attention_code = {
    .give = give_cross_attention, .sharpen = sharpen_source_and_target, .prepare = prepare_cross_attention};

}  // namespace lessons
