#include "fast/train/tasks/translation_task.hpp"

#include <algorithm>
#include <utility>

#include "attn/error.hpp"

namespace attn::train {

namespace {

DecoderAttention attention_of(const std::string& name) {
  std::string known;
  for (const auto attention : {DecoderAttention::bahdanau, DecoderAttention::bahdanau_input,
                               DecoderAttention::luong_general, DecoderAttention::none}) {
    if (name_of(attention) == name) return attention;
    known += (known.empty() ? "" : ", ") + name_of(attention);
  }
  throw Error("--attention: there is no attention \"" + name + "\"; valid: " + known);
}

EncoderDecoderSizes with(EncoderDecoderSizes sizes, const TaskOptions& options) {
  sizes.d_model = options.d_model.value_or(sizes.d_model);
  sizes.hidden = options.hidden.value_or(sizes.hidden);
  sizes.d_a = options.d_a.value_or(sizes.d_a);
  if (options.attention) sizes.attention = attention_of(*options.attention);
  return sizes;
}

/// The vocabulary of an output, with the mark that ends a sentence, or of what is read, with the one that
/// begins it.
std::vector<std::string> marked(std::vector<std::string> words, const char* mark) {
  words.emplace_back(mark);
  return words;
}

}  // namespace

TranslationTask::TranslationTask(EncoderDecoderSizes sizes, const TaskOptions& options,
                                 std::vector<std::string> source_words, std::vector<std::string> target_words)
    : source_words_(std::move(source_words)),
      target_words_(std::move(target_words)),
      sizes_(with(sizes, options)) {
  sizes_.source_words = source_words_.size();
  sizes_.target_words = target_words_.size();
}

std::vector<std::pair<std::string, std::vector<std::string>>> TranslationTask::vocabularies() const {
  return {{"source_words", source_words_.words()},
          {"target_words", marked(target_words_.words(), "<s>")},
          {"output_words", marked(target_words_.words(), "</s>")}};
}

std::vector<std::pair<std::string, std::string>> TranslationTask::configuration() const {
  return {{"attention", name_of(sizes_.attention)},
          {"d_model", std::to_string(sizes_.d_model)},
          {"hidden", std::to_string(sizes_.hidden)},
          {"d_a", std::to_string(sizes_.d_a)},
          {"bidirectional", "true"}};
}

double TranslationTask::exact(const Weights<float>& weights, const TranslationExamples& examples) const {
  std::size_t longest = 0, right = 0;
  for (const auto& target : examples.targets()) longest = std::max(longest, target.size());
  const auto translations = translate_all(weights, sizes_, examples.sources(), longest + 5);
  for (std::size_t i = 0; i < translations.size(); ++i)
    right += translations[i].words == examples.targets()[i];
  return static_cast<double>(right) / static_cast<double>(translations.size());
}

std::vector<Translation> translate_all(const Weights<float>& weights, const EncoderDecoderSizes& sizes,
                                       const std::vector<std::vector<int>>& sources, std::size_t most_words) {
  constexpr std::size_t at_once = 100;
  std::vector<Translation> all;
  for (std::size_t first = 0; first < sources.size(); first += at_once) {
    const std::size_t end = std::min(first + at_once, sources.size());
    const std::vector<std::vector<int>> some(sources.begin() + static_cast<std::ptrdiff_t>(first),
                                             sources.begin() + static_cast<std::ptrdiff_t>(end));
    for (auto& translation : translate(weights, sizes, some, most_words))
      all.push_back(std::move(translation));
  }
  return all;
}

}  // namespace attn::train
