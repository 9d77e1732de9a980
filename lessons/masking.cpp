/// Masks: who may look at whom, and how a key is hidden. The lesson is the document masking.md. Sources:
/// Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3 (the decoder's mask, with −∞); its
/// published code writes −10⁹ instead.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "attn/text/width.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/masking/learned.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/self_attention.hpp"
#include "lessons/self_attention/mistakes.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

/// [batch×query×key], true = may be seen.
struct Masks {
  Mask<3> causal, padding, combined;
};

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

/// The classic mistakes in the projections, for somebody who watches.
class ProjectionMistakes {
 public:
  explicit ProjectionMistakes(Functions& functions) {
    functions.mistakes["Q"] = [this](DocumentRun& run, const std::string&) {
      X_.tensor = run.copy_of<double, 3>("X");
      const auto bias = [&](const char* name) {
        return run.sheet().find(name) == nullptr ? std::nullopt : std::optional(run.copy_of<double, 1>(name));
      };
      weights_.emplace(ProjectionWeights{run.copy_of<double, 2>("W_Q"), run.copy_of<double, 2>("W_K"),
                                         run.copy_of<double, 2>("W_V"), bias("b_Q"), bias("b_K"),
                                         bias("b_V")});
      maps_.clear();
      for (const auto& map : {weights_->Q(), weights_->K(), weights_->V()}) maps_.push_back(map);
      return mistakes_of_queries(X_.tensor, maps_, divisor_of(run.bench().d_k(), 1.0));
    };
    functions.mistakes["K"] = [this](DocumentRun& run, const std::string&) {
      return mistakes_of_keys(X_, X_, maps_, divisor_of(run.bench().d_k(), 1.0));
    };
    functions.mistakes["V"] = [this](DocumentRun&, const std::string&) {
      return mistakes_of_keys_or_values(X_, X_, maps_, 2);
    };
  }
  ProjectionMistakes(ProjectionMistakes&&) = delete;

 private:
  Named X_{"X", {}};
  std::optional<ProjectionWeights> weights_;
  std::vector<LinearMap> maps_;
};

/// Labels, lengths, and which mask the page goes into.
void begin_masking(DocumentRun& run) {
  auto& bench = run.bench();
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);
  for (const auto* axis : {"token", "query", "key"}) run.axis(axis, sentence.length());
  run.axis("batch", sentence.size());
  run.axis("head", 2);
  const auto lengths = sentence.lengths();
  auto counts = Integers<1>::from_shape({lengths.size()});
  std::copy(lengths.begin(), lengths.end(), counts.begin());
  run.keep_whole("lengths", {"batch"}, counts);
  run.set("has_mask", 1.0);
  run.set("masks_are_steps", 1.0);
  run.set("padded", sentence.is_padded());
  run.set("pretended", sentence.length() > 1);
  run.set("words", static_cast<double>(lengths.front()));
  for (const std::string mask : {"causal", "padding", "combined"})
    run.set(mask + "_page", mask == bench.options.mask);
  run.turn_page_to(bench.options.mask + "/");
}

std::string pictures(const DocumentRun& run) {
  const auto mask = [&](const char* name) { return run.copy_of<bool, 3>(name); };
  return picture_of({mask("causal_mask"), mask("padding_mask"), mask("combined_mask")},
                    run.bench().plan.sentence);
}

void run_masking(Workbench& bench) {
  Functions functions;
  const ProjectionMistakes mistakes(functions);
  functions.begin = begin_masking;
  functions.actions["lengths"] = [](DocumentRun& run) {
    run.bench().show_lengths(run.bench().plan.sentence);
  };
  functions.actions["page_mask"] = [](DocumentRun& run) {
    const auto& mask = run.bench().options.mask;
    run.alias("page/mask", mask + "_mask");
    run.alias("page/weights", mask + "/weights");
  };
  functions.actions["learned"] = [](DocumentRun& run) { show_learned_mask(run.bench()); };
  functions.actions["dropout_mask"] = functions.actions["dropout-at-inference"] = [](DocumentRun&) {};
  functions.texts["pictures"] = pictures;
  DocumentRun(bench, functions).tell(document_named("masking.md"));
}

std::vector<Input> masking_inputs(const Options&) {
  return joined(
      {{{"X", {"token", "d_model"}, Draw::embedding}}, projection_input_list(), projection_bias_list()});
}

}  // namespace

const Lesson& masking_lesson() {
  static const auto lesson =
      lesson_of("masking",
                {.inputs = masking_inputs, .give = give_about, .sharpen = sharpen_token, .run = run_masking});
  return lesson;
}

}  // namespace lessons
