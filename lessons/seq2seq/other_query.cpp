#include <algorithm>
#include <tuple>
#include <utility>

#include "lessons/lesson.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/workbench/model.hpp"

namespace lessons {

namespace {

/// The step `decoder/weights` of a run of the lesson, of one sentence.
Tensor<2> weights_of_run(const Plan& plan) {
  struct Found {
    Tensor<2> weights;
  };
  try {
    run_watched(*plan.lesson, plan, [](const attn::Tapped& tapped) {
      const auto& [shape, row] = std::tie(tapped.shape, tapped.row);
      if (tapped.id != "decoder/weights" || (row && row->index + 1 < shape.at(row->axis))) return;
      Tensor<2> weights({shape.at(1), shape.at(2)});
      std::copy_n(static_cast<const double*>(tapped.elements), weights.size(), weights.begin());
      throw Found{std::move(weights)};
    });
  } catch (const Found& found) {  // what comes later would ask another model in its turn
    return found.weights;
  }
  return {};
}

}  // namespace

std::string query_in_words(const std::string& attention) {
  if (attention == "bahdanau") return "old h";
  return attention == "bahdanau-input" ? "old h, y" : "new h";
}

OtherQuery ask_otherwise(const Workbench& bench, const std::string& target) {
  Options options;
  options.source = bench.options.source;
  options.target = {target};
  options.model = bench.options.attention == "bahdanau" ? "translation" : "translation-bahdanau";
  const auto plan = make_plan(*bench.plan.lesson, options);
  return {*plan.options.model, plan.options.attention, weights_of_run(plan)};
}

}  // namespace lessons
