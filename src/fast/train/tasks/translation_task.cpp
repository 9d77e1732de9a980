#include "fast/train/tasks/translation_task.hpp"

#include <algorithm>
#include <utility>

#include "attn/error.hpp"

namespace attn::train {

namespace {

constexpr const char* transformer = "transformer";

DecoderAttention attention_of(const std::string& name) {
  std::string known;
  for (const auto attention : {DecoderAttention::bahdanau, DecoderAttention::bahdanau_input,
                               DecoderAttention::luong_general, DecoderAttention::none}) {
    if (name_of(attention) == name) return attention;
    known += name_of(attention) + ", ";
  }
  throw Error("--attention: there is no attention \"" + name + "\"; valid: " + known + transformer);
}

void refuse_where(bool is_foreign, const std::string& flag, const std::string& attention) {
  if (is_foreign)
    throw Error("--" + flag + " does not concern --attention " + attention +
                (attention == transformer ? ", which has no LSTM" : "; valid: with --attention transformer"));
}

EncoderDecoderSizes with(EncoderDecoderSizes sizes, const TaskOptions& options) {
  const auto name = options.attention.value_or(name_of(sizes.attention));
  sizes.attention = attention_of(name);
  refuse_where(options.positions.has_value(), "positions", name);
  refuse_where(options.heads.has_value(), "heads", name);
  refuse_where(options.d_k.has_value(), "d-k", name);
  refuse_where(options.d_v.has_value(), "d-v", name);
  refuse_where(options.d_ff.has_value(), "d-ff", name);
  refuse_where(options.layers.has_value(), "layers", name);
  sizes.d_model = options.d_model.value_or(sizes.d_model);
  sizes.hidden = options.hidden.value_or(sizes.hidden);
  sizes.d_a = options.d_a.value_or(sizes.d_a);
  return sizes;
}

TransformerTranslatorSizes with(TransformerTranslatorSizes sizes, const TaskOptions& options) {
  refuse_where(options.hidden.has_value(), "hidden", transformer);
  refuse_where(options.d_a.has_value(), "d-a", transformer);
  sizes.d_model = options.d_model.value_or(sizes.d_model);
  sizes.heads = options.heads.value_or(sizes.heads);
  sizes.d_k = options.d_k.value_or(sizes.d_k);
  sizes.d_v = options.d_v.value_or(sizes.d_v);
  sizes.d_ff = options.d_ff.value_or(sizes.d_ff);
  sizes.layers = options.layers.value_or(sizes.layers);
  if (sizes.d_ff == 0)
    throw Error("--d-ff 0: the blocks of a translator have such a network; valid: 1 or more");
  if (options.positions)
    sizes.positions =
        positions_of(*options.positions, {Positions::none, Positions::sinusoidal, Positions::rotary});
  if (sizes.positions == Positions::rotary && sizes.d_k % 2 == 1)
    throw Error("--d-k " + std::to_string(sizes.d_k) + ": rotary positions turn pairs, so it must be even");
  return sizes;
}

std::shared_ptr<const TranslationModel> choose_model(EncoderDecoderSizes recurrent,
                                                     const TaskOptions& options, std::size_t source_words,
                                                     std::size_t target_words) {
  if (options.attention == transformer)
    return model_of(with(TransformerTranslatorSizes{source_words, target_words}, options));
  recurrent.source_words = source_words;
  recurrent.target_words = target_words;
  return model_of(with(recurrent, options));
}

/// The vocabulary of an output, with the mark that ends a sentence, or of what is read, with the one that
/// begins it.
std::vector<std::string> marked(std::vector<std::string> words, const char* mark) {
  words.emplace_back(mark);
  return words;
}

}  // namespace

TranslationTask::TranslationTask(const EncoderDecoderSizes& recurrent, const TaskOptions& options,
                                 std::vector<std::string> source_words, std::vector<std::string> target_words)
    : source_words_(std::move(source_words)),
      target_words_(std::move(target_words)),
      model_(choose_model(recurrent, options, source_words_.size(), target_words_.size())) {}

std::vector<std::pair<std::string, std::vector<std::string>>> TranslationTask::vocabularies() const {
  return {{"source_words", source_words_.words()},
          {"target_words", marked(target_words_.words(), "<s>")},
          {"output_words", marked(target_words_.words(), "</s>")}};
}

std::vector<std::pair<std::string, std::string>> TranslationTask::configuration() const {
  return model_->configuration();
}

Sequences TranslationTask::translate(const Weights<float>& weights, const Sequences& sources,
                                     std::size_t most_words) const {
  constexpr std::size_t at_once = 100;
  Sequences all;
  for (std::size_t first = 0; first < sources.size(); first += at_once) {
    const std::size_t end = std::min(first + at_once, sources.size());
    const Sequences some(sources.begin() + static_cast<std::ptrdiff_t>(first),
                         sources.begin() + static_cast<std::ptrdiff_t>(end));
    for (auto& words : model_->translate(weights, some, most_words)) all.push_back(std::move(words));
  }
  return all;
}

std::vector<bool> TranslationTask::exact(const Weights<float>& weights,
                                         const TranslationExamples& examples) const {
  std::size_t longest = 0;
  for (const auto& target : examples.targets()) longest = std::max(longest, target.size());
  const auto written = translate(weights, examples.sources(), longest + 5);
  std::vector<bool> is_exact;
  for (std::size_t i = 0; i < written.size(); ++i) is_exact.push_back(written[i] == examples.targets()[i]);
  return is_exact;
}

Share share_of(const std::vector<bool>& holds) {
  const auto right = std::count(holds.begin(), holds.end(), true);
  return {static_cast<std::size_t>(right), holds.size()};
}

corpora::Grammar load_grammar(const TaskOptions& options) {
  return corpora::Grammar::load(options.grammar.value_or(options.corpora + "/english-french.grammar"));
}

}  // namespace attn::train
