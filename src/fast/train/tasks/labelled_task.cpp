#include "fast/train/tasks/labelled_task.hpp"

#include <algorithm>
#include <utility>

#include "attn/error.hpp"

namespace attn::train {

namespace {

TransformerSizes with(TransformerSizes sizes, const TaskOptions& options) {
  sizes.d_model = options.d_model.value_or(sizes.d_model);
  sizes.heads = options.heads.value_or(sizes.heads);
  sizes.d_k = options.d_k.value_or(sizes.d_k);
  sizes.d_v = options.d_v.value_or(sizes.d_v);
  sizes.d_ff = options.d_ff.value_or(sizes.d_ff);
  sizes.layers = options.layers.value_or(sizes.layers);
  if (options.positions)
    sizes.positions = positions_of(
        *options.positions, {Positions::none, Positions::sinusoidal, Positions::learned, Positions::rotary});
  if (sizes.positions == Positions::rotary && sizes.d_k % 2 == 1)
    throw Error("--d-k " + std::to_string(sizes.d_k) + ": rotary positions turn pairs, so it must be even");
  return sizes;
}

}  // namespace

LabelledTask::LabelledTask(TransformerSizes sizes, const TaskOptions& options, std::vector<std::string> words,
                           std::vector<std::string> classes)
    : words_(std::move(words)), classes_(std::move(classes)), sizes_(with(sizes, options)) {
  sizes_.words = words_.size();
  sizes_.classes = classes_.size();
}

void LabelledTask::set_examples(std::vector<Labelled> training, std::vector<Labelled> validation,
                                std::vector<Labelled> held_out, double entropy_weight) {
  const auto examples = [&](std::vector<Labelled>& labelled) {
    return LabelledExamples(sizes_, std::move(labelled), entropy_weight);
  };
  set(weights_of(sizes_), examples(training), examples(validation), examples(held_out));
}

std::vector<std::pair<std::string, std::vector<std::string>>> LabelledTask::vocabularies() const {
  return {{"words", words_.words()}, {"classes", classes_.words()}};
}

std::vector<std::pair<std::string, std::string>> LabelledTask::configuration() const {
  const auto number = [](std::size_t value) { return std::to_string(value); };
  return {{"d_model", number(sizes_.d_model)},
          {"heads", number(sizes_.heads)},
          {"d_k", number(sizes_.d_k)},
          {"d_v", number(sizes_.d_v)},
          {"d_ff", number(sizes_.d_ff)},
          {"layers", number(sizes_.layers)},
          {"positions", name_of(sizes_.positions)},
          {"causal", sizes_.is_causal ? "true" : "false"},
          {"norm", sizes_.has_norm ? "post" : "none"},
          {"class_of", sizes_.is_of_sentence ? "sentence" : "token"}};
}

void RightKeys::add(const Reading& reading, std::size_t query, std::size_t right_key) {
  ++queries_;
  right_.resize(reading.weights.size());
  for (std::size_t layer = 0; layer < right_.size(); ++layer) {
    const auto& heads = reading.weights[layer];
    right_[layer].resize(heads.size());
    for (std::size_t head = 0; head < heads.size(); ++head) {
      const auto& row = heads[head][query];
      const auto strongest = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
      right_[layer][head] += strongest == right_key;
    }
  }
}

Score RightKeys::best(const std::string& name) const {
  Score score = {name, 0, queries_};
  for (std::size_t layer = 0; layer < right_.size(); ++layer)
    for (std::size_t head = 0; head < right_[layer].size(); ++head) {
      const Share share = {right_[layer][head], queries_};
      if (share.value() < score.value) continue;
      score = {name + ", layer " + std::to_string(layer + 1) + ", head " + std::to_string(head), share};
    }
  return score;
}

}  // namespace attn::train
