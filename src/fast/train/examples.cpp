#include "fast/train/examples.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace attn::train {

Vocabulary::Vocabulary(std::vector<std::string> words) : words_(std::move(words)) {
  for (std::size_t i = 0; i < words_.size(); ++i) ids_.emplace(words_[i], static_cast<int>(i));
}

int Vocabulary::id(const std::string& word) const {
  const auto found = ids_.find(word);
  if (found == ids_.end()) throw std::logic_error("the vocabulary has no word " + word);
  return found->second;
}

std::vector<int> Vocabulary::ids(const std::vector<std::string>& words) const {
  std::vector<int> result;
  for (const auto& word : words) result.push_back(id(word));
  return result;
}

std::string Vocabulary::text(const std::vector<int>& ids, const char* separator) const {
  std::string text;
  for (const int id : ids) text += words_[static_cast<std::size_t>(id)] + separator;
  return text;
}

Examples examples_of(const TransformerSizes& sizes, std::vector<Labelled> labelled) {
  Examples examples;
  for (const auto& [input, targets] : labelled) {
    examples.lengths.push_back(input.size());
    examples.predictions.push_back(static_cast<std::size_t>(
        std::count_if(targets.begin(), targets.end(), [](int target) { return target >= 0; })));
  }
  examples.loss = [sizes, all = std::move(labelled)](auto& tape, const auto& weights, const auto& numbers,
                                                     float scale, double dropout, Random* random) {
    std::vector<std::vector<int>> inputs, targets;
    for (const std::size_t number : numbers) {
      inputs.push_back(all[number].input);
      targets.push_back(all[number].targets);
    }
    const auto result = run(tape, weights, sizes, rows_by_sample(inputs), dropout, random);
    return cross_entropy(tape, result.logits, rows_by_sample(targets).ids, scale);
  };
  return examples;
}

Reading read(const Weights<float>& weights, const TransformerSizes& sizes, const std::vector<int>& input) {
  Tape<float> tape(false);
  const auto result = run(tape, weights, sizes, rows_by_sample({input}));
  Reading reading;
  for (std::size_t row = 0; row < result.logits.rows; ++row) {
    const float* logits = result.logits.value + row * sizes.classes;
    reading.classes.push_back(static_cast<int>(std::max_element(logits, logits + sizes.classes) - logits));
  }
  const std::size_t n = input.size();
  for (const auto& attended : result.attended) {
    auto& heads = reading.weights.emplace_back();
    for (std::size_t head = 0; head < sizes.heads; ++head) {
      auto& queries = heads.emplace_back();
      for (std::size_t query = 0; query < n; ++query) {
        const float* row = attended.weights.value + (head * n + query) * n;
        queries.emplace_back(row, row + n);
      }
    }
  }
  return reading;
}

Share accuracy(const Weights<float>& weights, const TransformerSizes& sizes,
               const std::vector<Labelled>& examples) {
  Share share = {0, 0};
  for (const auto& example : examples) {
    const auto classes = read(weights, sizes, example.input).classes;
    for (std::size_t i = 0; i < example.targets.size(); ++i) {
      if (example.targets[i] >= 0) share.count(classes[i] == example.targets[i]);
    }
  }
  return share;
}

Examples examples_of(std::shared_ptr<const TranslationModel> model, Translations translations) {
  Examples examples;
  for (std::size_t i = 0; i < translations.sources.size(); ++i) {
    examples.lengths.push_back(translations.sources[i].size() + translations.targets[i].size());
    examples.predictions.push_back(translations.targets[i].size() + 1);
  }
  examples.loss = [model, all = std::move(translations)](auto& tape, const auto& weights, const auto& numbers,
                                                         float scale, double dropout, Random* random) {
    Sequences sources, targets;
    for (const std::size_t number : numbers) {
      sources.push_back(all.sources[number]);
      targets.push_back(all.targets[number]);
    }
    return model->loss(tape, weights, sources, targets, scale, dropout, random);
  };
  return examples;
}

}  // namespace attn::train
