#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "trace/diagnosis/layout.hpp"
#include "trace/event.hpp"

namespace lessons {

/// What a person may decide about a run. Unset dimensions follow from the others (see plan.hpp).
struct Options {
  std::vector<std::string> sentence{}, source{}, target{};
  std::optional<std::size_t> d_model{}, d_k{}, d_v{}, d_a{};
  std::vector<std::size_t> d_k_list{};
  std::optional<std::size_t> heads{}, kv_heads{}, samples{}, window{};
  bool causal = false;
  double dropout = 0.0, temperature = 1.0;
  bool residual = false, norm = false;
  std::uint32_t seed = 42;
  std::string rng = "legacy", draws = "name";
  std::optional<std::string> weight_scale{}, embeddings{};
  std::string dtype = "float64", scoring = "additive", mask = "causal", encoding = "all";
  std::string pairing = "adjacent", attention = "bahdanau";
  bool bidirectional = false;
  std::string through = "sdpa";
  std::optional<std::size_t> hidden{}, d_ff{};
  std::string activation = "relu", norm_order = "post";
  std::optional<std::string> memory{};
  std::optional<std::size_t> classes{}, new_tokens{};
  std::string variant = "all";
  std::optional<std::string> pattern{};
  std::optional<std::size_t> block{}, rank{}, features{}, layers{}, layer{}, warmup{};
  std::optional<double> max_norm{}, softcap{};
  std::vector<std::size_t> lengths{};
  std::optional<std::size_t> ranks{};
  std::string order = "contiguous";
  std::vector<std::string> define{};  ///< "scaled = scores / d_k": other formulas for steps
  std::string code = "numpy", way = "ring";

  std::optional<std::string> model{};         ///< trained weights: a name, a file, or "none"
  std::optional<std::string> unknown_word{};  ///< why the lesson's model is not used
  std::string missing_model{};                ///< likewise: where its file was looked for
  std::string in_place_of_model{};        ///< likewise: an option, "--d-model", that decides what it would
  bool is_run_again = false;              ///< --input is a trace of the lesson, whose options hold
  std::string numbers{};                  ///< where those of --input come from, as its trace says
  std::vector<std::string> vocabulary{};  ///< the words that the lesson's model writes
  /// Words that the model lacks, and what it reads in their place.
  std::map<std::string, std::string> read_as{};

  /// The word, or what the model reads in its place.
  const std::string& as_read(const std::string& word) const {
    const auto* const other = attn::value_in(read_as, word);
    return other == nullptr ? word : *other;
  }

  /// The same in a vocabulary: what is read in the place of a word may have another read in its place.
  const std::string& as_read(const std::string& word, const std::vector<std::string>& words) const {
    const auto* const other = attn::value_in(read_as, word);
    return other == nullptr || attn::contains(words, word) ? word : as_read(*other, words);
  }

  std::vector<std::string> input{};  ///< the files of --input, which every lesson takes
  std::vector<std::string> set{};    ///< the inputs of --set, which every lesson takes: "X=[[1,0],[0,1]]"
  attn::MaskTrue mask_true = attn::MaskTrue::by_name;  ///< in the masks that are given
  std::set<std::string_view> typed{};                  ///< keys of the options that were typed, not defaults

  bool has_pair() const { return !source.empty() || !target.empty(); }
  bool has_texts() const { return !sentence.empty() || has_pair(); }
  void take_texts_of(const Options& other) {
    sentence = other.sentence;
    source = other.source;
    target = other.target;
  }
  bool is_typed(std::string_view key) const { return typed.count(key) > 0; }

