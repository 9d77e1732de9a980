/// Writing a text token by token with a causal decoder, and the cache that saves it from reading everything
/// anew. The lesson is the document generate.md; here is what no formula says: the words, what decoding
/// without formulas writes, and what a trained model shows. Sources: Radford et al. 2018, "Improving Language
/// Understanding by Generative Pre-Training" (a decoder alone); Shazeer 2019, "Fast Transformer Decoding"
/// (the cache, multi-query attention); Ainslie et al. 2023, "GQA" (groups of heads).

#include "lessons/generate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/width.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/generate/trained.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/draws.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

std::vector<std::string> WrittenText::so_far(const DocumentRun& run) const {
  auto text = typed;
  for (std::size_t step = 0;; ++step) {
    const auto* token = run.sheet().find(fmt::format("step={}/token", step));
    if (token == nullptr) return text;
    text.push_back(words.at(static_cast<std::size_t>(token->at({}))));
  }
}

std::string layer_group(const Options& options, std::size_t layer) {
  return options.layers.value_or(1) == 1 ? "" : fmt::format("layer={}", layer);
}

std::string weights_id(const Options& options, std::size_t step, std::size_t layer) {
  const auto group = layer_group(options, layer);
  return fmt::format("step={}/{}{}weights", step, group, group.empty() ? "" : "/");
}

namespace {

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
  if (known.empty()) {
    std::vector<std::string> words;
    for (const auto& token : prompt.tokens.front())
      if (std::find(words.begin(), words.end(), token) == words.end()) words.push_back(token);
    return words;
  }
  for (const auto& token : prompt.tokens.front())
    if (std::find(known.begin(), known.end(), bench.options.as_read(token)) == known.end())
      throw attn::Error(fmt::format("\"{}\" is none of the {} words of the vocabulary; the nearest is \"{}\"",
                                    token, known.size(), attn::likely_meant(token, known)));
  return known;
}

/// The input `tokens`: the words of the prompt by their place in a vocabulary of `count` words.
std::vector<std::size_t> given_places(Workbench& bench, std::size_t count) {
  bench.label({"token"}, bench.plan.sentence);
  const auto given = bench.trace.input(
      {.id = "tokens", .title = "The place of each word of the prompt in the vocabulary", .axes = {"token"}},
      Integers<1>({bench.plan.sentence.length()}, 0));
  std::vector<std::size_t> places;
  for (const auto place : given) places.push_back(bench.checked_index("tokens", place, count));
  return places;
}

/// Written last in a text of the model.
constexpr std::string_view end_of_text = "</s>";

/// The words, and the prompt by their places. A given `embedding` or `W_vocabulary` may have a whole
/// vocabulary.
WrittenText choose_words(Workbench& bench) {
  WrittenText text{.typed = bench.plan.sentence.tokens.front()};
  auto& words = text.words = words_of_decoder(bench);
  const auto known = words.size();
  const bool by_number = bench.has_given("tokens");
  const auto count = bench.vocabulary_size({"embedding", "W_vocabulary"}, known, by_number);
  if (by_number) text.prompt = given_places(bench, count);
  if (by_number && bench.options.vocabulary.empty()) words.clear();
  words = numbered_up_to(count, std::move(words));
  for (std::size_t i = 0; i < text.typed.size(); ++i) {
    if (by_number)
      words[text.prompt[i]] = text.typed[i];
    else
      text.prompt.push_back(static_cast<std::size_t>(
          std::find(words.begin(), words.end(), bench.options.as_read(text.typed[i])) - words.begin()));
  }
  const auto end = std::find(words.begin(), words.end(), end_of_text);
  if (!bench.options.vocabulary.empty() && end != words.end())
    text.end = static_cast<std::size_t>(end - words.begin());
  text.about_words = "The model can write no other words. ";
  if (by_number)
    text.about_words += fmt::format("The input tokens says which of the {} words the prompt has.", count);
  else if (count > known)
    text.about_words += fmt::format("Of the {} words the first {} are those of the prompt.", count, known);
  else
    text.about_words = "The words are the distinct tokens of the prompt. The model can write no others.";
  return text;
}

