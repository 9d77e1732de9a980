/// Masks: who may look at whom, and how a key is hidden. Sources: Vaswani et al. 2017, "Attention Is All You
/// Need", section 3.2.3 (the decoder's mask, with −∞); its published code writes −10⁹ instead.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/masking/broadcast.hpp"
#include "lessons/masking/claims.hpp"
#include "lessons/masking/fills.hpp"
#include "lessons/masking/learned.hpp"
#include "lessons/masking/mistakes.hpp"
#include "lessons/masking/notices.hpp"
#include "lessons/masking/numpy.hpp"
#include "lessons/sdpa/mistakes.hpp"
#include "lessons/self_attention.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

/// How many tokens of each sentence may be seen. Where no sentence is padded, the last token of each plays
/// the padding, unless it is the only one.
std::vector<std::size_t> visible_lengths(const attn::TokenBatch& sentence) {
  auto lengths = sentence.lengths();
  if (!sentence.is_padded() && sentence.length() > 1)
    for (auto& length : lengths) --length;
  return lengths;
}

std::string padding_note(const attn::TokenBatch& sentence) {
  if (sentence.is_padded())
    return "A sentence that is shorter than the longest one is filled up with <pad>. The filling is no part "
           "of it, so no query may look at it. What the filling itself looks at does no harm: nobody reads "
           "its row.";
  if (sentence.length() == 1)
    return "Nothing is padded here, and a sentence of one word has none to spare to play the padding. So "
           "nothing is hidden. With a longer sentence the last token plays it.";
  const auto actor = sentence.size() == 1
                         ? fmt::format("the last token, \"{}\", is padding", sentence.tokens[0].back())
                         : std::string("the last token of each sentence is padding");
  return fmt::format(
      "Nothing is padded here, so we pretend that {}: no query may look at it. Its own row is computed all "
      "the same, and nobody reads it. Give two sentences of different length to see real padding.",
      actor);
}

std::string who_is_padding(const attn::TokenBatch& sentence) {
  if (sentence.is_padded()) return "Below stands the shortest sentence.";
  if (sentence.length() == 1)
    return "A single word has no other to play the filling, so nothing is hidden here.";
  return sentence.size() == 1
             ? fmt::format("Here the last token, \"{}\", plays the filling.", sentence.tokens[0].back())
             : std::string("Here the last token of each sentence plays the filling.");
}

attn::Worked worked_index(std::size_t index) {
  return static_cast<double>(index);
}

/// j ≤ i.
attn::WorkedOut worked_causal() {
  return
      [](const attn::Index& at) { return attn::Worked::at_most(worked_index(at[2]), worked_index(at[1])); };
}

/// j < lengths, which are shown where sentences differ.
attn::WorkedOut worked_padding(const std::vector<std::size_t>& lengths, bool are_shown) {
  return [=](const attn::Index& at) {
    const auto length = worked_index(lengths[at[0]]);
    return attn::Worked::less(worked_index(at[2]),
                              are_shown ? attn::Worked({"lengths", {at[0]}, true}, length.value()) : length);
  };
}

/// `causal_mask`, `padding_mask` and `combined_mask`.
Masks masks_of(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  const auto n = sentence.length();
  const auto lengths = visible_lengths(sentence);
  auto& trace = bench.trace;
  Masks masks;
  const auto causal = attn::repeat_mask(attn::causal_mask(n, n), sentence.size());
  masks.causal =
      trace.step({.id = "causal_mask",
                  .title = "Hide the future",
                  .formula = "j ≤ i",
                  .axes = {"query", "key"},
                  .note = "Row i marks what query i may see: itself and everything before it. A model that "
                          "writes word by word must not learn from words that it has yet to write.",
                  .worked = worked_causal()},
                 causal, mistakes_of_causal_mask(causal));
  const auto padding = attn::padding_mask(lengths, n, n);
  masks.padding = trace.step(
      {.id = "padding_mask",
       .title = "Hide what is no word",
       .formula = sentence.is_padded() ? "j < lengths" : fmt::format("j < {}", lengths[0]),
       .from = sentence.is_padded() ? std::vector<std::string>{"lengths"} : std::vector<std::string>{},
       .axes = {"query", "key"},
       .note = padding_note(sentence),
       .worked = worked_padding(lengths, sentence.is_padded())},
      padding, mistakes_of_padding_mask(padding));
  masks.combined = trace.step(
      {.id = "combined_mask",
       .title = "Hide both",
       .formula = "causal_mask ∧ padding_mask",
       .from = {"causal_mask", "padding_mask"},
       .axes = {"query", "key"},
       .note = "A key may be seen where both masks let it be seen. This is what a decoder uses on a batch.",
       .worked =
           [&](const attn::Index& at) {
             return attn::Worked::product({attn::whole_entry("causal_mask", masks.causal, at),
                                           attn::whole_entry("padding_mask", masks.padding, at)});
           }},
      attn::both(masks.causal, masks.padding), mistakes_of_combined_mask(masks.causal, masks.padding));
  return masks;
}