  /// Whether somebody gives tensors that no trace of the lab tells the origin of.
  bool gives_tensors() const { return !set.empty() || (!input.empty() && numbers.empty()); }
};

/// What kind of field an option has.
template <class Field>
constexpr bool is_optional = false;
template <class Value>
constexpr bool is_optional<std::optional<Value>> = true;
template <class Field>
constexpr bool is_list = false;
template <class Value>
constexpr bool is_list<std::vector<Value>> = true;

/// How a field reads in the help; empty for what is unset, and for flags.
template <class Field>
std::string text_of(const Field& field) {
  if constexpr (std::is_same_v<Field, bool>)
    return "";
  else if constexpr (is_optional<Field>)
    return field ? text_of(*field) : "";
  else if constexpr (std::is_same_v<Field, std::vector<std::string>>)
    return field.empty() ? "" : fmt::format("\"{}\"", fmt::join(field, "\", \""));
  else if constexpr (is_list<Field>)
    return fmt::format("{}", fmt::join(field, ","));
  else if constexpr (std::is_same_v<Field, double>)
    return fmt::format("{:g}", field);
  else
    return fmt::format("{}", field);
}

/// What an option is in lessons with heads where it is not given.
inline constexpr std::string_view width_of_a_head = "d_model / heads";

/// How an option is called and explained. Lessons list the keys of the options that they use; the key is the
/// flag, except where two options of different type share a flag.
struct OptionInfo {
  std::string_view key;
  std::string_view flag;
  std::string_view value;
  std::string_view help;
  std::string_view otherwise = "";  ///< what an option that is not given follows from
};

/// The smallest number that an option which counts something may have: 0 for the window, which then is the
/// token itself, and 1 for all others.
inline std::size_t smallest_count(const OptionInfo& info) {
  return info.key == "window" ? 0 : 1;
}

/// The numbers that the option of this key has: those of a list, or the one of a count, where it is given.
std::vector<std::size_t> counts_of_option(const Options& options, std::string_view key);

/// Calls `visit(info, field)` for every option in the order of the help: the one list of them, behind the
/// command line, the help and the trace's config.
template <class AnyOptions, class Visitor>
void visit_options(AnyOptions& options, Visitor&& visit) {
  const auto option = [&](std::string_view flag, auto& field, std::string_view value, std::string_view help,
                          std::string_view otherwise = "") {
    visit(OptionInfo{flag, flag, value, help, otherwise}, field);
  };
  option("sentence", options.sentence, "TEXT", "the sentence");
  option("source", options.source, "TEXT", "the sentence that keys and values come from");
  option("target", options.target, "TEXT", "the sentence that queries come from");
  option("d-model", options.d_model, "N", "numbers in a token's vector", "8");
  option("d-k", options.d_k, "N", "numbers in a query and in a key", width_of_a_head);
  option("d-v", options.d_v, "N", "numbers in a value", width_of_a_head);
  option("d-a", options.d_a, "N", "hidden units that compare a query with a key",
         "as many as a state or a token's vector has numbers");
  visit(OptionInfo{"d-k-list", "d-k", "N,N,…", "the dimensions to compare"}, options.d_k_list);
  option("heads", options.heads, "N", "attention heads");
  option("kv-heads", options.kv_heads, "N", "key and value heads, each shared by heads / N query heads",
         "heads");
  option("samples", options.samples, "N", "random draws to measure on: dot products, dropout masks");
  option("causal", options.causal, "", "hide every later token");
  option("window", options.window, "N", "hide every token more than N positions away");
  option("dropout", options.dropout, "P", "drop each attention weight with probability P");
  option("temperature", options.temperature, "T", "divide the scaled scores by T");
  option("residual", options.residual, "", "add the input to the output");
  option("norm", options.norm, "", "normalise the result as the last step (layer norm)");
  option("seed", options.seed, "N", "of the random numbers");
  option("rng", options.rng, "legacy|pcg64|torch",
         "draw as NumPy's RandomState, as its default_rng or as PyTorch after manual_seed");
  option("draws", options.draws, "name|stream",
         "draw each word and each tensor from a stream of its own, or all from one in order");
  option("weight-scale", options.weight_scale, "xavier|he|linear|uniform|NUMBER",
         "standard deviation of the drawn weights, or draw them as torch's nn.Linear or rand", "1/√fan_in");
  option("embeddings", options.embeddings, "FILE",
         "word vectors in the text format of word2vec, GloVe or fastText");
  option("model", options.model, "NAME|FILE|none", "trained weights, or none: drawn ones",
         "the lesson's own model where it knows all words and no option sets a dimension or an input");
  option("through", options.through, "sdpa|multihead|transformer-block|seq2seq",
         "the lesson that the gradients go back through");
  option("scoring", options.scoring, "dot|scaled_dot|general|additive|concat",
         "the scoring function that the page goes into");
  option("mask", options.mask, "causal|padding|combined", "the mask that the page goes into");
  option("encoding", options.encoding, "all|sinusoidal|learned|relative|t5|alibi|rope",
         "the encoding to show");
  option("pairing", options.pairing, "adjacent|halves", "the pairs of numbers that RoPE rotates");
  option("attention", options.attention,
         "bahdanau|bahdanau-input|luong-dot|luong-general|luong-concat|multihead", "how the decoder attends");
  option("bidirectional", options.bidirectional, "", "read the source backwards too");
  option("hidden", options.hidden, "N", "numbers in a recurrent state", "d_model");
  option("d-ff", options.d_ff, "N", "numbers in the hidden layer of the feed-forward network", "4 · d_model");
  option("activation", options.activation, "relu|gelu", "of the feed-forward network");
  visit(OptionInfo{"norm-order", "norm", "post|pre", "layer norm after each sublayer or before it"},
        options.norm_order);
  option("memory", options.memory, "TEXT", "an encoder's sentence to attend to as well: a decoder block");
  option("classes", options.classes, "N", "classes to tell apart");
  option("new-tokens", options.new_tokens, "N", "tokens to generate");
  option("variant", options.variant, "all|local|sliding|sparse|linear|chunked|flash|linformer|performer|gqa",
         "the variant to show");
  option("pattern", options.pattern, "strided|fixed|random|FILE", "which pairs sparse attention computes");
  option("block", options.block, "N", "queries or keys in a block");
  option("rank", options.rank, "N", "rows that Linformer projects the keys to");
  option("features", options.features, "N", "random features of Performer", "2 · d_k");
  option("layers", options.layers, "N", "layers to go through");
  option("layer", options.layer, "N", "the layer that the page shows; data formats have all", "1");
  option("warmup", options.warmup, "N", "steps until the learning rate peaks");
  option("max-norm", options.max_norm, "X", "largest norm that a gradient may have");
  option("lengths", options.lengths, "N,N,...", "sequence lengths to compare");
  option("ranks", options.ranks, "N", "machines, or processes, that share the work");
  option("order", options.order, "contiguous|striped|zigzag", "which tokens a rank holds");
  option("way", options.way, "ring|heads", "what the ranks share: the tokens all along, or the heads");
  option("define", options.define, "'STEP = FORMULA'", "another formula in the place of a step; repeatable");
  option("code", options.code, "numpy|xtensor", "the language of the code on the page");
  option("dtype", options.dtype, "float64|float32|float16|bfloat16",
         "what each tensor is rounded to; computed in float64");
  option("softcap", options.softcap, "C", "bend scores to within ±C");
}

/// "d_k" of the option d-k, as formulas and traces have it, and the other way round.
std::string name_of_option(std::string_view key);
std::string key_of_option(std::string_view name);

/// What a condition or a formula of a document knows an option by: `causal`, `dropout`, `window` (whether it
/// is given), `heads=given` (the same of a length), `mask=padding` (whether it is the one that was picked).
/// None where no option has that name.
std::optional<double> option_in_formulas(const Options& options, std::string_view name);

/// The options with these keys as they go into a trace's header, by their long names with `_` for `-`.
attn::Config config_of(const Options& options, const std::vector<std::string_view>& keys);

/// The inverse: sets --set and the options with these keys, but for those in `kept`, to what a trace's
/// header has for them. Throws attn::Error for a value of another type than the option's.
void restore(Options& options, const std::vector<std::string_view>& keys,
             const std::set<std::string_view>& kept, const attn::Config& config);

}  // namespace lessons
