/// Writing a text token by token with a causal decoder, and the cache that saves it from reading everything
/// anew. The lesson is the document generate.md; here is what no formula says: the words, what decoding
/// without formulas writes, and what a trained model shows.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/width.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"
#include "lessons/trained/layers.hpp"

namespace lessons {

namespace {

/// What decoding without formulas has written behind the prompt.
struct WrittenText {
  std::vector<std::string> words{};           ///< the vocabulary
  std::vector<std::string> typed{};           ///< the prompt
  std::vector<std::size_t> prompt{};          ///< its words, by their place in the vocabulary
  std::optional<std::size_t> end{};           ///< the word that ends a text, where there is one
  std::vector<std::size_t> written{};         ///< one word a step
  std::vector<std::vector<double>> logits{};  ///< of each step [vocabulary]
};

/// What the ids of a layer's tensors begin with, counted from 1: "layer=1/"; nothing where there is one
/// layer.
std::string layer_group(const Options& options, std::size_t layer) {
  return options.layers.value_or(1) == 1 ? "" : fmt::format("layer={}/", layer);
}

void give_language(ModelInputs& inputs) {
  auto& options = inputs.options();
  const auto layers = inputs.number("layers");
  options.heads = inputs.number("heads");
  options.layers = layers;
  if (options.typed.count("layer") == 0) options.layer = layers;
  options.vocabulary = inputs.vocabulary("classes");
  inputs.give("embedding", inputs.matrix("embedding"));
  for (std::size_t layer = 1; layer <= layers; ++layer)
    inputs.give_named(layer_group(options, layer), fmt::format("layer={}/attention/", layer),
                      {"W_Q", "W_K", "W_V", "W_O"});
  inputs.give("W_vocabulary", inputs.matrix("output/W"));
}

/// Refuses weights whose scores, layer upon layer, would leave the range of the dtype. A layer makes its
/// tokens larger by about the standard deviations of W_V and W_O times the roots of how many numbers each
/// adds up.
void require_range(const Workbench& bench) {
  if (bench.options.model) return;
  const auto& options = bench.options;
  const auto d_model = bench.d_model(), wide_k = bench.heads() * bench.d_k(),
             wide_v = bench.heads() * bench.d_v();
  const auto growth = [&](std::size_t fan_in, std::size_t fan_out) {
    return lessons::growth(options.weight_scale, fan_in, fan_out);
  };
  const double by_layer = std::log10(1.0 + growth(d_model, wide_v) * growth(wide_v, d_model));
  const double token = 1.0 + by_layer * static_cast<double>(*options.layers - 1);
  const double score = 2.0 * (token + std::log10(1.0 + growth(d_model, wide_k))) + std::log10(bench.d_k());
  if (std::isfinite(attn::round_to(bench.trace.dtype(), std::pow(10.0, score)))) return;
  throw attn::Error(fmt::format(
      "--layers {} with weights of this size makes scores of about 1e{:.0f}, too large for {}; valid: fewer "
      "layers or a smaller --weight-scale",
      *options.layers, score, options.dtype));
}

/// The layer that the page shows, from 1.
std::size_t layer_on_page(const Options& options) {
  const auto layers = options.layers.value_or(1), layer = options.layer.value_or(1);
  if (layer > layers)
    throw attn::Error(fmt::format("--layer {} is no layer of --layers {}; valid: {}", layer, layers,
                                  layers == 1 ? std::string("1") : fmt::format("1 to {}", layers)));
  return layer;
}

/// The words that the decoder knows: those of the model, or the distinct tokens of the prompt in order of
/// first appearance.
std::vector<std::string> words_of_decoder(Workbench& bench) {
  const auto& prompt = bench.plan.sentence;
  const auto& known = bench.options.vocabulary;
  if (known.empty()) return prompt.distinct();
  for (const auto& token : prompt.tokens.front())
    if (attn::place_of(bench.options.as_read(token), known) == known.size())
      throw attn::Error(fmt::format("\"{}\" is none of the {} words of the vocabulary; the nearest is \"{}\"",
                                    token, known.size(), attn::likely_meant(token, known)));
  return known;
}

/// The input `tokens`: the words of the prompt by their place in a vocabulary of `count` words.
std::vector<std::size_t> given_places(Workbench& bench, std::size_t count) {
  const auto given = bench.trace.given_or({.id = "tokens", .axes = {"token"}},
                                          Integers<1>({bench.plan.sentence.length()}, 0));
  std::vector<std::size_t> places;
  for (const auto place : given) places.push_back(bench.checked_index("tokens", place, count));
  return places;
}

/// The words, and the prompt by their places. A given `embedding` or `W_vocabulary` may have a whole
/// vocabulary.
WrittenText choose_words(Workbench& bench) {
  WrittenText text{.words = words_of_decoder(bench), .typed = bench.plan.sentence.tokens.front()};
  auto& words = text.words;
  const bool by_number = bench.has_given("tokens"), is_trained = !bench.options.vocabulary.empty();
  const auto count = bench.vocabulary_size({"embedding", "W_vocabulary"}, words.size(), by_number);
  if (by_number) text.prompt = given_places(bench, count);
  if (by_number && !is_trained) words.clear();
  words = numbered_up_to(count, std::move(words));
  for (std::size_t i = 0; i < text.typed.size(); ++i) {
    if (by_number)
      words[text.prompt[i]] = text.typed[i];
    else
      text.prompt.push_back(attn::place_of(bench.options.as_read(text.typed[i]), words));
  }
  const auto end = attn::place_of(attn::end_token, words);
  if (is_trained && end < words.size()) text.end = end;
  bench.label({"vocabulary"}, {{words}});
  return text;
}

/// The vectors of the words; under --draws stream those of the prompt are drawn first.
Tensor<2> vectors_of(Workbench& bench, const WrittenText& text) {
  const bool needs_none = bench.has_given("embedding") && draws_by_name(bench.options) && !bench.plan.vectors;
  if (needs_none) return Tensor<2>({text.words.size(), bench.d_model()}, 0.0);
  bench.draw_vectors(bench.plan.sentence);
  bench.draw_vectors({{text.words}});
  return attn::sample(bench.known_vectors_of({{text.words}}), 0);
}

Tensor<2> sinusoids(const Workbench& bench) {
  const auto read = bench.plan.sentence.length() + *bench.options.new_tokens - 1;
  return attn::sinusoidal_encoding(bench.length_of_given("positions", "position", read), bench.d_model());
}

/// Of the layer whose ids begin so.
attn::MultiHeadWeights draw_layer(Workbench& bench, const std::string& group) {
  return weights_by_name(bench.heads(), [&](const std::string& name) -> std::optional<attn::AnyRank<double>> {
    const bool is_matrix = name.starts_with('W');
    if (!is_matrix && !bench.has_given(group + name)) return std::nullopt;
    return bench.input({.id = group + name}, is_matrix ? 2 : 1);
  });
}

/// A decoder without a formula: the library's attention over all that was read.
class PlainDecoder {
 public:
  PlainDecoder(Workbench& bench, const WrittenText& text)
      : embedding_(bench.trace.input({.id = "embedding", .axes = {"vocabulary", "d_model"}},
                                     vectors_of(bench, text))),
        positions_(
            bench.trace.input({.id = "positions", .axes = {"position", "d_model"}}, sinusoids(bench))) {
    for (std::size_t layer = 1; layer <= *bench.options.layers; ++layer)
      layers_.push_back(draw_layer(bench, layer_group(bench.options, layer)));
    W_vocabulary_ = bench.input({.id = "W_vocabulary"}, {bench.d_model(), text.words.size()});
    read_.resize(layers_.size());
  }

