#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lessons/workbench/model.hpp"
#include "lessons/workbench/plan.hpp"
#include "lessons/workbench/workbench.hpp"
#include "page/picture.hpp"

namespace document {
struct Document;
}

namespace lessons {

struct LessonCode;

/// Inputs whose dimensions expose mistakes, for somebody else's implementation.
struct Probe {
  Options options;
  /// Makes one scaled score 100, which softmax in float32 survives only with its shift. The inputs have a
  /// batch axis.
  void (*sharpen)(attn::Tensors& inputs, const Options& options);
  /// Ids of the results, where these are not the last step.
  std::vector<std::string_view> results{};
};

/// A lesson on paper, in dimensions and numbers that a pencil can handle. It asks for the steps that the page
/// shows.
struct Worksheet {
  Options options;
  std::vector<std::string_view> given{};  ///< those of them that an earlier lesson taught: they stand there
};

/// A lesson as the program knows it. The table of all lessons is in table.cpp.
struct Lesson {
  std::string_view name;                      ///< the subcommand
  std::string_view title;                     ///< one line for the curriculum
  std::string_view teaches;                   ///< a paragraph for the help
  std::vector<std::string_view> options;      ///< keys of the options that it uses
  bool takes_batches = true;                  ///< whether a sentence may be repeated
  bool takes_source_alone = false;            ///< whether --target may be left out
  bool splits_heads = true;                   ///< whether d_model is divided among the heads
  std::vector<std::string_view> of_detail{};  ///< options that the page names only where they are not usual
  Options defaults;
  std::vector<std::string_view> examples;                    ///< arguments that work as pasted
  std::function<std::vector<Input>(const Options&)> inputs;  ///< in the order in which they are drawn
  std::string_view numbers = "drawn, not trained";           ///< what they are where the seed draws them
  attn::Picture picture{};
  std::optional<Trained> trained{};      ///< the model that it uses, where it has one
  std::optional<Probe> probe{};          ///< where somebody's tensors can be checked; each part has its own
  std::optional<Worksheet> worksheet{};  ///< where it can be worked by hand
  std::vector<const Lesson*> parts{};    ///< where it has --through: one for each value, of the same name
  std::string_view through{};            ///< the value of --through that such a part is for
  std::function<void(Workbench& bench)> run{};
  const document::Document* document = nullptr;  ///< that states it; null of backward, which has several
  std::shared_ptr<const LessonCode> code{};      ///< what the document leaves to C++

  bool uses(std::string_view option_key) const;

  /// "probe cosine.md" as one types it where the lesson is the document mine/cosine.md; "run cosine.md" is
  /// "mine/cosine.md". All else stays.
  std::string command(const std::string& arguments) const;
};

/// The lab's lessons, in the order in which to learn them.
const std::vector<const Lesson*>& all_lessons();

/// The lesson of that name, or where it ends in .md the one that the document in that file states. Null for a
/// name that is neither. Throws attn::Error for a document that cannot be read.
const Lesson* lesson_named(std::string_view name);

/// The part of the lesson that --through picks, or the lesson itself where it has no parts. The options of a
/// part are some of the lesson's, which the trace's config has all of; its defaults and its inputs are its
/// own. Throws attn::Error for another value.
const Lesson& part_of(const Lesson& lesson, std::string_view through);

/// Runs the lesson and sends its events to `sink`. Returns whether every claim held.
/// `watch` sees every tensor and may put others in their place. Throws attn::Error where tensors do not fit
/// in memory, with the step before.
bool run(const Lesson& lesson, const Plan& plan, attn::Sink& sink, const attn::Watch& watch = {});

/// Runs the lesson once and shows `watch` every tensor, without telling anybody. Throws what the watch
/// throws.
void run_watched(const Lesson& lesson, const Plan& plan, const attn::Watch& watch);

}  // namespace lessons
