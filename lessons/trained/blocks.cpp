#include "lessons/trained/blocks.hpp"

#include <fmt/format.h>

#include <utility>

#include "attn/ops/mask.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead.hpp"
#include "lessons/transformer_block.hpp"

namespace lessons {

namespace {

Options with_heads(std::size_t heads) {
  Options options;
  options.heads = heads;
  return options;
}

}  // namespace

Views weights_of(const attn::Model& model, const std::string& group) {
  Views weights;
  for (const auto& tensor : model.tensors)
    if (tensor.id.starts_with(group))
      weights.emplace(tensor.id.substr(group.size()),
                      formula::view_of({}, {attn::Dtype::float64, tensor.shape, tensor.values.data()}));
  return weights;
}

Block attend(const Tensor<3>& X, const Views& weights, std::size_t heads,
             const std::optional<Mask<3>>& mask) {
  const Named tokens = {"X", X};
  PartRun run(*lesson_named("transformer-block"), with_heads(heads));
  tell_multihead(run, tokens, tokens, weights, {heads, heads}, mask);
  return {.weights = run.take<4>("weights"), .output = run.take<3>("output")};
}

Block apply_block(const Tensor<3>& X, const Views& weights, std::size_t heads,
                  const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory) {
  PartRun run(*lesson_named("transformer-block"), with_heads(heads));
  tell_block(run, X, weights, {heads, heads}, mask, memory);
  Block block = {.weights = run.take<4>("attention/weights"),
                 .attended = run.take<3>("norm_1"),
                 .output = run.take<3>("output")};
  if (memory) block.cross_weights = run.take<4>("cross/weights");
  return block;
}

namespace {

/// The first `count` blocks of one side of the model, one upon the other.
std::vector<Block> blocks_of(const ModelInputs& inputs, const char* side, std::size_t count, Tensor<3> X,
                             const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory) {
  std::vector<Block> blocks;
  for (std::size_t layer = 1; layer <= count; ++layer) {
    const auto weights = weights_of(inputs.model(), fmt::format("{}/layer={}/", side, layer));
    blocks.push_back(
        apply_block(layer == 1 ? X : blocks.back().output, weights, inputs.number("heads"), mask, memory));
  }
  return blocks;
}

}  // namespace

std::vector<Block> encoder_blocks(const ModelInputs& inputs, const attn::TokenBatch& source) {
  const auto X = inputs.with_positions(inputs.rows("source/embedding", "source_words", source), source);
  return blocks_of(inputs, "encoder", inputs.number("layers"), X, std::nullopt, std::nullopt);
}

std::vector<Block> decoder_blocks(const ModelInputs& inputs, const attn::TokenBatch& read,
                                  const Tensor<3>& memory, std::size_t count) {
  const auto X = inputs.with_positions(inputs.rows("target/embedding", "target_words", read), read);
  const auto causal = attn::repeat_mask(attn::causal_mask(read.length(), read.length()), 1);
  return blocks_of(inputs, "decoder", count, X, causal, memory);
}

attn::TokenBatch before_each(std::vector<std::string> words) {
  words.insert(words.begin(), std::string(attn::start_token));
  words.pop_back();
  return {{std::move(words)}};
}

}  // namespace lessons