  /// The logits of the word behind these, which are read after all others, [1×vocabulary].
  Tensor<2> logits_after(const std::vector<std::size_t>& tokens) {
    const auto d_model = embedding_.shape(1), n = tokens.size(), known = read_.front().size() / d_model;
    Tensor<2> x({n, d_model});
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < d_model; ++j) x(i, j) = embedding_(tokens[i], j) + positions_(known + i, j);
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      auto& rows = read_[layer];
      rows.insert(rows.end(), x.begin(), x.end());
      Tensor<2> all({known + n, d_model});
      std::copy(rows.begin(), rows.end(), all.begin());
      const auto found = attn::multi_head_attention(x, all, layers_[layer], {.causal = true}).output;
      std::transform(x.begin(), x.end(), found.begin(), x.begin(), std::plus<>());
    }
    return attn::matmul(attn::rows(x, n - 1, n), W_vocabulary_);
  }

 private:
  Tensor<2> embedding_, positions_, W_vocabulary_;
  std::vector<attn::MultiHeadWeights> layers_;
  std::vector<std::vector<double>> read_;  ///< of each layer, the rows that it has read
};

/// Greedy decoding: the likeliest word, the first one on a tie, until the text ends.
void write(WrittenText& text, PlainDecoder decoder, std::size_t most) {
  auto logits = decoder.logits_after(text.prompt);
  while (true) {
    text.written.push_back(attn::argmax(logits.data(), logits.size()));
    text.logits.emplace_back(logits.begin(), logits.end());
    if (text.written.size() == most || text.written.back() == text.end) return;
    logits = decoder.logits_after({text.written.back()});
  }
}

