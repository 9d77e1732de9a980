/// The heads of all shipped models, told apart by the measures of the page.

#include "lessons/patterns/heads_of_models.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

/// Whether the measure says something of a head: places in two languages do not compare.
bool says(const HeadOfModel& head, Measure measure) {
  return head.measures[measure] > 0.0;
}

std::string share_in_words(const HeadOfModel& head, std::optional<Measure> measure) {
  return measure && says(head, *measure) ? fmt::format("{:.2f}", head.measures[*measure]) : "–";
}

/// The kinds left-aligned below one another.
std::string table_of(const std::vector<HeadOfModel>& heads) {
  std::vector<std::vector<std::string>> rows = {{"", "itself", "before", "after", "keys", "share", "looks"}};
  std::size_t widest = 0;
  for (const auto& head : heads) widest = std::max(widest, attn::display_width(head.looks));
  rows.front().back() = attn::pad_right(rows.front().back(), widest);
  for (const auto& head : heads) {
    rows.push_back({head.name});
    for (const auto measure : {Measure::itself, Measure::before, Measure::after})
      rows.back().push_back(
          head.measures[Measure::linked] > 0.0 ? "–" : fmt::format("{:.2f}", head.measures[measure]));
    rows.back().push_back(fmt::format("{:.1f}", std::exp(head.measures[Measure::entropy])));
    rows.back().push_back(share_in_words(head, measure_of(head.kind)));
    rows.back().push_back(attn::pad_right(head.looks, widest));
  }
  return in_columns(rows);
}

/// Of each kind that is named after a share of its own the head with the largest one, and one that is alike
/// to all.
std::vector<HeadOfModel> one_of_each_kind(const std::vector<HeadOfModel>& heads) {
  std::vector<HeadOfModel> chosen;
  for (std::size_t i = 0; i < kind_count; ++i) {
    const auto kind = static_cast<HeadKind>(i);
    if (kind == HeadKind::ahead || kind == HeadKind::back || kind == HeadKind::other) continue;
    const auto measure = measure_of(kind);
    const HeadOfModel* best = nullptr;
    for (const auto& head : heads)
      if (head.kind == kind &&
          (best == nullptr || (measure && head.measures[*measure] > best->measures[*measure])))
        best = &head;
    if (best != nullptr) chosen.push_back(*best);
  }
  return chosen;
}

/// [head_of_model×measure]
Tensor<2> show_measures(Workbench& bench, const std::vector<HeadOfModel>& heads) {
  std::vector<std::string> names, measures;
  for (const auto& head : heads) names.push_back(head.label);
  for (std::size_t i = 0; i < measure_count; ++i) measures.emplace_back(name_of(static_cast<Measure>(i)));
  bench.trace.label("head_of_model", {{names}});
  bench.trace.label("measure", {{measures}});
  auto values = Tensor<2>::from_shape({heads.size(), measure_count});
  for (std::size_t i = 0; i < heads.size(); ++i)
    std::copy(heads[i].measures.values.begin(), heads[i].measures.values.end(), &values(i, 0));
  return bench.trace.step(
      {.id = "models/measures",
       .title = "The heads of the lab's models in numbers",
       .axes = {"head_of_model", "measure"},
       .note = "All but the last three are what a word gives on average: to itself, to all words before and "
               "after it, to the one just before and just after, to its mirror image, to what followed the "
               "same word the last time (where at least three words come again), and in cross-attention to "
               "the words that it translates. one is what the other words give on average to the word that "
               "gets most, and most is the largest entropy possible. A measure that does not apply is 0."},
      values);
}

double measured(const Tensor<2>& values, const std::vector<HeadOfModel>& heads, const std::string& name,
                Measure measure) {
  const auto head =
      std::find_if(heads.begin(), heads.end(), [&](const auto& one) { return one.name == name; });
  return values(static_cast<std::size_t>(head - heads.begin()), static_cast<std::size_t>(measure));
}

