#include "trace/diagnosis/synonyms.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <map>
#include <sstream>

namespace attn {

namespace {

using Synonyms = std::map<std::string, Synonym>;

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Names and ids have blanks between them.
void add(Synonyms& synonyms, const std::string& names, const std::string& ids,
         Storage storage = Storage::as_it_is) {
  for (const auto& name : words_in(names)) synonyms.insert_or_assign(name, Synonym{words_in(ids), storage});
}

/// The layer of a state dict: its weight is nn.Linear's, its kernel that of Flax or Keras, which is [in×out].
void add_layer(Synonyms& synonyms, const std::string& names, const std::string& weights,
               const std::string& biases) {
  for (const auto& name : words_in(names)) {
    add(synonyms, name + ".weight", weights, Storage::transposed);
    add(synonyms, name + ".kernel", weights);
    add(synonyms, name + ".bias", biases);
  }
}

/// `letter` "q", `word` "query", `id` "Q", and the ids of a tensor before it is projected.
void add_projection(Synonyms& synonyms, const std::string& letter, const std::string& word,
                    const std::string& words, const std::string& id, const std::string& before) {
  const auto names = [&](const char* pattern) {
    return fmt::format(fmt::runtime(pattern), fmt::arg("q", letter), fmt::arg("query", word));
  };
  const auto projected = fmt::format("{0} {0}_heads {1} {2}", id, words, word);
  const auto weight = fmt::format("W_{} W_{}", id, letter), bias = "b_" + id;
  add(synonyms, names("{q} {q}s {q}states {query}states {query}layer mixed{query}layer hook{q} ") + words,
      projected);
  add(synonyms, word, projected + ' ' + before);
  add(synonyms, names("{q}proj {query}proj"), projected + ' ' + weight);
  add(synonyms, names("w{q} w{query} weight{q} weight{query} {q}weight {query}weight"), weight);
  add(synonyms, names("{q}projweight"), weight, Storage::transposed);
  add(synonyms, names("b{q} b{query} {q}bias {query}bias {q}projbias"), bias);
  add_layer(synonyms,
            names("{q} {query} w{q} w{query} {q}proj {query}proj {query}projection to{q} fc{q} linear{q} "
                  "{q}linear {q}lin proj{q} w{q}s"),
            weight, bias);
}

void add_fused(Synonyms& synonyms, const std::string& names, const std::string& ids, Storage storage,
               bool is_third_each = false) {
  for (const auto& name : words_in(names))
    synonyms.insert_or_assign(name, Synonym{words_in(ids), storage, true, is_third_each});
}

void add_fused_projections(Synonyms& synonyms) {
  const std::string weights = "W_Q W_K W_V", biases = "b_Q b_K b_V";
  add_fused(synonyms, "inprojweight inproj.weight", weights, Storage::transposed, true);
  add_fused(synonyms, "inprojbias inproj.bias", biases, Storage::as_it_is, true);
  add_fused(synonyms, "qkv.weight qkvproj.weight wqkv.weight toqkv.weight", weights, Storage::transposed);
  add_fused(synonyms, "qkv.bias qkvproj.bias wqkv.bias toqkv.bias bqkv", biases, Storage::as_it_is);
  add_fused(synonyms, "qkv.kernel qkvproj.kernel", weights, Storage::as_it_is);
  add_fused(synonyms, "cattn.weight", weights, Storage::as_in_gpt2, true);
  add_fused(synonyms, "cattn.bias", biases, Storage::as_it_is, true);
  add_fused(synonyms, "wqkv qkvweight", weights, Storage::by_its_shape);
  add_fused(synonyms, "querykeyvalue.weight", weights, Storage::interleaved);
  add_fused(synonyms, "querykeyvalue.bias", biases, Storage::interleaved);
  add_fused(synonyms, "kvproj.weight tokv.weight wkv.weight", "W_K W_V", Storage::transposed);
  add_fused(synonyms, "kvproj.bias tokv.bias wkv.bias", "b_K b_V", Storage::as_it_is);
}

void add_output_projection(Synonyms& synonyms) {
  add(synonyms, "wo wout woutput weighto oweight outweight", "W_O");
  add(synonyms, "outprojweight oprojweight", "W_O", Storage::transposed);
  add(synonyms, "bo bout boutput obias outbias outprojbias oprojbias", "b_O");
  add_layer(synonyms,
            "o wo wout outproj oproj outprojection outputproj outputprojection projout fco linearo "
            "toout toout.0 proj linears.3 attention.output.dense",
            "W_O", "b_O");
  add_layer(synonyms, "out fcout", "W_O output/W", "b_O output/b");
  add(synonyms, "cproj.weight", "W_O", Storage::as_in_gpt2);
  add(synonyms, "cproj.bias", "b_O");
}

void add_steps_of_attention(Synonyms& synonyms) {
  add(synonyms,
      "score logits attnlogits attentionlogits rawscores energy energies similarity sim dots qk qkt "
      "dotproduct",
      "scores");
  add(synonyms, "attnscores attentionscores", "scores scaled masked");
  add(synonyms, "hookattnscores", "masked scaled scores");
  add(synonyms,
      "scaledscores scoresscaled scaledlogits scaledattnscores scaledattentionscores scaledenergy scaledqk",
      "scaled");
  add(synonyms,
      "maskedscores scoresmasked maskedlogits maskedattnscores maskedattentionscores maskedenergy "
      "attnscoresmasked",
      "masked");
  add(synonyms,
      "attn attention attentions attnweights attentionweights attnweight attentionweight attnprobs "
      "attentionprobs attnprob probs probabilities alpha alphas attnmap attnmaps attentionmap attentionmaps "
      "attnpattern attentionpattern attnoutputweights softmax hookpattern",
      "weights mean_weights");
  add(synonyms, "droppedweights weightsdropped attndropped droppedattn attnweightsdropped", "dropped");
  add(synonyms, "headoutputs headsoutput headout headouts headsout perhead", "heads");
  add(synonyms, "concatenated merged mergedheads concatheads concatoutput contextlayer", "concat");
  add(synonyms, "outputs result y finaloutput", "output");
  add(synonyms, "hookz", "heads concat");
  add(synonyms, "oproj outproj", "output W_O");
  add(synonyms, "out o contextvector contextvectors", "output concat heads");
  add(synonyms, "attnoutput attentionoutput attnout hookattnout", "attention/output output concat heads");
  add(synonyms, "context", "output concat heads X_source");
  add(synonyms, "resid withresidual", "residual");
  add(synonyms, "hookresidmid", "residual_1");
  add(synonyms, "hookresidpost", "output residual_2");
  add(synonyms, "lasthiddenstate", "output");
  add(synonyms, "normed normalised layernorm layernormed", "normalized");
}

void add_inputs(Synonyms& synonyms) {
  add(synonyms, "input inputs hiddenstates embeddings embedded x hookresidpre", "X");
  add(synonyms, "tgt", "X_target X");
  add(synonyms, "target targets xt xq decoderinput decoderinputs decoderstates", "X_target");
  add(synonyms, "src", "X_source memory X");
  add(synonyms, "source sources memory xs xkv encoderoutput encoderoutputs encoderstates encoderhiddenstates",
      "X_source memory");
  add(synonyms,
      "attnmask attentionmask keypaddingmask paddingmask padmask causalmask srcmask tgtmask "
      "srckeypaddingmask tgtkeypaddingmask memorykeypaddingmask",
      "mask");
  add(synonyms, "seqlens seqlengths sequencelengths srclengths sourcelengths validlens vallens", "lengths");
}

void add_rest_of_a_block(Synonyms& synonyms) {
  add_layer(synonyms, "linear1 fc1 intermediate.dense feedforward.0 ffn.0 mlp.0", "W_1", "b_1");
  add_layer(synonyms, "linear2 fc2 output.dense feedforward.2 ffn.2 mlp.2", "W_2", "b_2");
  add(synonyms, "cfc.weight", "W_1", Storage::as_in_gpt2);
  add(synonyms, "mlp.cproj.weight", "W_2", Storage::as_in_gpt2);
  add(synonyms, "mlp.win", "W_1");
  add(synonyms, "mlp.wout", "W_2");
  add(synonyms, "mlp.bin", "b_1");
  add(synonyms, "mlp.bout", "b_2");
  add(synonyms, "mlp.hookpost", "ffn/hidden");
  add(synonyms, "hookmlpout", "ffn/output");
  add(synonyms, "cfc.bias", "b_1");
  add(synonyms, "mlp.cproj.bias", "b_2");
  const auto add_norm = [&](const std::string& names, const std::string& norms) {
    for (const auto& name : words_in(names)) {
      std::string gains, biases;
      for (const auto& norm : words_in(norms)) {
        gains += norm + "/gain ";
        biases += norm + "/bias ";
      }
      add(synonyms, fmt::format("{0}.weight {0}.gamma {0}.scale {0}.w", name), gains);
      add(synonyms, fmt::format("{0}.bias {0}.beta {0}.b", name), biases);
      add(synonyms, name + ".hooknormalized", norms);
    }
  };
  add_norm("norm1 ln1 layernorm1 inputlayernorm attention.output.layernorm", "norm_1");
  add_norm("norm2 ln2 layernorm2 postattentionlayernorm", "norm_2 norm_cross");
  add_norm("norm layernorm ln", "norm");
  add(synonyms, "wte.weight embedtokens.weight tokembeddings.weight tokenembedding.weight embed.we",
      "embedding");
  add(synonyms, "wpe.weight positionembedding.weight positionembeddings.weight posemb.weight posembed.wpos",
      "positions");
  add_layer(synonyms, "lmhead", "W_vocabulary", "b_vocabulary");
  add(synonyms, "unembed.wu", "W_vocabulary");
  add(synonyms, "unembed.bu", "b_vocabulary");
  add_layer(synonyms, "classifier", "W_class", "b_class");
}

void add_recurrent_layers(Synonyms& synonyms) {
  for (const std::string name : {"weightih", "weighthh", "biasih", "biashh"}) {
    const auto id = fmt::format("{}_{}", name[0] == 'w' ? 'W' : 'b', name.substr(name.size() - 2));
    add(synonyms, fmt::format("{0} {0}l0", name), id);
    add(synonyms, name + "l0reverse", "reverse/" + id);
  }
  add(synonyms, "wa.weight", "W_q", Storage::transposed);
  add(synonyms, "ua.weight", "W_k", Storage::transposed);
  add(synonyms, "wa.bias", "b_q");
  add(synonyms, "ua.bias", "b_k");
  add(synonyms, "va.weight", "v_a", Storage::transposed);
}

Synonyms all_synonyms() {
  Synonyms synonyms;
  add_inputs(synonyms);
  add_projection(synonyms, "q", "query", "queries", "Q", "X_target X");
  add_projection(synonyms, "k", "key", "keys", "K", "X_source X");
  add_projection(synonyms, "v", "value", "values", "V", "X_source X");
  add_layer(synonyms, "linears.0", "W_Q", "b_Q");
  add_layer(synonyms, "linears.1", "W_K", "b_K");
  add_layer(synonyms, "linears.2", "W_V", "b_V");
  add_fused_projections(synonyms);
  add_output_projection(synonyms);
  add_steps_of_attention(synonyms);
  add_rest_of_a_block(synonyms);
  add_recurrent_layers(synonyms);
  return synonyms;
}

}  // namespace

std::string folded(std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);  // of a variable of TensorFlow
  std::string text;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    text += c == '/' || c == ':' ? '.' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

const Synonym* synonym_of(const std::string& folded_name) {
  static const Synonyms synonyms = all_synonyms();
  const auto found = synonyms.find(folded_name);
  return found == synonyms.end() ? nullptr : &found->second;
}

}  // namespace attn