/// "text = [0, 1, 2]  # places of: the cat sat": long lists take several lines.
std::string list_code(const std::string& begin, const std::vector<std::size_t>& numbers,
                      const std::string& end = "", const std::string& comment = "") {
  constexpr std::size_t most_columns = 74, columns_with_words = 78;
  const auto code = fmt::format("[{}]{}", fmt::join(numbers, ", "), end);
  if (!comment.empty() && attn::display_width(begin + code + comment) <= columns_with_words)
    return begin + code + comment;
  const std::string margin(begin.size() + 1, ' ');
  std::string lines;
  for (const auto& line : attn::wrap(code, most_columns - begin.size()))
    lines += (lines.empty() ? begin : "\n" + margin) + line;
  return lines;
}

/// The numbers of key and value heads that the query heads can share, from all to one.
std::vector<std::size_t> sharings(std::size_t heads) {
  std::vector<std::size_t> numbers;
  for (std::size_t kv_heads = heads; kv_heads > 0; --kv_heads)
    if (heads % kv_heads == 0) numbers.push_back(kv_heads);
  return numbers;
}

/// A window of as many keys as there are now moves on, though its last place was still empty.
attn::Mistakes mistakes_of_cache(DocumentRun& run, const std::string& id) {
  const auto& view = run.sheet().tensor(id);
  const auto heads = view.shape[0], keys = view.shape[1], d = view.shape[2];
  if (id.starts_with("step=0/") || !id.starts_with("step=")) return {};
  return {{fmt::format("cache-window-early:{}", keys), [&run, id, heads, keys, d] {
             auto kept = run.copy_of<double, 3>(id);
             for (std::size_t head = 0; head < heads; ++head) {
               auto* const rows = &kept(head, 0, 0);
               std::copy(rows + d, rows + (keys - 1) * d, rows);
               std::fill_n(rows + (keys - 2) * d, d, 0.0);
             }
             return kept;
           }}};
}

/// The place of the form for the other number, "do" for "does", or −1 where there is none. "its" is no form
/// of "it".
double other_form(const std::vector<std::string>& vocabulary, std::size_t word) {
  const auto& text = vocabulary[word];
  std::vector<std::string> forms;
  for (const std::string ending : {"s", "es"}) {
    const std::size_t shortest = ending == "s" ? 3 : 2;
    if (text.size() >= shortest) forms.push_back(text + ending);
    if (text.size() >= shortest + ending.size() && text.ends_with(ending))
      forms.push_back(text.substr(0, text.size() - ending.size()));
  }
  for (const auto& [one, many] : {std::pair("is", "are"), std::pair("was", "were")}) {
    if (text == one) forms = {many};
    if (text == many) forms = {one};
  }
  for (const auto& form : forms) {
    const auto found = attn::place_of(form, vocabulary);
    if (found < vocabulary.size()) return static_cast<double>(found);
  }
  return -1.0;
}