/// The vectors of the words; under --draws stream those of the prompt are drawn first.
Tensor<2> vectors_of(Workbench& bench, const WrittenText& text) {
  bench.label({"vocabulary"}, {{text.words}});
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

attn::MultiHeadWeights draw_layer(Workbench& bench) {
  attn::MultiHeadWeights drawn = {.heads = bench.heads()};
  for (const auto& [id, weight] : {std::pair("W_Q", &drawn.W_Q), std::pair("W_K", &drawn.W_K),
                                   std::pair("W_V", &drawn.W_V), std::pair("W_O", &drawn.W_O)})
    *weight = bench.input<2>({.id = id});
  for (const auto& [id, bias] : {std::pair("b_Q", &drawn.b_Q), std::pair("b_K", &drawn.b_K),
                                 std::pair("b_V", &drawn.b_V), std::pair("b_O", &drawn.b_O)})
    if (bench.has_given(id)) *bias = bench.input<1>({.id = id});
  return drawn;
}

/// A decoder without a formula: the library's attention over all that was read.
class PlainDecoder {
 public:
  PlainDecoder(Workbench& bench, const WrittenText& text)
      : embedding_(bench.trace.input({.id = "embedding", .axes = {"vocabulary", "d_model"}},
                                     vectors_of(bench, text))),
        positions_(
            bench.trace.input({.id = "positions", .axes = {"position", "d_model"}}, sinusoids(bench))) {
    const auto& options = bench.options;
    for (std::size_t layer = 1; layer <= *options.layers; ++layer) {
      const auto draw = [&] { return draw_layer(bench); };
      const auto group = layer_group(options, layer);
      layers_.push_back(group.empty() ? draw() : bench.trace.within(group, draw));
    }
    W_vocabulary_ = bench.input<2>({.id = "W_vocabulary"}, {bench.d_model(), text.words.size()});
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
    text.logits.push_back(logits);
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

/// Who may look at whom in the prefill, which reads the whole prompt at once.
void tell_mask(DocumentRun& run, const WrittenText& text) {
  const auto n = text.typed.size();
  const auto mask = attn::causal_mask(n, n);
  run.set("step=0/mask", owned_view(mask, {"at0/query", "at0/key"}));
  run.bench().label({"query", "key"}, {{text.typed}});
  run.bench().trace.settled_input(
      {.id = "step=0/mask",
       .title = "Who may look at whom",
       .formula = "j ≤ i",
       .axes = {"query", "key"},
       .note = "Query i may look at key j where 1 stands. The later steps have no mask: the newest token may "
               "look at all there are."},
      attn::repeat_mask(mask, 1));
}

/// Names the entries along the axes of the step that is to come after the text so far.
void tell_labels(DocumentRun& run, const WrittenText& text) {
  const auto words = text.so_far(run);
  const auto step = words.size() - text.typed.size();
  const auto known = step == 0 ? 0 : words.size() - 1;
  auto& bench = run.bench();
  for (const auto* axis : {"token", "query", "new/key"})
    bench.label({fmt::format("at{}/{}", step, axis)},
                {{{words.begin() + static_cast<std::ptrdiff_t>(known), words.end()}}});
  bench.label({fmt::format("at{}/key", step)}, {{words}});
}

/// What became of the prompt.
std::string about_text(const DocumentRun& run, const WrittenText& text) {
  const std::string numbers = "The numbers are places in the vocabulary, counted from 0.";
  if (!run.bench().options.model) return numbers + " Nothing is trained, so the text means nothing.";
  return fmt::format(
      "The text so far: \"{}\". {}{}", fmt::join(text.so_far(run), " "), numbers,
      text.end == text.written.back() ? " </s> ends a text: nothing is written behind it." : "");
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

void add_functions(Functions& functions, WrittenText& text) {
  functions.tensors = {
      {"word_vectors", [&](DocumentRun& run) { return owned_view(vectors_of(run.bench(), text)); }},
      {"sinusoids", [](DocumentRun& run) { return owned_view(sinusoids(run.bench())); }},
      {"prompt", [&](DocumentRun&) { return owned_view(text.prompt); }},
      {"chosen", [&](DocumentRun&) { return owned_view(text.written); }},
      {"sharings", [](DocumentRun& run) { return owned_view(sharings(run.bench().heads())); }}};
  functions.texts = {{"text",
                      [&](const DocumentRun&) {
                        return list_code("text = ", text.prompt, "",
                                         fmt::format("  # places of: {}", fmt::join(text.typed, " ")));
                      }},
                     {"arrays",
                      [&](const DocumentRun& run) {
                        return list_code("prompt = np.array(", text.prompt, ")") + "\n" +
                               list_code("chosen = np.array(", text.written, ")") + "\n" +
                               list_code("sharings = np.array(", sharings(run.bench().heads()), ")");
                      }},
                     {"about_words", [&](const DocumentRun&) { return text.about_words; }},
                     {"about_text", [&](const DocumentRun& run) { return about_text(run, text); }}};
  functions.actions = {
      {"tokens",
       [&](DocumentRun& run) {
         if (run.bench().has_given("tokens")) given_places(run.bench(), text.words.size());
       }},
      {"labels", [&](DocumentRun& run) { tell_labels(run, text); }},
      {"mask", [&](DocumentRun& run) { tell_mask(run, text); }},
      {"words",
       [&](DocumentRun& run) {
         const auto words = text.so_far(run);
         run.bench().label({"written/token"},
                           {{{words.begin() + static_cast<std::ptrdiff_t>(text.typed.size()), words.end()}}});
       }},
      {"guesses", [&](DocumentRun& run) { show_guesses(run.bench(), text); }},
      {"looks", [&](DocumentRun& run) { show_looks(run, layer_on_page(run.bench().options)); }}};
  functions.mistakes = {{"cache/K", mistakes_of_cache}, {"cache/V", mistakes_of_cache}};
}

void run_generate(Workbench& bench) {
  require_range(bench);
  const auto& options = bench.options;
  const auto page_layer = layer_on_page(options);
  attn::Trace silent({.dtype = bench.trace.dtype(), .given = &bench.plan.given});
  Workbench ahead(bench.plan, silent);
  auto text = choose_words(ahead);
  write(text, PlainDecoder(ahead, text), *options.new_tokens);

  Functions functions;
  add_functions(functions, text);
  DocumentRun run(bench, functions);
  run.axis("vocabulary", text.words.size());
  run.axis("head", bench.heads());
  run.axis("kv_head", bench.kv_heads());
  run.axis("position", sinusoids(bench).shape(0));
  run.axis("sharing/kv_head", sharings(bench.heads()).size());
  run.set("layers", static_cast<double>(*options.layers));
  run.set("page_layer", static_cast<double>(page_layer));
  run.set("steps", static_cast<double>(text.written.size()));
  run.set("biased", std::any_of(bench.plan.given.begin(), bench.plan.given.end(), [](const auto& given) {
            return given.first.substr(given.first.rfind('/') + 1).starts_with("b_");
          }));
  run.set("twins", std::set<std::string>(text.typed.begin(), text.typed.end()).size() < text.typed.size());
  run.tell();
}

std::vector<Input> generate_inputs(const Options& options) {
  std::vector<std::vector<Input>> lists = {{{"embedding", {"vocabulary=", "d_model"}, Draw::embedding},
                                            {"positions", {"position=", "d_model"}, Draw::page}}};
  std::vector<Input> of_layer;
  for (const auto& [name, axes] : multihead_weights())
    of_layer.push_back({name, axes, name.starts_with('W') ? Draw::weight : Draw::given});
  for (std::size_t layer = 1; layer <= options.layers.value_or(1); ++layer) {
    const auto group = layer_group(options, layer);
    lists.push_back(group.empty() ? of_layer : in_group(group, of_layer));
  }
  lists.push_back({{"W_vocabulary", {"d_model", "vocabulary="}, Draw::weight},
                   {.id = "tokens", .axes = {"token"}, .draw = Draw::given, .is_multiplied = false},
                   {"step=0/mask", {"query", "key"}, Draw::page}});
  return joined(lists);
}

}  // namespace

const LessonCode generate_code = {
    .give = give_language, .sharpen = sharpen_prompt, .run = run_generate, .inputs = generate_inputs};

}  // namespace lessons
