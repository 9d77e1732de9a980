#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The encoding that the page of text goes into: that of `--encoding`, of `all` the first.
std::string encoding_on_page(const Options& options);

/// What every encoding of the lesson positional starts from.
struct PositionalInputs {
  Tensor<3> X;                  ///< [batch×n×d_model]
  std::optional<Mask<3>> mask;  ///< of the padding
  Tensor<3> scores;             ///< X Xᵀ / √d, without positions
};

/// An encoding that was shown, as the comparison and the claims see it.
struct Encoding {
  std::string name;    ///< which is also its group of ids
  std::string change;  ///< what it changes, in words
  double parameters = 0.0;

  /// Scores [batch×head×n×n] of the sentence, as they were shown.
  Tensor<4> scores;

  /// The same steps without being shown, for other tokens: for any sentence, or for any that the encoding has
  /// a position for.
  std::function<Tensor<4>(const Tensor<3>& X)> scores_of;

  bool is_relative = false;  ///< whether scores depend on the distance alone
  double room = 1.0;         ///< how much more than other scores they may be off by rounding

  /// How much some score changes at least when three words or more change their order, as far as the inputs
  /// leave no doubt about it.
  double certain_change = 0.0;

  std::function<void()> claim_property;  ///< emits what holds for this encoding alone
};

/// X Xᵀ / √d.
Tensor<3> scores_of_tokens(const Tensor<3>& X);
attn::WorkedOut worked_scores_of_tokens(attn::Known<3> X);

/// The words whose score the page works out: the second and the last of the first sentence.
attn::Index pair_to_follow(const Workbench& bench);

/// The step `scores`, the same of the tokens as they are: [batch×query×key].
Tensor<3> scores_without_positions(Workbench& bench, const Tensor<3>& X);

/// Scores [batch×n×n] as those of a single head.
Tensor<4> of_one_head(const Tensor<3>& scores);

/// "X Xᵀ / √8 = X Xᵀ / 2.828" for the product X Xᵀ.
std::string scaling_formula(const std::string& product, std::size_t d);

/// How much some score changes for certain where the rows of a table tell positions or distances apart: a
/// hundredth part of its largest number, or nothing where two of the rows are the same.
double certain_change_of(const Tensor<2>& table);

/// How much more than other numbers the sines of angles may be off where n words stand twice in a row: the
/// larger an angle, the coarser it is rounded, in the end by more than the angle of one word. At least 1.
double room_for_angles(const attn::Trace& trace, std::size_t n);

/// The step `weights`, the softmax of `scores` under the mask, in the current group. Ranks 3 and 4.
template <std::size_t N>
Tensor<N> show_weights(Workbench& bench, const Tensor<N>& scores, const std::optional<Mask<3>>& mask,
                       const std::string& note);

/// The note `code` of the current group: `lines`, which compute `GROUP_scores` from X and the scores
/// `without_scores` without positions, then `GROUP_weights`, and `after`.
void show_code(Workbench& bench, const std::string& name, const std::optional<Mask<3>>& mask,
               std::vector<std::string> lines, const std::vector<std::string>& after = {});

/// "without_weights = softmax(without_scores)" for the group `without`, with the mask where there is one.
std::string weights_code(const std::string& group, const std::optional<Mask<3>>& mask);

/// The encodings. Each shows itself from its idea to its weights, in a group of its own.

Encoding show_sinusoidal(Workbench& bench, const PositionalInputs& in);
Encoding show_learned(Workbench& bench, const PositionalInputs& in);
Encoding show_relative(Workbench& bench, const PositionalInputs& in);
Encoding show_t5(Workbench& bench, const PositionalInputs& in);
Encoding show_alibi(Workbench& bench, const PositionalInputs& in);
Encoding show_rope(Workbench& bench, const PositionalInputs& in);

/// The notes `trained` and `trained-attention`: what the shipped models of the task reverse learned with a
/// table of positions and without, where their weights are installed.
void show_trained_positions(Workbench& bench);

}  // namespace lessons
