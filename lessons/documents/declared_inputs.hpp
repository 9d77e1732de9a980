#pragma once

#include <map>
#include <optional>
#include <string>

#include "lessons/documents/meanings.hpp"

namespace lessons {

/// The inputs that a document declares, as events and as tensors that formulas may speak of.
class DeclaredInputs {
 public:
  explicit DeclaredInputs(Meanings& meanings) : meanings_(meanings) {}

  /// Shows an input: what is given or drawn, or what follows from the run. `about` has its id and words. A
  /// dropout mask is one of the step `weights` of this scope. Throws attn::Error.
  void tell(const document::Block& block, const attn::About& about, const Scope& scope);

  /// Shows numbers [i] or [i×j] that C++ made, whole ones as such, or what is given in their place.
  void tell_made(attn::About about, const formula::View& numbers);

  /// A mask [batch×query×key], which the caller keeps alive, and whether there is one, in the group `prefix`.
  /// An axis of length 1 is repeated.
  void set_mask(const std::optional<Mask<3>>& mask, const std::string& prefix = "");

  /// The mask that was shown.
  const std::optional<Mask<3>>& mask() const { return masks_.at(""); }

  /// A tensor of these axes whose elements are nothing yet.
  formula::View foreseen(const formula::Axes& axes) const;

  /// The same of the input that is declared so, or that the lesson has under that name: as a tensor that
  /// formulas may speak of.
  void foresee(const formula::Definition& declaration);

  /// The lengths of the sentences, of which formulas may speak without more.
  void tell_lengths(attn::About about);
  bool has_told_lengths() const { return has_told_lengths_; }

 private:
  void tell_option(attn::About about, const formula::Axes& axes, std::string_view key);
  void tell_mask(const attn::About& about, bool of_padding_alone);
  void tell_computed(attn::About about, const formula::Definition& definition);

  /// A mask that a condition says: one that is given in its place must be equal.
  void tell_settled_mask(attn::About about, const formula::View& view);
  void tell_rows(attn::About about, const std::string& table);
  std::size_t length_along(const document::Block& block, const std::string& id, const std::string& axis,
                           const Extent& extent) const;
  void tell_shaped(const document::Block& block, const attn::About& about, const formula::Axes& axes,
                   const std::vector<std::size_t>& shape);
  void tell_dropout_mask(attn::About about, const formula::View& weights);
  template <std::size_t N>
  void keep(const std::string& id, const formula::Axes& axes, Tensor<N> tensor);
  template <std::size_t N>
  void tell_made(const attn::About& about, const formula::View& numbers);
  template <std::size_t N>
  void tell_dropout_mask(const attn::About& about, const formula::View& weights);

  Meanings& meanings_;
  std::map<std::string, std::optional<Mask<3>>> masks_{{"", {}}};  ///< by their groups
  bool has_told_lengths_ = false;
};

}  // namespace lessons
