#include "trace/diagnosis/names.hpp"

#include <catch2/catch.hpp>

using attn::meaning_of;
using attn::Storage;
using Strings = std::vector<std::string>;

namespace {

const Strings sdpa = {"Q", "K", "V", "mask", "lengths", "scores", "scaled", "masked", "weights", "output"};

const Strings ids_of_multihead = {"X",      "W_Q",       "W_K",      "W_V",     "W_O",          "b_Q",
                                  "b_K",    "b_V",       "b_O",      "mask",    "lengths",      "Q",
                                  "K",      "V",         "Q_heads",  "K_heads", "V_heads",      "scores",
                                  "scaled", "masked",    "weights",  "heads",   "mean_weights", "concat",
                                  "output", "norm/gain", "norm/bias"};

const Strings block = {"X",
                       "memory",
                       "attention/W_Q",
                       "attention/W_O",
                       "cross/W_Q",
                       "cross/W_O",
                       "W_1",
                       "b_1",
                       "W_2",
                       "b_2",
                       "norm_1/gain",
                       "norm_1/bias",
                       "norm_cross/gain",
                       "norm_2/gain",
                       "attention/Q",
                       "attention/weights",
                       "attention/output",
                       "cross/weights",
                       "cross/output",
                       "ffn/hidden",
                       "ffn/output",
                       "output"};

Strings ids_of(const std::string& name, const Strings& known_ids) {
  INFO(name);
  const auto meaning = meaning_of(name, known_ids);
  CHECK_FALSE(meaning.is_fused);
  return meaning.ids;
}

void check_means(const std::string& id, const Strings& known_ids, const Strings& names,
                 Storage storage = Storage::as_it_is) {
  for (const auto& name : names) {
    INFO(name);
    CHECK(ids_of(name, known_ids) == Strings{id});
    CHECK(meaning_of(name, known_ids).storage == storage);
  }
}

void check_unknown(const Strings& known_ids, const Strings& names) {
  for (const auto& name : names) {
    INFO(name);
    CHECK(ids_of(name, known_ids).empty());
  }
}

}  // namespace

TEST_CASE("common names of the tensors of attention are understood") {
  check_means("Q", sdpa, {"q", "query", "queries", "query_states", "query_layer"});
  check_means("K", sdpa, {"k", "key", "keys", "key_states"});
  check_means("V", sdpa, {"v", "value", "values", "value_layer"});
  check_means("scores", sdpa, {"Scores", "raw_scores", "energy", "logits", "attn_logits"});
  for (const auto* name : {"attn_scores", "attention_scores"})
    CHECK(ids_of(name, sdpa) == Strings{"scores", "scaled", "masked"});
  CHECK(ids_of("blocks.0.attn.hook_attn_scores", sdpa) == Strings{"masked", "scaled", "scores"});
  CHECK(ids_of("blocks.0.attn.hook_pattern", sdpa) == Strings{"weights"});
  check_means("scaled", sdpa, {"scaled_scores", "scores_scaled", "scaled_attn_scores"});
  check_means("masked", sdpa, {"masked_scores", "scores_masked"});
  check_means("weights", sdpa,
              {"attn", "attn_weights", "attention_weights", "attention", "attention_probs", "alpha", "probs",
               "self_attn.attn_weights", "attention/weights", "encoder.layers.0.self_attn.attn_weights"});
  check_means("output", sdpa, {"out", "attn_output", "context", "result", "y", "decoder/output"});
  check_means("mask", sdpa, {"key_padding_mask", "attn_mask", "attention_mask", "causal_mask", "src_mask"});
  check_means("lengths", sdpa, {"seq_lens", "seq_lengths", "valid_lens"});
}

TEST_CASE("names may mean several tensors") {
  CHECK(ids_of("q", ids_of_multihead) == Strings{"Q", "Q_heads"});
  CHECK(ids_of("query", ids_of_multihead) == Strings{"Q", "Q_heads", "X"});
  CHECK(ids_of("q_proj", ids_of_multihead) == Strings{"Q", "Q_heads", "W_Q"});
  CHECK(ids_of("attn", ids_of_multihead) == Strings{"weights", "mean_weights"});
  CHECK(ids_of("context", ids_of_multihead) == Strings{"output", "concat", "heads"});
  CHECK(ids_of("attn_weights", block) == Strings{"attention/weights", "cross/weights"});
}

TEST_CASE("weights have the names of many libraries") {
  check_means("W_Q", ids_of_multihead, {"Wq", "W_q", "wq", "w_query", "weight_q", "query.kernel", "mha.W_Q"});
  check_means("W_Q", ids_of_multihead,
              {"q_proj.weight", "self_attn.q_proj.weight", "model.layers.0.self_attn.q_proj.weight",
               "query.weight", "bert.encoder.layer.0.attention.self.query.weight", "to_q.weight", "wq.weight",
               "W_query.weight", "q.weight", "q_proj_weight", "my_attention.q_proj.weight"},
              Storage::transposed);
  check_means("W_O", ids_of_multihead,
              {"out_proj.weight", "o_proj.weight", "to_out.0.weight", "wo.weight", "proj.weight",
               "attention.output.dense.weight"},
              Storage::transposed);
  check_means("W_O", ids_of_multihead, {"c_proj.weight", "h.0.attn.c_proj.weight"}, Storage::as_in_gpt2);
  check_means("b_K", ids_of_multihead, {"k_proj.bias", "bk", "b_k", "key.bias", "key_bias"});
  check_means("b_O", ids_of_multihead, {"out_proj.bias", "bo", "o_proj.bias"});
  check_means("norm/gain", ids_of_multihead, {"norm.weight", "LayerNorm.gamma"});
  check_means("norm/bias", ids_of_multihead, {"norm.bias", "layer_norm.beta"});
}