/// The masks of one sentence side by side, a row a query and a column a key: that of the shortest sentence,
/// in which there is most padding.
std::string picture_of(const Masks& masks, const attn::TokenBatch& sentence) {
  constexpr std::size_t most = 9;
  const auto lengths = sentence.lengths();
  const auto b = static_cast<std::size_t>(std::min_element(lengths.begin(), lengths.end()) - lengths.begin());
  const auto places = places_shown(sentence.length(), most);
  const auto row_of = [&](const Mask<3>& mask, std::size_t i) {
    std::string cells;
    for (const auto& j : places) cells += !j ? "… " : mask(b, i, *j) ? "■ " : "□ ";
    return cells;
  };
  std::vector<std::vector<std::string>> rows = {{"", "", "", ""}};
  const auto width = 2 * places.size();
  for (std::size_t column = 0; column < 3; ++column)
    rows[0][column + 1] =
        attn::pad_right(std::array{"causal", "padding", "combined"}[column], std::max<std::size_t>(width, 8));
  for (const auto& i : places) {
    const auto name =
        i ? *i < sentence.tokens[b].size() ? as_row_name(sentence.tokens[b][*i]) : "<pad>" : "…";
    rows.push_back({name});
    for (const auto* mask : {&masks.causal, &masks.padding, &masks.combined})
      rows.back().push_back(i ? attn::pad_right(row_of(*mask, *i), std::max<std::size_t>(width, 8)) : "");
  }
  return in_columns(rows);
}

void show_pictures(Workbench& bench, const Masks& masks) {
  const auto& sentence = bench.plan.sentence;
  bench.trace.note(
      "masks", "The masks",
      "Rows are queries, columns keys. ■ (true) shows the key, □ (false) hides it.\n"
      "causal: query i sees key j where j ≤ i. A writing model knows no later word.\n"
      "padding: a batch is several sentences that are computed at once. They are filled up to the same "
      "length. The mask hides the filling. " +
          who_is_padding(sentence) + "\ncombined: a key may be seen where both masks allow it.",
      picture_of(masks, sentence));
}

/// Those of `masked` where the mask is a step of its own, in which true may mean hidden.
attn::Mistakes mistakes_under(const Workbench& bench, const Mask<3>& mask, const Tensor<3>& scaled) {
  auto mistakes = mistakes_of_masked(bench, scaled, mask);
  mistakes.emplace_back("mask-true-hidden", [&] { return attn::apply_mask(scaled, negated(mask)); });
  return mistakes;
}

