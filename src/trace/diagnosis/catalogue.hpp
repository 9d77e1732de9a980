#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/lists.hpp"
#include "document/document.hpp"

namespace attn {

/// What there is to say of a mistake, or of a convention: another way that is as right. What a mistake's text
/// in data/mistakes/ does not say is empty.
struct CataloguedMistake {
  std::string id{};          ///< "scale-d-model"
  std::string family{};      ///< the part of attention that it belongs to: "scale", "mask", …
  std::string name{};        ///< what is done, in one line: "the scores are divided by √d_model"
  std::string teacher{};     ///< what a good teacher says to whom made it, in one or two sentences
  std::string unchanged{};   ///< which usual tests it passes, and on which dimensions it hides
  std::string training{};    ///< why a model may train with it all the same, or does not
  std::string seen_in{};     ///< public reports: "cntkx #10, mlc-llm #3426"; empty where there is none
  std::string conversion{};  ///< of a convention: how to convert; empty of a mistake
  std::string same_as{};     ///< another id of the same numbers, whatever the dimensions
  std::string stated{};      ///< of a convention: what a probe's task sheet says of it, so that it is wrong
                             ///< there; empty where the sheet leaves it open

  bool is_convention() const { return !conversion.empty(); }
};

/// What a step is with a mistake in it: `scaled = scores / d_k`. The step's own name stands for what the
/// lesson computes; `theirs` for somebody's tensor.
struct MistakeFormula {
  std::string id;    ///< of the mistake, with its variant: "mask-fill-zero:multiplied"
  std::string step;  ///< as documents name it
  formula::Definition
      definition;  ///< of the step; its axes, where there are any, are not those of the lesson
  std::optional<formula::Definition>
      operand{};  ///< another formula for one of the step's operands: `mask = not mask`
  std::optional<formula::Definition> constant{};  ///< that is solved for by somebody's tensor: one for each
                                                  ///< place along its axes and those before them
  std::vector<formula::Expr> conditions{};        ///< that have to hold somewhere
  bool is_whole = false;                          ///< the constant
  std::vector<std::string> names{};               ///< that a run needs: tensors, axes, numbers
  bool needs_theirs = false;
};

/// All mistakes and conventions, read once from the files in `mistakes` of the lab's data; a file of the same
/// name in the folder that comes first hides the other. Throws document::Error for what cannot be read.
const std::vector<CataloguedMistake>& catalogue();

/// What has a formula among them, by the step, in the order in which they stand in the files. Throws the
/// same.
const std::map<std::string, std::vector<MistakeFormula>>& formulas_of_mistakes();

/// Null where there is none of that id. The variant of a mistake, as in "mask-fill-zero:multiplied", counts
/// as the mistake.
const CataloguedMistake* find_mistake(std::string_view id);

/// Whether the id names another right way.
bool is_convention(std::string_view id);

/// Ids of the conventions of which a probe's task sheet states which one is asked for.
std::vector<std::string> stated_conventions();

/// "mask-fill-zero" for "mask-fill-zero:multiplied".
std::string id_without_variant(const std::string& id);

/// Each id once, without variants, in order.
std::vector<std::string> ids_without_variants(const std::vector<std::string>& ids);

/// Ids, with variants, of mistakes that may give different numbers: without those that are `same_as` another.
std::vector<std::string> different_mistakes(const std::vector<std::string>& ids);

/// Those mistakes without variants, in a list with those that are `same_as` them.
std::vector<std::vector<std::string>> mistakes_of_same_numbers(const std::vector<std::string>& ids);

/// "a, b and c", with "and" the conjunction.
std::string listed(const std::vector<std::string>& words, std::string_view conjunction);

/// Remarks that each begin with the tensor they are about; where more than three say the same, they are one:
/// "Each of 5 tensors (a, b, c, …) is transposed.", "Each of 4 tensors (q for Q, …) is taken for that of the
/// lesson.", which names all.
std::vector<std::string> in_few_lines(const std::vector<std::string>& remarks);

}  // namespace attn
