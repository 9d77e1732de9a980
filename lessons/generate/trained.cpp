#include "lessons/generate/trained.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

void give_language(ModelInputs& inputs) {
  auto& options = inputs.options();
  const auto layers = inputs.number("layers");
  options.heads = inputs.number("heads");
  options.layers = layers;
  if (options.typed.count("layer") == 0) options.layer = layers;
  options.vocabulary = inputs.vocabulary("classes");
  inputs.give("embedding", inputs.matrix("embedding"));
  for (std::size_t layer = 0; layer < layers; ++layer)
    for (const std::string id : {"W_Q", "W_K", "W_V", "W_O"})
      inputs.give((layers == 1 ? "" : layer_group(options, layer + 1) + "/") + id,
                  inputs.matrix(fmt::format("layer={}/attention/{}", layer + 1, id)));
  inputs.give("W_vocabulary", inputs.matrix("output/W"));
}

namespace {

/// The words with the largest of the logits [1×vocabulary] and their probabilities: "does 0.09, loves 0.05".
std::string likeliest_words(const std::vector<std::string>& vocabulary, const Tensor<2>& logits) {
  constexpr std::ptrdiff_t shown = 5;
  const auto shares = attn::softmax(logits);
  std::vector<std::size_t> order(vocabulary.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto end = order.begin() + std::min(shown, static_cast<std::ptrdiff_t>(order.size()));
  std::partial_sort(order.begin(), end, order.end(),
                    [&](std::size_t a, std::size_t b) { return logits(0, a) > logits(0, b); });
  std::vector<std::string> words;
  for (auto word = order.begin(); word != end; ++word)
    words.push_back(fmt::format("{} {:.2f}", vocabulary[*word], double{shares(0, *word)}));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The place of the form for the other number, "do" for "does", or nothing where there is none. "its" is no
/// form of "it".
std::optional<std::size_t> other_form(const std::vector<std::string>& vocabulary, std::size_t word) {
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
    const auto found = std::find(vocabulary.begin(), vocabulary.end(), form);
    if (found != vocabulary.end()) return static_cast<std::size_t>(found - vocabulary.begin());
  }
  return std::nullopt;
}

}  // namespace

void show_guesses(Workbench& bench, const WrittenText& text) {
  const auto& [vocabulary, logits] = std::tie(text.words, text.logits);
  auto words = text.typed;
  for (const auto word : text.written) words.push_back(vocabulary[word]);
  const auto place = [&](std::size_t step) { return words[text.typed.size() + step - 1]; };
  std::vector<std::vector<std::string>> rows = {{"step", "after", "likeliest words, with probabilities"}};
  for (const auto& step : places_shown(logits.size(), 4))
    rows.push_back(step ? std::vector<std::string>{fmt::format("{}", *step), place(*step),
                                                   likeliest_words(vocabulary, logits[*step])}
                        : std::vector<std::string>{"…"});
  const auto first = text.written.front();
  auto said = fmt::format("After \"{}\" the model writes \"{}\".", place(0), vocabulary[first]);
  if (const auto other = other_form(vocabulary, first)) {
    const auto shares = attn::softmax(logits[0]);
    said += fmt::format(" Softmax of the logits gives it {:.4f}, and the other form, \"{}\", only {:.4f}.",
                        double{shares(0, first)}, vocabulary[*other], double{shares(0, *other)});
  }
  said += fmt::format(" In the end the text is \"{}\".{}", fmt::join(words, " "),
                      text.end == text.written.back() ? " </s> ends a text." : "");
  std::string table;
  for (const auto& row : rows)
    table += fmt::format("{}{}", table.empty() ? "" : "\n",
                         row.size() == 1 ? row[0] : fmt::format("{:<6}{:<10}{}", row[0], row[1], row[2]));
  bench.trace.note("guesses", "What the model writes", said, table);
}

namespace {

/// The largest weight that any head of a layer [head×query×key] has for a query and a key.
struct Look {
  std::size_t head = 0, query = 0, key = 0;
  double share = 0.0;
};

Look strongest_look(const Tensor<3>& weights, std::size_t query, std::size_t key) {
  Look look = {0, query, key, 0.0};
  for (std::size_t head = 0; head < weights.shape(0); ++head)
    if (weights(head, query, key) > look.share) look = {head, query, key, weights(head, query, key)};
  return look;
}

/// Whether it is no noun, verb, adjective or adverb.
bool is_function_word(const std::string& token) {
  return lexicon().guessed_readings(token).front().is_function();
}

/// The word before it that the last token looks at most, where that is more than half.
std::optional<Look> look_at_word(const Tensor<3>& weights, const std::vector<std::string>& tokens) {
  const auto last = weights.shape(1) - 1;
  Look most;
  for (std::size_t key = 0; key < last; ++key)
    if (const auto look = strongest_look(weights, last, key);
        look.share > most.share && !is_function_word(tokens[key]))
      most = look;
  return most.share > 0.5 ? std::optional(most) : std::nullopt;
}

/// How the last token can know of a word by way of a token between them, which looked at that one in the
/// layer before: the two looks with the largest product, where both are more than half.
std::optional<std::pair<Look, Look>> two_looks(const Tensor<3>& before, const Tensor<3>& weights,
                                               const std::vector<std::string>& tokens) {
  const auto last = weights.shape(1) - 1;
  std::optional<std::pair<Look, Look>> found;
  double largest = 0.0;
  for (std::size_t between = 1; between < last; ++between)
    for (std::size_t key = 0; key < between; ++key) {
      if (is_function_word(tokens[key])) continue;
      const auto first = strongest_look(before, between, key),
                 second = strongest_look(weights, last, between);
      if (first.share < 0.5 || second.share < 0.5 || first.share * second.share <= largest) continue;
      largest = first.share * second.share;
      found = {first, second};
    }
  return found;
}

/// "girl", or "the#2" where it is the second one.
std::string name_of_place(const std::vector<std::string>& tokens, std::size_t place) {
  const auto at = tokens.begin() + static_cast<std::ptrdiff_t>(place);
  const auto number = 1 + std::count(tokens.begin(), at, *at);
  const auto name = as_row_name(*at);
  return number == 1 ? name : fmt::format("{}#{}", name, number);
}

using Rows = std::vector<std::vector<std::string>>;
using Places = std::vector<std::optional<std::size_t>>;

/// Where a head of a token looks: "head 1 → that  0.00  1.00".
void add_look(Rows& rows, const Tensor<3>& weights, std::size_t head, std::size_t query,
              const std::vector<std::string>& tokens, const Places& columns) {
  const double* const row = &weights(head, query, 0);
  const auto strongest = attn::argmax(row, query + 1);
  rows.push_back({fmt::format("head {} → {}", head, name_of_place(tokens, strongest))});
  for (const auto& key : columns)
    rows.back().push_back(!key ? "" : *key <= query ? fmt::format("{:.2f}", double{row[*key]}) : "·");
}

}  // namespace

void show_looks(const DocumentRun& run, std::size_t layer) {
  constexpr std::size_t most_columns = 9;
  const auto& bench = run.bench();
  const auto& tokens = bench.plan.sentence.tokens.front();
  const auto weights_of = [&](std::size_t of_layer) {
    return run.copy_of<double, 3>(weights_id(bench.options, 0, of_layer));
  };
  const auto weights = weights_of(layer), before = layer > 1 ? weights_of(layer - 1) : weights;
  const auto last = tokens.size() - 1;
  const auto columns = places_shown(tokens.size(), most_columns);
  const auto heading = [&](std::size_t query, std::size_t of_layer) {
    return std::vector{fmt::format("layer {}: \"{}\"", of_layer, tokens[query])};
  };
  Rows rows = {heading(last, layer)};
  auto text = fmt::format(
      "\"{}\" has to guess the next word. A row has the attention weights of one head; → names the largest. "
      "#2 marks a word's second place.",
      tokens[last]);
  if (const auto looks = layer > 1 ? two_looks(before, weights, tokens) : std::nullopt) {
    const auto& [first, second] = *looks;
    text += fmt::format(
        "\nIn layer {0} \"{2}\" gives \"{3}\" the weight {4:.2f}. So after layer {0} the row of \"{2}\" "
        "holds information about \"{3}\". In layer {1} \"{5}\" gives \"{2}\" the weight {6:.2f}. In this "
        "way \"{5}\" learns of \"{3}\".",
        layer - 1, layer, tokens[first.query], tokens[first.key], first.share, tokens[second.query],
        second.share);
    rows = {heading(first.query, layer - 1)};
    add_look(rows, before, first.head, first.query, tokens, columns);
    rows.push_back(heading(last, layer));
  } else if (const auto look = look_at_word(weights, tokens)) {
    text +=
        fmt::format("\nHead {} gives \"{}\" the weight {:.2f}.", look->head, tokens[look->key], look->share);
  }
  for (const auto& key : columns) rows[0].push_back(key ? as_row_name(tokens[*key]) : "…");
  for (std::size_t head = 0; head < weights.shape(0); ++head)
    add_look(rows, weights, head, last, tokens, columns);
  bench.trace.note("looks", fmt::format("Where \"{}\" looks in layer {}", tokens[last], layer), text,
                   in_columns(rows));
}

}  // namespace lessons