/// What each model, and each part of the translator, reads.
std::string texts_of(const std::vector<LayerOfModel>& layers) {
  std::string lines, part;
  for (const auto& layer : layers) {
    if (layer.part != part)
      lines +=
          fmt::format("{}{:<10} {}", lines.empty() ? "" : "\n", layer.part, fmt::join(layer.queries, " "));
    part = layer.part;
  }
  return lines;
}

/// The kinds of these heads.
std::vector<HeadKind> kinds_of(const std::vector<HeadOfModel>& heads) {
  std::vector<HeadKind> kinds;
  for (const auto& head : heads) kinds.push_back(head.kind);
  return kinds;
}

}  // namespace

std::vector<HeadOfModel> heads_of_layers(const std::vector<LayerOfModel>& layers) {
  std::vector<HeadOfModel> all;
  for (const auto& layer : layers) {
    const auto heads = layer.weights.shape(1);
    const ReadByHead text = {layer.queries, layer.keys, layer.links};
    const double largest = largest_entropy(layer.visible);
    for (std::size_t head = 0; head < heads; ++head) {
      const auto measures = measure_head(layer.weights, 0, head, text, largest);
      const auto kind = kind_of(measures);
      all.push_back({.name = heads > 1 ? fmt::format("{}, head {}", layer.name, head) : layer.name,
                     .label = heads > 1 ? fmt::format("{}.{}", layer.name, head) : layer.name,
                     .measures = measures,
                     .kind = kind,
                     .looks = in_words(kind, measures, text)});
    }
  }
  return all;
}

void show_heads_of_models(Workbench& bench) {
  const auto layers = layers_of_models();
  const auto heads = heads_of_layers(layers);
  const auto values = show_measures(bench, heads);
  auto& trace = bench.trace;
  trace.note(
      "models", "Heads of the lab's other models, one of each kind",
      "itself, before and after are what a word gives on average to itself, to all words before it and to "
      "all after it. "
      "keys is exp(entropy). share is what goes to where the head looks. encoder, cross and decoder "
      "belong to a translator, sentiment to a classifier; reverse says letters backwards, induction copies. "
      "All but the first use one or two keys, so only where they look tells them apart.",
      table_of(one_of_each_kind(heads)));
  trace.note("models/kinds", fmt::format("All {} heads of the lab's models", heads.size()),
             "share is the one that decides. In language, one layer, induction and decoder a word sees none "
             "after it. block is the model sentiment-block, one layer is induction-one-layer. encoder, "
             "decoder and cross are the parts of translation-transformer. Each reads this text:",
             texts_of(layers) + "\n\n" + table_of(heads) + "\n\n" + meanings_of(kinds_of(heads)));
  const auto claim = [&](const char* id, const char* words, const std::string& name, Measure measure) {
    trace.claim({.id = id,
                 .claim = words,
                 .formula = fmt::format("models/measures[{}, {}]", name, name_of(measure)),
                 .value = measured(values, heads, name, measure),
                 .limit = attn::at_least(0.5)});
  };
  claim("models/word-before", "induction 1 gives more than half to the letter before", "induction 1",
        Measure::just_before);
  claim("models/what-came-next", "induction 2 gives more than half to what came next", "induction 2",
        Measure::repeat);
}

namespace {

/// The name of a kind, and what is meant by it.
struct Said {
  const char *name, *meaning;
};

constexpr std::array<Said, kind_count> said = {
    {{"all alike", "the keys that a query may see get nearly the same"},
     {"its translation", "more than half goes to the words that it translates"},
     {"one word", "all other words give more than half to this one"},
     {"word before", "more than half goes to the word just before"},
     {"word after", "more than half goes to the word just after"},
     {"mirror image", "more than half: the first word to the last, and so on"},
     {"what came next", "more than half: to what followed this word the last time"},
     {"itself", "more than half stays with the word itself"},
     {"ahead", "the words after get more than twice as much as those before"},
     {"back", "the words before get more than twice as much as those after"},
     {"each its own", "none of the kinds that this lab has names for"}}};

}  // namespace

