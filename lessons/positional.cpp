/// Positions: what attention cannot tell without them, and six ways to put them in. The lesson is the
/// document positional.md. Sources: Vaswani et al. 2017, "Attention Is All You Need", section 3.5
/// (sinusoidal); Gehring et al. 2017, "Convolutional Sequence to Sequence Learning" (learned); Shaw et al.
/// 2018, "Self-Attention with Relative Position Representations"; Raffel et al. 2020, "Exploring the Limits
/// of Transfer Learning with a Unified Text-to-Text Transformer", section 2.1 (T5); Press et al. 2022, "Train
/// Short, Test Long" (ALiBi); Su et al. 2021, "RoFormer", section 3.2 (RoPE).

#include "lessons/positional.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/positional.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/positional/mistakes.hpp"
#include "lessons/positional/trained.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

/// The most words of a sentence that are not all the same; 0 where there is none.
std::size_t most_words(const attn::TokenBatch& sentence) {
  std::size_t most = 0;
  for (const auto& tokens : sentence.tokens)
    if (std::set(tokens.begin(), tokens.end()).size() > 1) most = std::max(most, tokens.size());
  return most;
}

/// The sentence in the order of the run.
attn::TokenBatch reordered(const DocumentRun& run) {
  const auto order = run.copy_of<double, 2>("order");
  auto batch = run.bench().plan.sentence;
  for (std::size_t b = 0; b < batch.size(); ++b)
    for (std::size_t i = 0; i < batch.tokens[b].size(); ++i)
      batch.tokens[b][i] = run.bench().plan.sentence.tokens[b][static_cast<std::size_t>(order(b, i))];
  return batch;
}

/// "the cat saw the dog" becomes "the dog saw the cat"
std::string words_that_swap(const DocumentRun& run) {
  const auto other = reordered(run).tokens;
  const auto& tokens = run.bench().plan.sentence.tokens;
  std::size_t first = 0;
  while (first + 1 < other.size() && other[first] == tokens[first]) ++first;
  return fmt::format("\"{}\" becomes \"{}\"", fmt::join(tokens[first], " "), fmt::join(other[first], " "));
}

/// "-4", "0", "+4".
std::string signed_number(std::int64_t number) {
  return number == 0 ? "0" : fmt::format("{:+}", number);
}

/// For each of T5's buckets the distances that it holds: "-3", "-8…-11", "-91…", "none".
void label_buckets(DocumentRun& run) {
  constexpr std::int64_t farthest = 128;
  std::vector<std::string> labels(attn::t5_bucket_count, "none");
  for (const std::int64_t direction : {-1, 1})
    for (std::int64_t first = 0; first <= farthest;) {
      const auto bucket = attn::t5_bucket(direction * first);
      auto last = first;
      while (last < farthest && attn::t5_bucket(direction * (last + 1)) == bucket) ++last;
      auto& label = labels[static_cast<std::size_t>(bucket)];
      label = signed_number(direction * first);
      if (last == farthest) label += "…";
      if (last != first && last != farthest) label += "…" + signed_number(direction * last);
      first = last + 1;
    }
  run.bench().trace.label("t5/bucket", {{labels}});
}

void run_positional(Workbench& bench) {
  const auto& encoding = bench.options.encoding;
  if (encoding == "all" || encoding == "sinusoidal" || encoding == "rope")
    require_pairs(bench.options, "sinusoidal and rope", "--encoding learned, relative, t5 or alibi");
  Functions functions;
  functions.texts = {{"words_that_swap", words_that_swap}};
  functions.actions = {{"label_other_order",
                        [](DocumentRun& run) {
                          run.bench().label({"query", "key"}, reordered(run));
                        }},
                       {"label_order",
                        [](DocumentRun& run) {
                          run.bench().label({"query", "key"}, run.bench().plan.sentence);
                        }},
                       {"label_buckets", label_buckets}};
  add_trained_positions(functions);
  add_positional_mistakes(functions);
  DocumentRun run(bench, functions);
  run.set("most_words", static_cast<double>(most_words(bench.plan.sentence)));
  run.set("has_models", has_trained_positions());
  run.tell();
}

}  // namespace

void require_pairs(const Options& options, const std::string& needed_by, const std::string& otherwise) {
  const auto d = options.d_model.value();
  if (d % 2 == 0) return;
  const auto others = otherwise.empty() ? "" : ", or " + otherwise;
  if (options.embeddings)
    throw attn::Error(
        fmt::format("the vectors of {} have {} numbers, which do not make the pairs that {} need; valid: "
                    "vectors of even length{}",
                    *options.embeddings, d, needed_by, others));
  throw attn::Error(fmt::format("--d-model {} does not make the pairs that {} need; valid: --d-model {}{}", d,
                                needed_by, d == 1 ? "2" : fmt::format("{} or {}", d - 1, d + 1), others));
}

const Lesson& positional_lesson() {
  static const auto lesson = lesson_of(
      "positional", {.sharpen = sharpen_word, .run = run_positional, .complete = [](Lesson& stated) {
                       stated.splits_heads = false;
                     }});
  return lesson;
}

}  // namespace lessons