TEST_CASE("fused weights are parts in their order") {
  const auto check_fused = [](const std::string& name, const Strings& ids, Storage storage) {
    INFO(name);
    const auto meaning = meaning_of(name, ids_of_multihead);
    CHECK(meaning.is_fused);
    CHECK(meaning.ids == ids);
    CHECK(meaning.storage == storage);
  };
  const Strings weights = {"W_Q", "W_K", "W_V"}, biases = {"b_Q", "b_K", "b_V"};
  for (const std::string name : {"in_proj_weight", "self_attn.in_proj_weight", "qkv.weight",
                                 "attn.qkv.weight", "Wqkv.weight", "to_qkv.weight", "qkv_proj.weight"})
    check_fused(name, weights, Storage::transposed);
  for (const std::string name : {"in_proj_bias", "qkv.bias", "attn.c_attn.bias"})
    check_fused(name, biases, Storage::as_it_is);
  check_fused("transformer.h.0.attn.c_attn.weight", weights, Storage::as_in_gpt2);
  check_fused("Wqkv", weights, Storage::by_its_shape);
  check_fused("kv_proj.weight", {"W_K", "W_V"}, Storage::transposed);
  check_fused("attention.query_key_value.weight", weights, Storage::interleaved);
  CHECK(meaning_of("in_proj_bias", {"W_Q", "W_K", "W_V"}).ids.empty());
  CHECK(meaning_of("in_proj_weight", {"X", "W_Q", "W_K"}).ids == Strings{"W_Q", "W_K", ""});
  CHECK(meaning_of("in_proj_weight", {"W_q", "W_k"}).ids.empty());
}

TEST_CASE("the path says which of several attentions") {
  check_means("cross/W_Q", block, {"cross_attn.q_proj.weight", "decoder.layers.0.encoder_attn.q_proj.weight"},
              Storage::transposed);
  check_means("attention/W_Q", block, {"self_attn.q_proj.weight", "layers.0.attention.wq.weight"},
              Storage::transposed);
  check_means("attention/weights", block, {"self_attn.weights", "attention.attn_weights"});
  check_means("cross/weights", block, {"cross_attention.attn_weights"});
  check_means("output", block, {"out", "result"});
  check_means("ffn/output", block, {"mlp.output", "feed_forward.output"});
  CHECK(ids_of("q_proj.weight", block) == Strings{"attention/W_Q", "cross/W_Q"});
  const Strings layers = {"layer=1/W_Q", "layer=2/W_Q", "embedding", "W_vocabulary"};
  check_means("layer=2/W_Q", layers, {"model.layers.1.self_attn.q_proj.weight"}, Storage::transposed);
  check_means("embedding", layers, {"transformer.wte.weight", "model.embed_tokens.weight"});
  check_means("W_vocabulary", layers, {"lm_head.weight"}, Storage::transposed);
  const Strings recurrent = {"encoder/W_ih", "encoder/reverse/W_ih", "decoder/W_ih", "decoder/b_hh"};
  check_means("encoder/W_ih", recurrent, {"encoder.weight_ih_l0", "encoder.lstm.weight_ih_l0"});
  check_means("encoder/reverse/W_ih", recurrent, {"encoder.lstm.weight_ih_l0_reverse"});
  check_means("decoder/b_hh", recurrent, {"decoder.bias_hh"});
}

TEST_CASE("the rest of a block is told from its attention") {
  check_means("W_1", block, {"linear1.weight", "mlp.fc1.weight", "intermediate.dense.weight"},
              Storage::transposed);
  check_means("W_2", block, {"linear2.weight", "layer.0.output.dense.weight"}, Storage::transposed);
  check_means("W_2", block, {"h.0.mlp.c_proj.weight"}, Storage::as_in_gpt2);
  check_means("attention/W_O", block, {"h.0.attn.c_proj.weight"}, Storage::as_in_gpt2);
  check_means("norm_1/gain", block, {"norm1.weight", "ln_1.weight", "input_layernorm.weight"});
  CHECK(ids_of("norm2.weight", block) == Strings{"norm_2/gain", "norm_cross/gain"});
}

TEST_CASE("gradients are no weights") {
  const Strings backward = {"Q", "W_Q", "d_Q", "d_W_Q", "d_X", "output", "d_output"};
  check_means("d_Q", backward, {"dQ", "grad_q", "Q.grad", "d_q"});
  check_means("d_W_Q", backward, {"W_q.grad", "dW_Q"});
  check_means("d_W_Q", backward, {"q_proj.weight.grad"}, Storage::transposed);
  check_means("d_output", backward, {"grad_output"});
  check_unknown(ids_of_multihead, {"W_Q.grad", "grad_q", "dQ", "q_proj.weight.grad"});
}

TEST_CASE("names of something else mean nothing") {
  check_unknown(ids_of_multihead, {"foo", "tokens", "mlp.output", "mlp.c_proj.weight", "block1.output",
                                   "dropout.q", "intermediate.dense.weight", "output.dense.weight", "bias_k",
                                   "bias", "weight", "W_1", "wte.weight", "Q.K", "cross_attention.foo"});
  check_unknown(sdpa, {"q_proj.weight", "W_Q", "X", "in_proj.bias"});
}
