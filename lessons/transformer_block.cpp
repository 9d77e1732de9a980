/// A block of a transformer: attention mixes the tokens, a feed-forward network rewrites each of them, and
/// around both go residual connections and layer norm. The lesson is the document transformer-block.md.
/// Sources: Vaswani et al. 2017, section 3.1 and equation 2; layer norm: Ba et al. 2016; before the sublayer:
/// Xiong et al. 2020; residual connections: He et al. 2016; GELU: Hendrycks & Gimpel 2016.

#include "lessons/transformer_block.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa/fused_layouts.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/model.hpp"

namespace lessons {

namespace {

/// A letter that comes again: where it stood before, and where it stands now.
struct Repeat {
  std::size_t before, now;
};

Repeat first_repeat(const std::vector<std::string>& letters) {
  for (std::size_t now = 0; now < letters.size(); ++now) {
    const auto before =
        std::find(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(now), letters[now]);
    const auto place = static_cast<std::size_t>(before - letters.begin());
    if (place < now) return {place, now};
  }
  throw attn::Error("no letter of the text comes again");
}

/// `x → q 0.99`: the letter at that place and the one that it gives most to.
std::string look(const LayerOfModel& layer, std::size_t place) {
  const double* row = &layer.weights(0, 0, place, 0);
  const auto at = attn::argmax(row, layer.keys.size());
  return fmt::format("{} → {} {:.2f}", layer.queries[place], layer.keys[at], row[at]);
}

double share_right(std::string_view model) {
  return attn::shipped_model(std::string(model))->scores.at("next tokens right");
}

/// The note `stack`: why blocks are stacked, on two trained models, one of one layer and one of two.
void explain_stack(Workbench& bench) {
  const auto two = layers_of_model("induction"), one = layers_of_model("induction-one-layer");
  const auto& letters = two.front().queries;
  const auto [before, now] = first_repeat(letters);
  const auto &letter = letters[now], &next = letters[before + 1];
  bench.trace.note(
      "stack", "What two blocks find that one cannot",
      fmt::format(
          "Two models read \"{}\" and say what comes next (attnlab train induction; no ffn, no layer norm). "
          "It should be \"{}\", as after the first \"{}\". Block 1: \"{}\" looks one place back, and its row "
          "now says \"after {}\". Block 2: the last \"{}\" looks for that row. One block alone cannot: the "
          "key "
          "of \"{}\" does not know what stands before it. An arrow means \"looks at\".",
          fmt::join(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(now) + 1, " "), next,
          letter, next, letter, letter, next),
      fmt::format("            block 1     block 2     right on new letters\n"
                  "two blocks  {:<10}  {:<10}  {:3.0f} %\n"
                  "one block   {:<10}              {:3.0f} %",
                  look(two[0], before + 1), look(two[1], now), 100.0 * share_right("induction"),
                  look(one[0], now), 100.0 * share_right("induction-one-layer")));
}

}  // namespace

void tell_block(DocumentRun& run, const Tensor<3>& X, const Views& weights, const Heads& heads,
                const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory) {
  set_view(run, "X", {"batch", "token", "d_model"}, X);
  for (const auto* const axis : {"query", "key"}) run.axis(axis, X.shape(1));
  run.set("decoder", memory.has_value());
  set_multihead_weights(run, "attention/", weights, heads);
  std::map<std::string, formula::Axes> axes = {
      {"W_1", {"d_model", "d_ff"}}, {"b_1", {"d_ff"}}, {"W_2", {"d_ff", "d_model"}}, {"b_2", {"d_model"}}};
  std::vector<std::string> norms = {"norm_1/", "norm_2/"};
  if (memory) {
    set_view(run, "memory", {"batch", "source", "d_model"}, *memory);
    run.axis("cross/key", memory->shape(1));
    set_multihead_weights(run, "cross/", weights, heads);
    norms.emplace_back("norm_cross/");
  }
  for (const auto& norm : norms)
    for (const auto* const name : {"gain", "bias"}) axes[norm + name] = {"d_model"};
  set_views(run, "", weights, axes);
  run.set_mask(mask, "attention/");
  run.tell_part("parts/block.md");
}

namespace {

/// Gives the weights of a layer of the model as those of the group `group`.
void give_layer(ModelInputs& inputs, const std::string& layer, const std::string& group) {
  for (const std::string id :
       {"attention/W_Q", "attention/W_K", "attention/W_V", "attention/W_O", "W_1", "W_2"})
    inputs.give(group + id, inputs.matrix(layer + id));
  for (const std::string id : {"b_1", "b_2", "norm_1/gain", "norm_1/bias", "norm_2/gain", "norm_2/bias"})
    inputs.give(group + id, inputs.vector(layer + id));
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

void run_transformer_block(Workbench& bench) {
  Functions functions;
  add_fused_layouts(functions);
  add_cross_attends_itself(functions, "cross/x", "cross/");
  functions.remarks["who_is_about_whom"] = who_is_about_whom;
  functions.actions["stack"] = [](DocumentRun& run) { explain_stack(run.bench()); };
  DocumentRun(bench, functions).tell();
}

}  // namespace

const LessonCode transformer_block_code = {
    .give = give_both_layers, .sharpen = sharpen_block, .run = run_transformer_block};

}  // namespace lessons
