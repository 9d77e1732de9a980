#include "fast/train/translation_model.hpp"

#include <algorithm>

namespace attn::train {

namespace {

class RecurrentTranslation final : public TranslationModel {
 public:
  explicit RecurrentTranslation(const EncoderDecoderSizes& sizes) : sizes_(sizes) {}

  WeightTable table() const override { return weights_of(sizes_); }

  std::vector<std::pair<std::string, std::string>> configuration() const override {
    return {{"attention", name_of(sizes_.attention)},
            {"d_model", std::to_string(sizes_.d_model)},
            {"hidden", std::to_string(sizes_.hidden)},
            {"d_a", std::to_string(sizes_.d_a)},
            {"bidirectional", "true"}};
  }

  bool attends() const override { return sizes_.attention != DecoderAttention::none; }

  Variable<float> loss(Tape<float>& tape, const Weights<float>& weights, const Sequences& sources,
                       const Sequences& targets, float scale, double dropout, Random* random) const override {
    return translation_loss(tape, weights, sizes_, sources, targets, scale, dropout, random);
  }

  Sequences translate(const Weights<float>& weights, const Sequences& sources,
                      std::size_t most_words) const override {
    Sequences written;
    for (auto& translation : attn::train::translate(weights, sizes_, sources, most_words))
      written.push_back(std::move(translation.words));
    return written;
  }

  std::vector<AttendingHead> attending_heads(const Weights<float>& weights, const Sequences& sources,
                                             const Sequences& targets) const override {
    if (!attends()) return {};
    return {{"", forced_alignment(weights, sizes_, sources, targets)}};
  }

 private:
  EncoderDecoderSizes sizes_;
};

class TransformerTranslation final : public TranslationModel {
 public:
  explicit TransformerTranslation(const TransformerTranslatorSizes& sizes) : sizes_(sizes) {}

  WeightTable table() const override { return weights_of(sizes_); }

  std::vector<std::pair<std::string, std::string>> configuration() const override {
    const auto number = [](std::size_t value) { return std::to_string(value); };
    return {{"attention", "transformer"},
            {"d_model", number(sizes_.d_model)},
            {"heads", number(sizes_.heads)},
            {"d_k", number(sizes_.d_k)},
            {"d_v", number(sizes_.d_v)},
            {"d_ff", number(sizes_.d_ff)},
            {"layers", number(sizes_.layers)},
            {"positions", name_of(sizes_.positions)},
            {"norm", "post"}};
  }

  bool attends() const override { return true; }

  Variable<float> loss(Tape<float>& tape, const Weights<float>& weights, const Sequences& sources,
                       const Sequences& targets, float scale, double dropout, Random* random) const override {
    return translation_loss(tape, weights, sizes_, sources, targets, scale, dropout, random);
  }

  Sequences translate(const Weights<float>& weights, const Sequences& sources,
                      std::size_t most_words) const override {
    return attn::train::translate(weights, sizes_, sources, most_words);
  }

  std::vector<AttendingHead> attending_heads(const Weights<float>& weights, const Sequences& sources,
                                             const Sequences& targets) const override {
    std::vector<AttendingHead> heads;
    for (std::size_t layer = 0; layer < sizes_.layers; ++layer)
      for (std::size_t head = 0; head < sizes_.heads; ++head)
        heads.push_back({"layer " + std::to_string(layer + 1) + ", head " + std::to_string(head), {}});
    auto weights_of_heads = forced_cross_attention(weights, sizes_, sources, targets);
    for (std::size_t i = 0; i < heads.size(); ++i) heads[i].weights = std::move(weights_of_heads[i]);
    return heads;
  }

 private:
  TransformerTranslatorSizes sizes_;
};

}  // namespace

std::shared_ptr<const TranslationModel> model_of(const EncoderDecoderSizes& sizes) {
  return std::make_shared<RecurrentTranslation>(sizes);
}

std::shared_ptr<const TranslationModel> model_of(const TransformerTranslatorSizes& sizes) {
  return std::make_shared<TransformerTranslation>(sizes);
}

std::vector<std::vector<int>> words_read(const std::vector<std::vector<int>>& targets, int mark) {
  std::vector<std::vector<int>> read;
  for (const auto& target : targets) {
    auto& words = read.emplace_back(target.size() + 1, mark);
    std::copy(target.begin(), target.end(), words.begin() + 1);
  }
  return read;
}

std::vector<std::vector<int>> words_to_write(const std::vector<std::vector<int>>& targets, int mark) {
  std::vector<std::vector<int>> written;
  for (const auto& target : targets) {
    auto& words = written.emplace_back(target.size() + 1, mark);
    std::copy(target.begin(), target.end(), words.begin());
  }
  return written;
}

int likeliest(const float* logits, std::size_t words) {
  return static_cast<int>(std::max_element(logits, logits + words) - logits);
}

}  // namespace attn::train