std::string in_words(HeadKind kind, const HeadMeasures& measures, const ReadByHead& text) {
  constexpr std::size_t widest = 8;
  const std::string name = said[static_cast<std::size_t>(kind)].name;
  return kind == HeadKind::one_word ? name + ": " + attn::shorten(text.keys[measures.key], widest) : name;
}

std::string meanings_of(const std::vector<HeadKind>& kinds) {
  std::vector<Said> there;
  std::size_t widest = 0;
  for (std::size_t kind = 0; kind < kind_count; ++kind)
    if (std::count(kinds.begin(), kinds.end(), static_cast<HeadKind>(kind)) > 0) {
      there.push_back(said[kind]);
      widest = std::max(widest, std::string(said[kind].name).size());
    }
  std::string lines;
  for (const auto& [name, meaning] : there)
    lines += fmt::format("{}{:<{}}  {}", lines.empty() ? "" : "\n", name, widest, meaning);
  return lines;
}

namespace {

/// The words of a head that looks ahead or back that give more than half to a word on the other side, each
/// once.
std::vector<std::string> other_than(HeadKind kind, const Tensor<4>& weights, std::size_t sample,
                                    std::size_t head, const std::vector<std::string>& tokens) {
  std::vector<std::string> words;
  for (std::size_t query = 0; query < tokens.size(); ++query) {
    const auto* row = &weights(sample, head, query, 0);
    const auto key = attn::argmax(row, tokens.size());
    const bool is_other = (kind == HeadKind::ahead && key < query) || (kind == HeadKind::back && key > query);
    auto word = fmt::format("\"{}\"", tokens[query]);
    if (is_other && row[key] > 0.5 && std::find(words.begin(), words.end(), word) == words.end())
      words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

void show_kinds(Workbench& bench, const Tensor<4>& weights, const std::vector<double>& largest) {
  constexpr std::size_t most_heads = 8;
  const std::size_t heads = weights.shape(1), all_heads = weights.shape(0) * heads;
  std::map<std::string, std::vector<std::size_t>> heads_by_exception;
  std::vector<std::vector<std::string>> rows = {{"", "itself", "before", "after", "looks"}};
  std::vector<HeadKind> kinds;
  for (std::size_t i = 0; i < std::min(all_heads, most_heads); ++i) {
    const auto sample = i / heads;
    const auto& tokens = bench.plan.sentence.tokens[sample];
    const ReadByHead text = {tokens, tokens};
    const auto measures = measure_head(weights, sample, i % heads, text, largest[i]);
    rows.push_back({(bench.plan.is_batched() ? fmt::format("sample {} ", sample) : "") +
                    (bench.options.heads ? fmt::format("head {}", i % heads) : std::string("weights"))});
    for (const auto share : {Measure::itself, Measure::before, Measure::after})
      rows.back().push_back(fmt::format("{:.2f}", measures[share]));
    kinds.push_back(kind_of(measures));
    rows.back().push_back(in_words(kinds.back(), measures, text));
    const auto others = other_than(kinds.back(), weights, sample, i % heads, tokens);
    if (!others.empty() && !bench.plan.is_batched())
      heads_by_exception[fmt::format("only {} look{} {}", fmt::join(others, ", "),
                                     others.size() == 1 ? "s" : "",
                                     kinds.back() == HeadKind::ahead ? "back" : "ahead")]
          .push_back(i % heads);
  }
  if (all_heads > most_heads) rows.push_back({"…"});
  std::string exceptions;
  for (const auto& [exception, found] : heads_by_exception)
    exceptions +=
        fmt::format(" In head{} {} {}.", found.size() == 1 ? "" : "s", fmt::join(found, " and "), exception);
  bench.trace.note(
      "kinds", "What kind of head is it?",
      "The shares are means over all words." +
          std::string(bench.options.model
                          ? " Head 0 looks at the word that each one is about. An article needs its "
                            "noun, which comes later; a verb its subject, which mostly comes before." +
                                exceptions
                      : bench.options.gives_tensors() ? ""
                                                      : " Nothing here is trained: a kind would be chance."),
      in_columns(rows) + "\n\n" + meanings_of(kinds));
}

}  // namespace lessons