void add_functions(Functions& functions, const std::shared_ptr<const WrittenText>& text) {
  auto& tensors = functions.tensors;
  tensors["word_vectors"] = [=](DocumentRun& run) { return owned_view(vectors_of(run.bench(), *text)); };
  tensors["sinusoids"] = [](DocumentRun& run) { return owned_view(sinusoids(run.bench())); };
  tensors["prompt"] = [=](DocumentRun&) { return owned_view(text->prompt); };
  tensors["chosen"] = [=](DocumentRun&) { return owned_view(text->written); };
  tensors["chosen_logits"] = [=](DocumentRun&) { return owned_view(numbers_in_rows(text->logits)); };
  tensors["function_words"] = [=](DocumentRun&) {  // all but nouns, verbs, adjectives and adverbs
    std::vector<double> is_function;
    for (const auto& word : text->typed)
      is_function.push_back(lexicon().guessed_readings(word).front().is_function());
    return owned_view(is_function);
  };
  tensors["sharings"] = [](DocumentRun& run) { return owned_view(sharings(run.bench().heads())); };
  functions.texts["text"] = [=](const DocumentRun&) {
    const auto comment = fmt::format("  # places of: {}", fmt::join(text->typed, " "));
    return list_code("text = ", text->prompt, "", comment);
  };
  functions.texts["arrays"] = [=](const DocumentRun& run) {
    return list_code("prompt = np.array(", text->prompt, ")") + "\n" +
           list_code("chosen = np.array(", text->written, ")") + "\n" +
           list_code("sharings = np.array(", sharings(run.bench().heads()), ")");
  };
  functions.mistakes = {{"cache/K", mistakes_of_cache}, {"cache/V", mistakes_of_cache}};
}

void prepare_generate(DocumentRun& run, Functions& functions) {
  auto& bench = run.bench();
  require_range(bench);
  const auto page_layer = layer_on_page(bench.options);
  attn::Trace silent({.dtype = bench.trace.dtype(), .given = &bench.plan.given});
  Workbench ahead(bench.plan, silent);
  const auto text = std::make_shared<WrittenText>(choose_words(ahead));
  write(*text, PlainDecoder(ahead, *text), *bench.options.new_tokens);
  add_functions(functions, text);
  run.axis("vocabulary", text->words.size());
  run.axis("head", bench.heads());
  run.axis("kv_head", bench.kv_heads());
  run.axis("position", sinusoids(bench).shape(0));
  run.axis("sharing/kv_head", sharings(bench.heads()).size());
  bench.label({"vocabulary"}, {{text->words}});
  bench.label({"prompt/token"}, {{text->typed}});
  const auto distinct = bench.plan.sentence.distinct().size();
  run.set("page_layer", static_cast<double>(page_layer));
  run.set("steps", static_cast<double>(text->written.size()));
  run.set("ended", text->end == text->written.back());
  run.set("distinct", static_cast<double>(distinct));
  run.set("other_form", other_form(text->words, text->written.front()));
  run.set("biased", std::any_of(bench.plan.given.begin(), bench.plan.given.end(), [](const auto& given) {
            return given.first.substr(given.first.rfind('/') + 1).starts_with("b_");
          }));
  run.set("twins", distinct < text->typed.size());
}

/// A layer's weights are called otherwise where it is the only one.
std::vector<Input> generate_inputs(const Options& options) {
  std::vector<Input> inputs = {{"embedding", {"vocabulary=", "d_model"}, Draw::embedding},
                               {"positions", {"position=", "d_model"}, Draw::page}};
  for (std::size_t layer = 1; layer <= options.layers.value_or(1); ++layer)
    for (const auto& [name, axes] : multihead_weights())
      inputs.push_back(
          {layer_group(options, layer) + name, axes, name.starts_with('W') ? Draw::weight : Draw::given});
  inputs.push_back({"W_vocabulary", {"d_model", "vocabulary="}, Draw::weight});
  inputs.push_back({.id = "tokens", .axes = {"token"}, .draw = Draw::given, .is_multiplied = false});
  inputs.push_back({"step=0/mask", {"query", "key"}, Draw::page});
  return inputs;
}

}  // namespace

const LessonCode generate_code = {
    .give = give_language, .sharpen = sharpen_prompt, .prepare = prepare_generate, .inputs = generate_inputs};

}  // namespace lessons
