#include "lessons/generate/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attn/text/width.hpp"
#include "lessons/generate/trained.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

/// The step that the page goes into: the first that reads the cache, where there is one.
std::size_t step_on_page(std::size_t steps) {
  return steps > 1 ? 1 : 0;
}

/// The weights of a step that reads one token, and so has no mask.
std::string about_new_row(const attn::Event& weights) {
  const auto rows = weights.tensor->shape[weights.tensor->shape.size() - 2];
  return rows > 1 ? weights.note
                  : "Each head has one row. It needs no mask: no token comes after the newest.";
}

std::string about_logits(const attn::Event&) {
  return "A column is a word of the vocabulary. One pass over the whole text, without a cache, gives the "
         "same numbers (full/logits): the cache saves work and changes nothing.";
}

/// What the cache has more than before, and how words are told apart that stand in the text twice.
std::string about_cache(const attn::Event& cache) {
  const auto axis = cache.axes.size() - 2;
  std::set<std::string> words;
  bool has_twins = false;
  for (std::size_t i = 0; i < cache.tensor->shape[axis]; ++i)
    has_twins = !words.insert(name_along(cache, axis, i)).second || has_twins;
  return cache.note +
         (has_twins ? " (A word that the text has twice: #1 is its first place, #2 the second.)" : "");
}

/// The word that the logits of a step choose: the first of the largest.
std::string about_largest_logit(const attn::Event& logits) {
  const auto& numbers = *logits.tensor;
  std::size_t best = 0;
  for (std::size_t i = 1; i < numbers.shape.back(); ++i)
    if (numbers.at(i) > numbers.at(best)) best = i;
  return fmt::format(
      "“{}” (place {} of the vocabulary) has the largest logit, {:.4f}. So the model writes it, and the next "
      "step reads it. This is greedy decoding.",
      name_along(logits, logits.axes.size() - 1, best), best, numbers.at(best));
}

/// The layer of a step, of which a trained model's page shows what has to do with the cache.
void add_layer(std::vector<attn::OnPage>& page, const std::string& layer, bool is_trained) {
  const auto add_lines = [&](const std::vector<std::string>& ids) {
    for (const auto& id : ids) page.push_back(attn::in_one_line(layer + id));
  };
  if (is_trained) {
    add_lines({"Q", "K", "cache/K", "scores", "scaled", "masked"});
    page.push_back({layer + "kept"});
    page.push_back(attn::without_table(layer + "weights", about_new_row));
    return;
  }
  add_lines({"Q", "K", "V"});
  page.push_back({layer + "cache/K", about_cache});
  add_lines({"cache/V", "scores", "scaled", "masked"});
  page.push_back({layer + "weights", about_new_row});
  add_lines({"heads", "output", "residual"});
}

/// What became of the prompt.
std::string about_text(const Workbench& bench, const CausalDecoder& decoder, const Decoding& decoding) {
  const std::string numbers = "The numbers are places in the vocabulary, counted from 0.";
  if (!bench.options.model) return numbers + " Nothing is trained, so the text means nothing.";
  return fmt::format(
      "The text so far: “{}”. {}{}", fmt::join(decoder.words_of(decoding.tokens), " "), numbers,
      decoder.end == decoding.tokens.back() ? " </s> ends a text: nothing is written behind it." : "");
}

}  // namespace

void choose_generate_page(Workbench& bench, std::size_t steps) {
  const bool is_trained = bench.options.model.has_value();
  const auto step = fmt::format("step={}/", step_on_page(steps));
  const auto layer = step + layer_group(bench.options, layer_on_page(bench.options));
  std::vector<attn::OnPage> page = {{"idea"}, {"guesses"}, {"cache-idea"},
                                    {"flow"}, {"code"},    {step + "read"}};
  page.push_back(is_trained ? attn::without_table(step + "x", [](const attn::Event& x) { return x.note; })
                            : attn::OnPage{step + "x"});
  if (layer != step + "layer=1/" && layer != step)
    page.push_back(attn::in_one_line(step + "layer=1/residual"));
  add_layer(page, layer, is_trained);
  page.push_back(is_trained ? attn::without_table(step + "logits", about_largest_logit)
                            : attn::OnPage{step + "logits", about_largest_logit});
  if (!is_trained) {
    page.push_back(attn::in_one_line(step + "probabilities"));
    page.push_back(attn::in_one_line(step + "token"));
    page.push_back({"written"});
    page.push_back({"logits", about_logits});
  }
  page.push_back({"work"});
  page.push_back({"memory"});
  page.push_back({"looks"});

  bench.trace.page(page, {"cached-equals-full", "same-text", "future-weights-are-0", "rows-sum-to-1"});
}

void tell_generate_idea(Workbench& bench) {
  bench.idea(
      "A decoder is a model that writes a text one token at a time. It reads the text so far and gives each "
      "word that it knows a number, the logit. It writes the word with the largest logit. Then it reads "
      "again, with one token more." +
      about_training(bench));
  bench.trace.note(
      "cache-idea", "What is kept, and why that is right",
      "A causal mask hides all later tokens from a token (lesson masking). So a new token changes no row of "
      "the earlier ones, in any layer. Their keys and values stay right and are kept: the KV cache. The new "
      "token needs them, as its query looks at every key. The earlier queries are not needed again.\nStep 0, "
      "the prefill, reads the whole prompt and fills the cache. Each later step reads a single token, the "
      "one written last.");
  bench.trace.note(
      "decoder", "The model",
      "As small as it can be: vectors with positions, layers of causal multi-head attention, each added to "
      "what it was given, and a matrix that scores the words. A real one has layer norms and feed-forward "
      "networks, too (see the lesson transformer-block). They look at one token at a time and have nothing "
      "to keep.");
}

