#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// What there is to say of a mistake, or of a convention: another way that is as right.
struct CataloguedMistake {
  std::string_view id;            ///< "scale-d-model"
  std::string_view family;        ///< the part of attention that it belongs to: "scale", "mask", …
  std::string_view name;          ///< what is done, in one line: "the scores are divided by √d_model"
  std::string_view teacher;       ///< what a good teacher says to whom made it, in one or two sentences
  std::string_view unchanged;     ///< which usual tests it passes, and on which dimensions it hides
  std::string_view training;      ///< why a model may train with it all the same, or does not
  std::string_view seen_in{};     ///< public reports: "cntkx #10, mlc-llm #3426"; empty where there is none
  std::string_view conversion{};  ///< of a convention: how to convert; empty of a mistake
  std::string_view same_as{};     ///< another id of the same numbers, whatever the dimensions
  std::string_view stated{};  ///< of a convention: what a probe's task sheet says of it, so that it is wrong
                              ///< there; empty where the sheet leaves it open

  bool is_convention() const { return !conversion.empty(); }
};

/// All mistakes, then all conventions.
const std::vector<CataloguedMistake>& catalogue();

/// Null where there is none of that id. The variant of a mistake, as in "scale-d-model:all-heads", and one
/// that is made in one step alone, as in "residual-normed@residual_2", count as the mistake.
const CataloguedMistake* find_mistake(std::string_view id);

/// Whether the id names another right way.
bool is_convention(std::string_view id);

/// Ids of the conventions of which a probe's task sheet states which one is asked for.
std::vector<std::string> stated_conventions();

/// "scale-d-model" for "scale-d-model:all-heads" and "scale-d-model@scaled".
std::string id_without_variant(const std::string& id);

/// Each id once, without variants, in order.
std::vector<std::string> ids_without_variants(const std::vector<std::string>& ids);

}  // namespace attn
