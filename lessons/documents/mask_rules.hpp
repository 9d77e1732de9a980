#pragma once

#include <map>
#include <string>

#include "formula/sheet.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Tensors by their names.
using Views = std::map<std::string, formula::View>;

formula::View number_alone(double number);

/// What a mask is made of: the rule on positions, and the padding of the keys.
class MaskRules {
 public:
  MaskRules(const Workbench& bench, const formula::View& mask, const formula::Sheet& sheet);

  /// Adds `hides_future`, `hides_padding`, `reach`, `offset`, `real` and `allowed` (step_mistakes.hpp).
  void add_to(Views& known) const;

 private:
  double behind(std::size_t i, std::size_t j) const;
  void find_rule(const formula::View& mask);

  /// A key that no query sees, and none could by the rule on positions, is padding if the sentence has ended.
  void add_keys_out_of_reach(const attn::TokenBatch& keys);

  std::string query_, key_;  ///< the axes as the run calls them
  std::size_t queries_, keys_, samples_;
  double offset_, window_;
  bool hides_future_ = true;
  formula::Truths real_, allowed_;
};

}  // namespace lessons
