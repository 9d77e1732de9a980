#include "lessons/masking/fills.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/unguarded_softmax.hpp"
#include "attn/text/width.hpp"
#include "lessons/masking/mistakes.hpp"
#include "lessons/workbench/columns.hpp"

namespace lessons {

namespace {

constexpr double large_negative = -1e9;

/// The score where it may be seen, and `fill` elsewhere.
attn::WorkedOut worked_filled(attn::Known<3> scores, const Mask<3>& mask, double fill) {
  return [=, seen = attn::worked_mask(scores, mask), &mask](const attn::Index& at) {
    return mask(at[0], at[1], at[2]) ? seen(at) : attn::Worked(fill);
  };
}

std::string about_large_negative(bool is_same) {
  if (is_same)
    return "Much code writes −10⁹ in place of −∞. exp(−10⁹) is rounded to exactly 0, so all weights here are "
           "the same. The next part shows where they differ.";
  return "Much code writes −10⁹ in place of −∞. The computer rounds exp(−10⁹) to exactly 0, so all weights "
         "here are the same. The next part shows where they differ.";
  return "Much code writes −10⁹ in place of −∞. The scores of this run are so large that −10⁹ is not far "
         "below all of them, and a hidden key can get a weight. −∞ is below every score.";
}

/// As if the first token were padding: 1 ≤ j ≤ i, so that row 0 is left with nothing.
Mask<2> causal_mask_without_first_key(std::size_t n) {
  auto mask = attn::causal_mask(n, n);
  for (std::size_t i = 0; i < n; ++i) mask(i, 0) = false;
  return mask;
}

std::string about_equal_shares(std::size_t n) {
  return n == 1 ? "the one key that must not be seen" : "equal shares of what must not be seen";
}

}  // namespace

void fill_with_large_negative(Workbench& bench, const Mask<3>& causal_mask, const Tensor<3>& scaled,
                              const Tensor<3>& weights) {
  auto& trace = bench.trace;
  const auto masked_1e9 =
      trace.step({.id = "causal/masked_1e9",
                  .title = "−10⁹ in place of −∞",
                  .formula = "scaled where causal_mask, −10⁹ elsewhere",
                  .from = {"scaled", "causal_mask"},
                  .axes = {"query", "key"},
                  .note = "Much code avoids infinities and writes a large negative number.",
                  .worked = worked_filled({"scaled", scaled}, causal_mask, large_negative)},
                 attn::apply_mask(scaled, causal_mask, large_negative));
  const auto weights_1e9 = bench.mute().trace.step({}, attn::softmax(masked_1e9));
  const bool is_same = attn::max_abs_difference(weights_1e9, weights) == 0.0;
  trace.step({.id = "causal/weights_1e9",
              .title = is_same ? "−10⁹ gives the same weights as −∞" : "−10⁹ gives other weights than −∞",
              .formula = "softmax(causal/masked_1e9)",
              .from = {"causal/masked_1e9"},
              .axes = {"query", "key"},
              .note = about_large_negative(is_same),
              .distribution = true,
              .worked = attn::worked_softmax(attn::Known<3>{"causal/masked_1e9", masked_1e9})},
             weights_1e9);
  trace.note("large-negative", "In practice: −10⁹ in place of −∞", about_large_negative(is_same));
}

FullyMasked attend_to_nothing(Workbench& bench, const Tensor<3>& scaled) {
  const auto batch = scaled.shape(0), n = scaled.shape(1);
  auto& trace = bench.trace;
  trace.note(
      "fully-masked", "A row with nothing to see",
      "What if a query may see no key at all? It happens: pad the sentences of a batch at the front, attend "
      "causally, and the first query could only see itself, which is padding. Nothing is left to share, and "
      "the formula has no answer. Three are in use.");
  const auto no_key_in_row_0 = attn::repeat_mask(causal_mask_without_first_key(n), batch);
  const auto mask =
      trace.step({.id = "fully_masked/mask",
                  .title = "The causal mask, with the first token as padding",
                  .formula = "1 ≤ j ≤ i",
                  .axes = {"query", "key"},
                  .note = "The first row is empty.",
                  .worked =
                      [](const attn::Index& at) {
                        return attn::Worked::product(
                            {attn::Worked::at_most(1.0, static_cast<double>(at[2])),
                             attn::Worked::at_most(static_cast<double>(at[2]), static_cast<double>(at[1]))});
                      }},
                 no_key_in_row_0, {{"mask-true-hidden", [&] { return negated(no_key_in_row_0); }}});
  const attn::Known<3> known = {"scaled", scaled};
  const auto show = [&](attn::About about, auto weights_under) {
    about.from = {"scaled", "fully_masked/mask"};
    about.axes = {"query", "key"};
    about.distribution = true;
    return trace.step(about, weights_under(mask),
                      {{"mask-true-hidden", [&] { return weights_under(negated(mask)); }}});
  };
  const auto weights =
      show({.id = "fully_masked/weights",
            .title = "Nothing to see, −∞ guarded: zeros",
            .formula = "softmax(scaled where mask, −∞ elsewhere)",
            .note = "Nothing to look at, so no attention. The output of the row is 0 and no gradient flows "
                    "through it. This is what the lab does everywhere.",
            .worked = attn::worked_softmax(attn::worked_mask(known, mask), n)},
           [&](const Mask<3>& seen) { return attn::softmax(attn::apply_mask(scaled, seen)); });
  const auto weights_1e9 = show(
      {.id = "fully_masked/weights_1e9",
       .title = "Nothing to see, −10⁹: equal shares",
       .formula = "softmax(scaled where mask, −10⁹ elsewhere)",
       .note =
           "Now −10⁹ and −∞ differ. All scores of the row are the same −10⁹, so all keys get the same share: "
           "the query reads the average of exactly what it must not see, the future included, and nothing "
           "looks wrong.",
       .worked = attn::worked_softmax(worked_filled(known, mask, large_negative), n)},
      [&](const Mask<3>& seen) { return attn::softmax(attn::apply_mask(scaled, seen, large_negative)); });
  const auto weights_nan = show(
      {.id = "fully_masked/weights_nan",
       .title = "Nothing to see, −∞ unguarded: not a number",
       .formula = "exp(x − max x) / Σ exp(x − max x)\nx = scaled where mask, −∞ elsewhere",
       .note =
           "The largest score of the row is −∞, and −∞ − (−∞) is NaN. It spreads: every sum and product with "
           "it is NaN, even 0 · NaN, so the next layer loses every token that looks at this one, and "
           "training loses every weight.",
       .worked =
           [&](const attn::Index& at) {
             if (at[1] == 0) return attn::Worked(std::numeric_limits<double>::quiet_NaN());
             return attn::worked_softmax(attn::worked_mask(known, mask), n)(at);
           }},
      [&](const Mask<3>& seen) { return attn::unguarded_softmax(attn::apply_mask(scaled, seen)); });
  const auto left = [](const std::string& text) { return attn::pad_right(text, 44); };
  trace.note(
      "nothing-to-see", "In practice: a row with nothing to see",
      "Pad a sentence at the front and use a causal mask. The first query, itself padding, sees only "
      "padding, and that is hidden. Its weights then are:",
      in_columns(
          {{"−∞, checked", fmt::format("{:.4f}", double{weights(0, 0, 0)}),
            left("such rows are set to 0: what this lab does")},
           {"−10⁹", fmt::format("{:.4f}", double{weights_1e9(0, 0, 0)}), left(about_equal_shares(n))},
           {"−∞, not checked",
            std::isnan(weights_nan(0, 0, 0)) ? "nan" : fmt::format("{:.4f}", double{weights_nan(0, 0, 0)}),
            left("(−∞) − (−∞) in softmax, as in the code above")}}));
  return {mask, weights};
}

}  // namespace lessons
