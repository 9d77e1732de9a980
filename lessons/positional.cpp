/// Positions: what attention cannot tell without them, and six ways to put them in. The lesson is the
/// document positional.md, which has its sources; here is what no formula says.

#include "attn/ops/positional.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/trained/layers.hpp"
#include "trace/model.hpp"

namespace lessons {

namespace {

/// What a model makes of the first letters of the alphabet: "j i h".
std::string reverse_alphabet(const attn::Model& model, std::size_t count) {
  auto X = attn::as_batch(attn::rows(model.matrix("embedding"), 0, count));
  if (model.find("positions") != nullptr) X = attn::add_positions(X, model.matrix("positions"));
  const auto attention = attn::multi_head_attention(X, weights_in(model, "layer=1/attention/", 1));
  const auto logits =
      attn::linear<3>(X + attention.output, model.matrix("output/W"), model.vector("output/b"));
  std::vector<std::string> letters;
  for (std::size_t p = 0; p < count; ++p) {
    const double* row = &logits(0, p, 0);
    const auto best = attn::argmax(row, logits.shape(2));
    letters.push_back(model.vocabularies.at("classes").at(best));
  }
  return fmt::format("{}", fmt::join(letters, " "));
}

/// What two trained models make of letters that they have to say backwards: one with a learned table of
/// positions, one with none (attnlab train reverse).
std::string letters_backwards(const DocumentRun&) {
  struct Line {
    const char *name, *model, *score;
    std::size_t letters;
  };
  constexpr std::size_t in_training = 10, more = 14;
  std::string lines = "                       right   for a b c d e f g h i j (k l m n)";
  for (const auto& [name, file, score, letters] :
       {Line{"learned positions", "reverse", "symbols right", in_training},
        {"the same, 14 letters", "reverse", "symbols right, 4 longer than in training", more},
        {"no positions", "reverse-no-positions", "symbols right", in_training}}) {
    const auto model = attn::shipped_model(file);
    const auto found = model->scores.find(score);
    const auto right = found == model->scores.end() ? "–" : fmt::format("{:.0f} %", 100.0 * found->second);
    lines += fmt::format("\n{:<22}{:>6}   {}", name, right, reverse_alphabet(*model, letters));
  }
  return lines;
}

/// Keys of a cache that is rotated again, as a whole, whenever a token is added to a prompt of any length:
/// after the prompt that fits somebody's keys best.
std::optional<Tensor<3>> rotated_at_steps_of(const Tensor<3>& theirs, const Tensor<3>& X,
                                             const Tensor<2>& angles, attn::Pairing pairing) {
  if (theirs.shape() != X.shape()) return std::nullopt;
  const auto n = X.shape(1);
  std::optional<Tensor<3>> best;
  for (std::size_t prompt = 1; prompt < n; ++prompt) {
    auto total = angles;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t i = 0; i < angles.shape(1); ++i)
        total(p, i) *= static_cast<double>((p < prompt ? 1 : 0) + n - std::max(p, prompt));
    auto keys = rotate_pairs(X, total, pairing);
    if (!best || attn::max_abs_difference(keys, theirs) < attn::max_abs_difference(*best, theirs))
      best = std::move(keys);
  }
  return best;
}

/// `theirs` [head×query×key] with each head of `bias`, which has fewer, in the place of the head that is most
/// like it.
Tensor<3> with_heads_of(Tensor<3> theirs, const Tensor<3>& bias) {
  const auto size = static_cast<std::ptrdiff_t>(bias.shape(1) * bias.shape(2));
  const auto heads = static_cast<std::ptrdiff_t>(theirs.shape(0));
  const auto given = theirs;
  for (const auto* head = bias.data(); head != bias.data() + bias.size(); head += size) {
    std::vector<double> distances;
    for (std::ptrdiff_t other = 0; other < heads; ++other)
      distances.push_back(std::inner_product(head, head + size, given.data() + other * size, 0.0,
                                             std::plus<>(),
                                             [](double a, double b) { return std::abs(a - b); }));
    const auto nearest = std::min_element(distances.begin(), distances.end()) - distances.begin();
    std::copy_n(head, size, theirs.data() + nearest * size);
  }
  return theirs;
}

/// The table [position×d] whose second pair has somebody's sines and cosines: `pair(p)` gives them for
/// position p, each of which makes the frequency more precise. None where they are of no base.
template <class PairOf>
std::optional<Tensor<2>> table_of_base_in(std::size_t n, std::size_t d, PairOf pair) {
  if (n < 2 || d < 4) return std::nullopt;
  double frequency = 0.0;
  for (std::size_t p = 1; p < n; ++p) {
    const auto [sine, cosine] = pair(p);
    const double position = static_cast<double>(p), angle = std::atan2(sine, cosine);
    const double turns = std::round((position * frequency - angle) / (2.0 * std::numbers::pi));
    frequency = (angle + 2.0 * std::numbers::pi * turns) / position;
  }
  if (!(frequency > 0.0 && frequency <= 1.0)) return std::nullopt;
  auto frequencies = Tensor<1>::from_shape({d / 2});
  for (std::size_t i = 0; i < d / 2; ++i) frequencies(i) = std::pow(frequency, static_cast<double>(i));
  return attn::sines_and_cosines(attn::position_angles(n, frequencies));
}

/// The classic mistakes in steps of the lesson positional that are no formulas.
void add_positional_mistakes(Functions& functions) {
  functions.mistakes["rope/K_rotated"] = [](DocumentRun& run, const std::string&) -> attn::Mistakes {
    const auto pairing =
        run.bench().options.pairing == "halves" ? attn::Pairing::halves : attn::Pairing::adjacent;
    return {{"rope-rerotated:prompt",
             [pairing, X = run.copy_of<double, 3>("X"), angles = run.copy_of<double, 2>("rope/angles")](
                 const Tensor<3>& theirs) { return rotated_at_steps_of(theirs, X, angles, pairing); }}};
  };
  functions.mistakes["sinusoidal/encoding"] = [](DocumentRun&, const std::string&) -> attn::Mistakes {
    return {{"pe-base:table", [](const Tensor<2>& theirs) {
               return table_of_base_in(theirs.shape(0), theirs.shape(1), [&theirs](std::size_t p) {
                 return std::pair(theirs(p, 2), theirs(p, 3));
               });
             }}};
  };
  functions.mistakes["sinusoidal/encoded"] = [](DocumentRun& run, const std::string&) -> attn::Mistakes {
    return {{"pe-base:sum",
             [X = run.copy_of<double, 3>("X")](const Tensor<3>& theirs) -> std::optional<Tensor<3>> {
               if (theirs.shape() != X.shape()) return std::nullopt;
               const auto added = [&](std::size_t p, std::size_t j) { return theirs(0, p, j) - X(0, p, j); };
               const auto other = table_of_base_in(X.shape(1), X.shape(2), [&](std::size_t p) {
                 return std::pair(added(p, 2), added(p, 3));
               });
               return other ? std::optional(attn::add_positions(X, *other)) : std::nullopt;
             }}};
  };
  functions.mistakes["t5/bias"] = [](DocumentRun& run, const std::string& id) -> attn::Mistakes {
    return {{"relative-bias-not-pruned",
             [bias = run.copy_of<double, 3>(id)](const Tensor<3>& theirs) -> std::optional<Tensor<3>> {
               if (theirs.shape(0) <= bias.shape(0) || theirs.shape(1) != bias.shape(1) ||
                   theirs.shape(2) != bias.shape(2))
                 return std::nullopt;
               return with_heads_of(theirs, bias);
             }}};
  };
}

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

void prepare_positional(DocumentRun& run, Functions& functions) {
  functions.texts["letters_backwards"] = letters_backwards;
  functions.actions = {{"label_other_order",
                        [](DocumentRun& now) {
                          now.bench().label({"query", "key"}, reordered(now));
                        }},
                       {"label_order", [](DocumentRun& now) {
                          now.bench().label({"query", "key"}, now.bench().plan.sentence);
                        }}};
  add_positional_mistakes(functions);
  run.set("most_words", static_cast<double>(most_words(run.bench().plan.sentence)));
  run.set("has_models", attn::missing_model_file("reverse").empty() &&
                            attn::missing_model_file("reverse-no-positions").empty());
}

}  // namespace

const LessonCode positional_code = {
    .sharpen = sharpen_word, .prepare = prepare_positional, .splits_heads = false};

}  // namespace lessons
