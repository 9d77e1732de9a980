#pragma once

#include <map>
#include <memory>
#include <string>

#include "lessons/lesson.hpp"

namespace lessons {

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
