#include <string>
#include <vector>

#include "lessons/seq2seq.hpp"

namespace lessons {

namespace {

/// The weights and biases of an LSTM that reads vectors of length `from` into states of length `state`.
std::vector<Input> lstm_input_list(const std::string& gates, const std::string& from,
                                   const std::string& state) {
  return {{"W_ih", {gates, from}, Draw::left_weight},
          {"W_hh", {gates, state}, Draw::left_weight},
          {"b_ih", {gates}, Draw::zeros},
          {"b_hh", {gates}, Draw::zeros}};
}

std::vector<Input> attention_weight_list(const std::string& attention) {
  const std::string state = "hidden=direction·hidden", two_states = "feature=2·direction·hidden";
  if (attention == "bahdanau" || attention == "bahdanau-input")
    return {{"W_q", {attention == "bahdanau" ? state : "feature=", "d_a"}, Draw::weight},
            {"W_k", {state, "d_a"}, Draw::weight},
            {"v_a", {"d_a"}, Draw::weight},
            {"b_q", {"d_a"}, Draw::given},
            {"b_k", {"d_a"}, Draw::given}};
  std::vector<Input> weights;
  if (attention == "multihead")
    weights = {{"W_Q", {state, "head·d_k="}, Draw::weight},
               {"W_K", {state, "head·d_k="}, Draw::weight},
               {"W_V", {state, "head·d_v="}, Draw::weight},
               {"W_O", {"head·d_v=", state}, Draw::weight},
               {"b_Q", {"head·d_k=direction·hidden"}, Draw::given},
               {"b_K", {"head·d_k=direction·hidden"}, Draw::given},
               {"b_V", {"head·d_v=direction·hidden"}, Draw::given},
               {"b_O", {state}, Draw::given}};
  if (attention == "luong-general")
    weights = {{"W_a", {state, "feature="}, Draw::weight},
               {"b_a", {"feature=direction·hidden"}, Draw::given}};
  if (attention == "luong-concat")
    weights = {{"W_a", {two_states, "d_a"}, Draw::weight},
               {"v_a", {"d_a"}, Draw::weight},
               {"b_a", {"d_a"}, Draw::given}};
  weights.push_back({"W_c", {two_states, state}, Draw::weight});
  weights.push_back({"b_c", {state}, Draw::given});
  return weights;
}

}  // namespace

std::vector<Input> seq2seq_input_list(const Options& options) {
  const bool is_bahdanau = attends_before_the_cell(options);
  std::vector<Input> inputs = {{"X_source", {"source", "d_model"}, Draw::embedding}};
  const auto add = [&](const std::string& group, const std::vector<Input>& of_group) {
    for (const auto& input : in_group(group, of_group)) inputs.push_back(input);
  };
  add("encoder", lstm_input_list("gate=4·hidden", "d_model", "hidden"));
  if (options.bidirectional) add("encoder/reverse", lstm_input_list("gate=4·hidden", "d_model", "hidden"));
  add("decoder", lstm_input_list("gate=4·direction·hidden", is_bahdanau ? "feature=" : "d_model",
                                 "hidden=direction·hidden"));
  add("attention", attention_weight_list(options.attention));
  add("output", {{"W", {is_bahdanau ? "feature=" : "hidden=direction·hidden", "vocabulary="}, Draw::weight},
                 {"b", {"vocabulary="}, is_bahdanau ? Draw::zeros : Draw::given}});
  inputs.push_back({.id = "words", .axes = {"target=1+target"}, .draw = Draw::given, .is_multiplied = false});
  if (options.model) inputs.push_back({"exact_by_length", {"model=", "length="}, Draw::page});
  if (reads_its_own_words(options)) inputs.push_back({target_embedding, {"word=", "d_model"}, Draw::page});
  inputs.push_back({"X_target", {"target=1+target", "d_model"}, Draw::embedding});
  inputs.push_back({"mask", {"target=1+target", "source"}, Draw::page});
  return inputs;
}

}  // namespace lessons
