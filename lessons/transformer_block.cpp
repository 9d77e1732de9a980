/// A block of a transformer: attention mixes the tokens, a feed-forward network rewrites each of them, and
/// around both go residual connections and layer norm. The lesson is the document transformer-block.md, which
/// has its sources.

#include <string>

#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"
#include "lessons/trained/layers.hpp"
#include "trace/model.hpp"

namespace lessons {

namespace {

/// Gives the weights of a layer of the model as those of the group `group`.
void give_layer(ModelInputs& inputs, const std::string& layer, const std::string& group) {
  inputs.give_named(group, layer,
                    {"attention/W_Q", "attention/W_K", "attention/W_V", "attention/W_O", "W_1", "W_2", "b_1",
                     "b_2", "norm_1/gain", "norm_1/bias", "norm_2/gain", "norm_2/bias"});
}

}  // namespace

void give_block(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", input_of_second_layer(inputs));
  give_layer(inputs, "layer=2/", "");
}

namespace {

void give_both_layers(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("layer_1/X", words_as_vectors(inputs));
  inputs.give("layer_1/attention/angles", angles_of_first_layer(inputs.model(), inputs.sentence().length()));
  give_layer(inputs, "layer=1/", "layer_1/");
  give_layer(inputs, "layer=2/", "");
}

void prepare_transformer_block(DocumentRun& run, Functions& functions) {
  add_cross_attends_itself(functions, "cross/x", "cross/");
  if (!run.bench().options.model) return;
  for (const auto& [name, model] :
       {std::pair("right_of_two", "induction"), {"right_of_one", "induction-one-layer"}})
    run.set(name, attn::shipped_model(model)->scores.at("next tokens right"));
}

}  // namespace

const LessonCode transformer_block_code = {
    .give = give_both_layers, .sharpen = sharpen_block, .prepare = prepare_transformer_block};

}  // namespace lessons
