#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lessons/lesson.hpp"
#include "trace/diagnosis/replay.hpp"

namespace lessons {

/// The lesson with the dimensions of its probe for defaults. Throws attn::Error for a lesson without one.
std::shared_ptr<const Lesson> lesson_of_probe(const Lesson& lesson);

/// The plan of a probe, whose inputs are given: the rows of padding, too, are not 0. Where the lesson has
/// parts, what the options leave open is as the probe of the part that they pick has it. Throws attn::Error
/// where that part has none.
Plan plan_of_probe(const Lesson& lesson, Options options);

/// The same on somebody's inputs, whose numbers stay what they are.
Plan plan_of_probe(const Lesson& lesson, Options options, const attn::StoredTrace& inputs);

/// The inputs of a run, by id.
attn::Tensors inputs_of(const Plan& plan);

/// The steps of a program that makes these mistakes, where each is that of the lesson but for them. A step
/// that has another shape leaves the later ones as they are.
std::vector<attn::Prediction> steps_with(const attn::Hypothesis& mistakes, const Plan& plan);

/// The steps of a program that has `other`, of the same shape, in the place of a floating-point input.
std::vector<attn::Prediction> steps_with_input(const std::string& id, const attn::AnyTensor& other,
                                               const Plan& plan);

/// Ids, with variants, of the mistakes that a program could make on these inputs: not of those that take
/// somebody's tensor.
std::vector<std::string> mistakes_of(const Plan& plan);

/// Ids of the results that a probe asks for: those of its own that the run has, or the last of its steps.
std::vector<std::string> results_of(const Plan& plan, const std::vector<attn::Prediction>& steps);

/// What makes shares of scores on a worksheet: softmax, or the division by the sum of a row, for those
/// without a calculator.
enum class Normaliser { softmax, sum };

/// The lesson with the dimensions of its worksheet for defaults, and without the options that leave no small
/// whole numbers. Throws attn::Error for a lesson that has no worksheet.
std::shared_ptr<const Lesson> lesson_of_worksheet(const Lesson& lesson);

/// The plan of a worksheet. What no option gives is drawn as the lesson draws it, and rounded to a whole
/// number: to −2 … 2 and weights to −1 … 1, without their signs where sums are divided by. It is drawn again,
/// a number of times, where two rows of an output are the same. Throws what make_plan does.
Plan plan_of_worksheet(const Lesson& lesson, const Options& options, Normaliser normaliser);

/// A worksheet's lesson with its normaliser: where that is the sum, it stands in the place of each softmax on
/// the page, and the steps speak of it.
class WorksheetRun {
 public:
  WorksheetRun(const Plan& plan, Normaliser normaliser);

  /// Sends the events to the sink.
  void tell(attn::Sink& sink) const;

  /// Shows `watch` every tensor, as run_watched does.
  void watched(const attn::Watch& watch) const;

 private:
  const Plan& plan_;
  std::map<std::string, std::string> scores_of_;  ///< by the id of the weights; none where softmax stays
};

}  // namespace lessons
