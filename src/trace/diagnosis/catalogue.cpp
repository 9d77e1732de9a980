#include "trace/diagnosis/catalogue.hpp"

#include <algorithm>

#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

namespace {

std::vector<CataloguedMistake> joined() {
  std::vector<CataloguedMistake> all;
  for (const auto part :
       {mistakes_of_scale, mistakes_of_scores, mistakes_of_softmax, mistakes_of_masks, mistakes_of_heads,
        mistakes_of_projections, mistakes_of_positions, mistakes_of_recurrence, mistakes_of_residual,
        mistakes_of_dropout, mistakes_of_cache, mistakes_of_efficient, mistakes_of_gradients,
        mistakes_of_batch, mistakes_that_may_be_conventions, conventions}) {
    const auto mistakes = part();
    all.insert(all.end(), mistakes.begin(), mistakes.end());
  }
  return all;
}

}  // namespace

const std::vector<CataloguedMistake>& catalogue() {
  static const auto all = joined();
  return all;
}

const CataloguedMistake* find_mistake(std::string_view id) {
  const auto name = id.substr(0, id.find_first_of(":@"));
  const auto& all = catalogue();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const CataloguedMistake& one) { return one.id == name; });
  return found == all.end() ? nullptr : &*found;
}

bool is_convention(std::string_view id) {
  const auto* mistake = find_mistake(id);
  return mistake != nullptr && mistake->is_convention();
}

std::vector<std::string> stated_conventions() {
  std::vector<std::string> ids;
  for (const auto& one : catalogue())
    if (!one.stated.empty()) ids.emplace_back(one.id);
  return ids;
}

std::string id_without_variant(const std::string& id) {
  return id.substr(0, id.find_first_of(":@"));
}

std::vector<std::string> ids_without_variants(const std::vector<std::string>& ids) {
  std::vector<std::string> short_ids;
  for (const auto& id : ids)
    if (const auto name = id_without_variant(id);
        std::find(short_ids.begin(), short_ids.end(), name) == short_ids.end())
      short_ids.push_back(name);
  return short_ids;
}

}  // namespace attn