/// `NAME/masked`, `NAME/weights` and `NAME/output`: what the mask `NAME_mask` makes of scores and values.
MaskedAttention attend_under(Workbench& bench, const std::string& name, const Mask<3>& mask,
                             const Tensor<3>& scaled, const Tensor<3>& K, const Tensor<3>& V,
                             const std::string& weights_note) {
  auto& trace = bench.trace;
  const auto mask_id = name + "_mask", masked_id = name + "/masked", weights_id = name + "/weights";
  const std::optional visible = mask;
  const double divisor = std::sqrt(static_cast<double>(bench.d_k()));
  const auto followed = pair_that_gains_most(attn::softmax(attn::apply_mask(scaled, mask)), scaled,
                                             bench.plan.sentence.lengths().front());
  const auto masked = trace.step({.id = masked_id,
                                  .title = "What may not be seen gets −∞",
                                  .formula = fmt::format("scaled where {}, −∞ elsewhere", mask_id),
                                  .from = {"scaled", mask_id},
                                  .axes = {"query", "key"},
                                  .worked = attn::worked_mask(attn::Known{"scaled", scaled}, mask),
                                  .worked_at = followed},
                                 attn::apply_mask(scaled, mask), mistakes_under(bench, mask, scaled));
  const auto weights =
      trace.step({.id = weights_id,
                  .title = "The rest is shared out",
                  .formula = "softmax(masked)",
                  .from = {masked_id},
                  .axes = {"query", "key"},
                  .note = weights_note,
                  .distribution = true,
                  .worked = attn::worked_softmax(attn::Known{masked_id, masked}),
                  .worked_at = followed},
                 attn::softmax(masked), mistakes_of_weights(bench, masked, scaled, visible, divisor));
  const auto mixture = attn::matmul(weights, V);
  const auto output =
      trace.step({.id = name + "/output",
                  .title = "Mixtures of what may be seen",
                  .formula = "weights V",
                  .from = {weights_id, "V"},
                  .axes = {"query", "d_v"},
                  .worked = attn::worked_matmul(attn::Known{weights_id, weights}, attn::Known{"V", V}),
                  .worked_at = followed ? std::optional(attn::Index{(*followed)[0], 0}) : std::nullopt},
                 mixture, mistakes_of_mixture(bench, weights, K, V, mixture));
  return {weights, output};
}

std::vector<std::string> masking_flow(const Workbench& bench) {
  const auto n = bench.plan.sentence.length();
  const auto start = fmt::format("X [{0}×{1}] → scaled [{0}×{0}] ┐", n, bench.d_model());
  const auto mask = fmt::format("{}_mask [{}×{}] ", bench.options.mask, n, n);
  const auto width = std::max(attn::display_width(start), attn::display_width(mask) + 1);
  return {attn::pad_left(start, width),
          attn::pad_left(mask, width - 1) + fmt::format("┴ −∞ where hidden → softmax → weights [{0}×{0}]", n),
          fmt::format("weights V → output [{}×{}]", n, bench.d_v())};
}

/// Under the causal mask.
constexpr const char* one_word_more =
    " One more row of X at the end adds a row and changes no other, because no earlier query may see it.";

std::string what_a_word_more_would_do(const std::string& mask) {
  const std::string factors = "The second factors are column 0 of V (--steps V).";
  return mask == "causal" ? factors + one_word_more : factors;
}

/// What the remarks are about, known when the weights are.
struct SeenUnderMasks {
  Tensor<3> scaled;
  Masks masks;

  Tensor<3> weights(const std::string& mask) const {
    const auto& visible = mask == "causal"    ? masks.causal
                          : mask == "padding" ? masks.padding
                                              : masks.combined;
    return attn::softmax(attn::apply_mask(scaled, visible));
  }
};

/// The page goes into one mask; the others are a --mask away.
void page_of_masking(Workbench& bench, const SeenUnderMasks& seen) {
  const auto mask = bench.options.mask;
  const bool is_trained = bench.options.model.has_value();
  bench.trace.page(
      {{"idea"},
       {"masks"},
       {"flow"},
       {"code"},
       attn::in_one_line("Q"),
       attn::in_one_line("K"),
       attn::in_one_line("V"),
       attn::in_one_line("scores"),
       attn::in_one_line("scaled"),
       attn::in_one_line(mask + "_mask"),
       {mask + "/masked", nothing_to_notice},
       {mask + "/weights",
        [&bench, &seen, mask](const attn::Event& weights) {
          return share_with_and_without(weights, seen.weights(mask), seen.scaled,
                                        bench.plan.sentence.lengths().front()) +
                 (bench.options.model ? what_the_mask_takes_away(weights, seen.weights(mask), seen.scaled,
                                                                 bench.plan.sentence.lengths().front())
                                      : "");
        }},
       is_trained
           ? attn::without_table(mask + "/output",
                                 [mask](const auto&) { return what_a_word_more_would_do(mask); })
           : attn::OnPage{mask + "/output", [mask](const auto&) { return what_a_word_more_would_do(mask); }},
       attn::without_table(mask == "causal" ? "padding/weights" : "",
                           [&bench, &seen](const attn::Event& weights) {
                             return share_under_padding(weights, seen.weights("padding"), seen.scaled,
                                                        bench.plan.sentence.lengths().front());
                           }),
       {"large-negative"},
       {"nothing-to-see"},
       {"broadcast"}},
      {"rows-sum-to-1", "future-weights-are-0", "padding-weights-are-0", "future-does-not-leak"});
}

