#include "lessons/seq2seq/attention_steps.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "attn/ops/heads.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/seq2seq/weights.hpp"

namespace lessons {

namespace {

/// The id of the states that the decoder attends to.
std::string encoder_states_id(const Workbench& bench) {
  return bench.options.bidirectional ? "encoder/states" : "encoder/h";
}

/// A tensor [batch×head×target×source] as the lesson shows it: without the head axis unless there are heads.
void show_pairs(Workbench& bench, attn::About about, const Tensor<4>& tensor) {
  if (attends_as(bench, "multihead")) {
    about.axes = {"head", "target", "source"};
    bench.trace.step(about, tensor);
  } else {
    about.axes = {"target", "source"};
    bench.trace.step(about, attn::head(tensor, 0));
  }
}

struct ScoreWords {
  std::string formula;
  std::vector<std::string> from;
  std::string note;
};

ScoreWords words_for_scores(const Workbench& bench) {
  const auto states = encoder_states_id(bench);
  if (attends_as(bench, "bahdanau"))
    return {"v_a · tanh(sₜ₋₁ W_q + hⱼ W_k)",
            {"queries", states, "attention/W_q", "attention/W_k", "attention/v_a"},
            "A small network with one hidden layer compares the state that asks with every state of the "
            "encoder. Its hⱼ W_k needs no decoder and is computed once for all steps."};
  if (attends_as(bench, "luong-general"))
    return {"hₜ W_a · h̄ₛ", {"h", states, "attention/W_a"}, "A dot product that is learned."};
  if (attends_as(bench, "luong-concat"))
    return {"v_a · tanh([hₜ; h̄ₛ] W_a)",
            {"h", states, "attention/W_a", "attention/v_a"},
            "Bahdanau's network with both matrices in one, and asked by the state after the cell. The paper "
            "lists it beside dot and general, but it does not multiply the states: it is additive."};
  if (attends_as(bench, "multihead"))
    return {"(hₜ W_Q)ᵢ · (h̄ₛ W_K)ᵢ for each head i",
            {"h", states, "attention/W_Q", "attention/W_K"},
            "The lesson multihead shows how the heads are split. A scale follows, as in a transformer; the "
            "attentions of Bahdanau et al. and Luong et al. have none."};
  return {"hₜ · h̄ₛ",
          {"h", states},
          "Nothing is learned here. It wants states of equal size that mean the same by the same number."};
}

}  // namespace

void show_source_attention(Workbench& bench, const attn::SourceAttention& source) {
  const auto& [scores, scaled, masked, weights, mixture] = source.attention;
  const auto words = words_for_scores(bench);
  const bool has_heads = attends_as(bench, "multihead");
  show_pairs(bench,
             {.id = "scores",
              .title = "How well does each source word match?",
              .formula = words.formula,
              .from = words.from,
              .note = words.note},
             scores);
  if (has_heads)
    show_pairs(bench,
               {.id = "scaled",
                .title = "Scores of a size that does not depend on d_k",
                .formula = fmt::format("scores / √d_k = scores / √{}", state_width(bench) / bench.heads()),
                .from = {"scores"}},
               scaled);
  const std::string last = has_heads ? "scaled" : "scores";
  if (masked)
    show_pairs(bench,
               {.id = "masked",
                .title = "Padding gets −∞",
                .formula = last + " where mask, −∞ elsewhere",
                .from = {last, "mask"},
                .note = "Code without this line gives <pad> a share of the attention, and the same sentence "
                        "another translation in another batch."},
               *masked);
  show_pairs(bench,
             {.id = "weights",
              .title = "The alignment: target × source",
              .formula = fmt::format("softmax({})", masked ? "masked" : last),
              .from = {masked ? "masked" : last},
              .note = "Read a row as: to write this word, the decoder looks that much at each of those. In a "
                      "trained model the table shows which words translate which; these weights are drawn at "
                      "random and show nothing yet.",
              .distribution = true},
             weights);
  if (has_heads)
    bench.trace.step(
        {.id = "mean_weights",
         .title = "The heads' average",
         .formula = fmt::format("Σᵢ weightsᵢ / {}", bench.heads()),
         .from = {"weights"},
         .axes = {"target", "source"},
         .note = "What PyTorch's nn.MultiheadAttention returns as weights unless told otherwise. "
                 "Nothing below is computed from it.",
         .distribution = true},
        attn::mean_over_heads(weights));
  const auto states = encoder_states_id(bench);
  bench.trace.step(
      {.id = "context",
       .title = "What each step takes home from the source",
       .formula = has_heads ? "[head₁; …; headₕ] W_O, headᵢ = weightsᵢ (" + states + " W_V)ᵢ"
                            : "weights · " + states,
       .from = has_heads ? std::vector<std::string>{"weights", states, "attention/W_V", "attention/W_O"}
                         : std::vector<std::string>{"weights", states},
       .axes = {"target", "hidden"},
       .note = has_heads ? ""
                         : "Row t is the average of the encoder's states, weighted with row t "
                           "of the alignment. It may be another one at every step."},
      source.context);
}


}  // namespace lessons