namespace {

/// "with  W_Q, W_K, W_V, W_O [4×4], W_vocabulary [4×5]": what the flow multiplies by.
std::vector<std::string> shapes_of_matrices(const Workbench& bench, const Tensor<2>& W_vocabulary) {
  constexpr std::size_t most_columns = 78;
  const auto line = fmt::format("with  {},", shapes_of_projections(bench));
  const auto last = fmt::format("W_vocabulary [{}×{}]", W_vocabulary.shape(0), W_vocabulary.shape(1));
  if (attn::display_width(line) + 1 + attn::display_width(last) <= most_columns) return {line + ' ' + last};
  return {line, "      " + last};
}

}  // namespace

std::vector<std::string> generate_flow(const Workbench& bench, const CausalDecoder& decoder,
                                       std::size_t steps) {
  const auto n = bench.plan.sentence.length();
  std::vector<std::string> lines;
  for (std::size_t step = 0; step <= step_on_page(steps); ++step) {
    const auto read = step == 0 ? n : std::size_t{1};
    const auto x = fmt::format("step {}   x [{}×{}] ", step, read, bench.d_model());
    const std::string margin(attn::display_width(x), ' ');
    const auto keys = fmt::format("K → cache [{}×{}×{}] ", bench.kv_heads(), n + step, bench.d_k());
    const auto values = fmt::format("V → cache [{}×{}×{}] ", bench.kv_heads(), n + step, bench.d_v());
    const auto weights = fmt::format("weights [{}×{}×{}] ", bench.heads(), read, n + step);
    const auto line = [](std::size_t columns) {
      std::string dashes;
      for (std::size_t i = 0; i < columns; ++i) dashes += "─";
      return dashes;
    };
    const auto joint = attn::display_width(keys), end = joint + 2 + attn::display_width(weights);
    lines.push_back(x + "┬ Q " + line(joint - 2) + "┐" + (step == 0 ? " causal mask" : ""));
    lines.push_back(margin + "├ " + keys + "┴ " + weights + "┐");
    lines.push_back(margin + "└ " + values + line(end - attn::display_width(values)) + "┴ heads");
  }
  lines.emplace_back("x     embedding (a vector for each word) + positions (a vector for each place)");
  lines.emplace_back("then  heads → W_O → + x → next layer; after the last → W_vocabulary → logits");
  for (auto& line : shapes_of_matrices(bench, decoder.W_vocabulary)) lines.push_back(std::move(line));
  return lines;
}

void show_text(Workbench& bench, const CausalDecoder& decoder, const Decoding& decoding) {
  const auto n = bench.plan.sentence.length(), written = decoding.tokens.size() - n;
  auto tokens = Integers<1>::from_shape({written});
  std::vector<std::string> words, from;
  for (std::size_t step = 0; step < written; ++step) {
    tokens(step) = static_cast<std::int64_t>(decoding.tokens[n + step]);
    words.push_back(decoder.words[decoding.tokens[n + step]]);
    from.push_back(fmt::format("step={}/token", step));
  }
  bench.trace.label("token", {{words}});
  bench.trace.step({.id = "written",
                    .title = "How the text goes on",
                    .formula = "one token a step",
                    .from = from,
                    .axes = {"token"},
                    .note = about_text(bench, decoder, decoding),
                    .worked =
                        [&](const attn::Index& at) {
                          return attn::Worked({from[at[0]], {}, true}, static_cast<double>(tokens(at[0])));
                        }},
                   tokens);
}

void show_logits(Workbench& bench, const CausalDecoder& decoder, const Decoding& decoding) {
  const auto steps = decoding.logits.size();
  auto logits = Tensor<2>::from_shape({steps, decoder.words.size()});
  std::vector<std::string> from;
  for (std::size_t step = 0; step < steps; ++step) {
    std::copy(decoding.logits[step].begin(), decoding.logits[step].end(), &logits(step, 0));
    from.push_back(fmt::format("step={}/logits", step));
  }
  const auto from_step = [&](const attn::Index& at) {
    return attn::Worked({from[at[0]], {at[1]}}, logits(at[0], at[1]));
  };
  bench.trace.step({.id = "logits",
                    .title = "The logits of all steps",
                    .formula = "step=T/logits in row T",
                    .from = from,
                    .axes = {"step", "vocabulary"},
                    .worked = from_step},
                   logits);
}

void try_after_generate(Workbench& bench) {
  if (bench.options.model)
    return bench.try_next({{"generate --sentence \"the dog that the boy follows\"", "one dog"},
                           {"generate --layer 1", "where does the first layer look?"},
                           {"efficient", "what to do about n² scores"}});
  bench.try_next(
      {{"generate --layers 2 --layer 2", "a second layer, a second cache"},
       {"generate --heads 4 --kv-heads 1 --d-model 8", "4 heads share one K and V: cache/bytes is a quarter"},
       {"efficient", "what to do about n² scores"}});
}

}  // namespace lessons