void run_masking(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);
  SeenUnderMasks seen;
  page_of_masking(bench, seen);
  bench.idea(
      "A mask says which query may look at which key. Where it says no, the score becomes −∞ before softmax. "
      "As exp(−∞) = 0, a hidden key gets the weight 0." +
          std::string(bench.options.model ? " The scores are those of the lesson self-attention."
                                          : " The scores here are random."),
      "weights = softmax(scaled where mask, −∞ elsewhere)");
  bench.flow(masking_flow(bench));
  show_masking_code(bench, visible_lengths(sentence));

  bench.show_lengths(sentence);
  const auto X = bench.input<3>({.id = "X", .title = "The sentence as vectors"});
  const auto weights = draw_projection_weights(bench);
  const auto [Q, K, V] = project(bench, {"X", X}, {"X", X}, weights);
  seen.scaled = scaled_scores(bench, Q, K).second;
  seen.masks = masks_of(bench);
  const auto& [scaled, masks] = seen;
  show_pictures(bench, masks);

  auto causal = attend_under(
      bench, "causal", masks.causal, scaled, K, V,
      "Above the diagonal all is 0. The first word sees only itself and keeps its whole attention; every "
      "later row shares among one key more.");
  show_learned_mask(bench);
  fill_with_large_negative(bench, masks.causal, scaled, causal.weights);
  auto padding = attend_under(
      bench, "padding", masks.padding, scaled, K, V,
      "A hidden key is a column of zeros. All queries share among the keys that are left, before them and "
      "after them.");
  auto combined = attend_under(bench, "combined", masks.combined, scaled, K, V,
                               "Zeros where either mask says no. Every row still has a key to look at.");
  auto fully_masked = attend_to_nothing(bench, scaled);
  auto broadcast = broadcast_masks(bench, masks.causal, masks.padding, scaled);

  claim_masking(bench, {X, V, weights, masks, std::move(causal), std::move(padding), std::move(combined),
                        std::move(fully_masked), std::move(broadcast)});
  bench.try_next({{"masking --mask padding", "the same with another mask"},
                  {"masking --sentence \"the cat slept\" --sentence \"cats slept\"", "padding"},
                  {"multihead", "several attentions side by side"}},
                 {{"masking --mask combined", "both masks at once"}});
}

std::vector<Input> masking_inputs(const Options&) {
  return joined(
      {{{"X", {"token", "d_model"}, Draw::embedding}}, projection_input_list(), projection_bias_list()});
}

}  // namespace

extern const Lesson masking;
const Lesson masking = {
    .name = "masking",
    .title = "hiding the future and the padding",
    .teaches =
        "How a mask hides keys: the causal mask, the padding mask and both together, −∞ beside −10⁹, a row "
        "in which everything is hidden, and masks of two, three and four axes. The lesson changes the last "
        "token and shows that under the causal mask no earlier output changes.",
    .options = {"sentence", "d-model", "d-k", "d-v", "mask", "seed", "rng", "draws", "weight-scale",
                "embeddings", "model", "dtype"},
    .defaults = {.sentence = {"girls saw the small cat"}, .d_model = 4},
    .examples =
        {"masking --sentence \"the cat sat on the mat\" --mask combined",
         "masking --sentence \"i love cats\" --sentence \"cats sleep\" --steps combined_mask,combined/"},
    .inputs = masking_inputs,
    .trained = Trained{.task = "about", .give = give_about, .reads = Reads::english},
    .probe = Probe{{.sentence = {"a b c d e f g", "h i j k l", "m n o p"}, .d_model = 6, .d_k = 5, .d_v = 5},
                   sharpen_token,
                   {"causal/output", "padding/output", "combined/output", "fully_masked/weights",
                    "broadcast=4D/weights"}},
    .worksheet = Worksheet{{.sentence = {"the cat slept"}, .d_model = 2, .d_k = 4, .d_v = 2},
                           {"Q", "K", "V", "scores", "scaled"}},
    .run = run_masking,
};

}  // namespace lessons
