#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/diff/element_diff.hpp"
#include "trace/diff/option_diff.hpp"
#include "trace/diff/tolerance.hpp"
#include "trace/diff/words_diff.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// What counts as equal, and what is compared.
struct DiffSettings {
  std::optional<double> absolute{};  ///< in place of the default tolerance's
  std::optional<double> relative{};
  std::vector<std::string> only{};  ///< ids and groups ("encoder/"); everything where there are none
  bool a_is_expected = false;       ///< B is a run: only decisive options that A has are compared
};

/// `otherwise` with what the settings say in place of it.
Tolerance tolerance_of(const DiffSettings& settings, const Tolerance& otherwise);

enum class Verdict { equal, within_tolerance, different };

/// An entry of an axis that the two traces name differently.
struct LabelDiff {
  std::string axis;
  std::size_t position = 0;
  std::string a;
  std::string b;
};

/// How a tensor differs from the one of the same id. The pointers live as long as the traces.
struct TensorDiff {
  std::string id;
  const StoredTensor* a = nullptr;  ///< null where the id is in B only
  const StoredTensor* b = nullptr;
  Tolerance tolerance{};
  std::optional<ElementDiff> elements{};  ///< where the shapes are the same
  std::vector<LabelDiff> labels{};        ///< the first of each axis

  bool is_in_both() const { return a != nullptr && b != nullptr; }

  /// Whether the lengths of the axes are the same, and their names where both have names.
  bool has_same_shape() const;

  /// Whether both are floating point, both whole numbers or both booleans. How wide does not count.
  bool has_same_kind_of_elements() const;

  Verdict verdict() const;
};

/// How two traces differ.
struct TraceDiff {
  std::string lesson_a{};  ///< empty where the file is no trace of ours
  std::string lesson_b{};
  std::vector<OptionDiff> options{};
  std::vector<TensorDiff> tensors{};  ///< in A's order, then those that are in B only
  std::vector<WordsDiff> words{};     ///< where both traces have words
  bool claims_of_b_hold = true;       ///< where B is a run

  bool has_same_lesson() const;

  /// The worst of all. Claims that do not hold are a difference.
  Verdict verdict() const;

  /// The first tensor that differs; null where none does.
  const TensorDiff* first() const;
};

/// Compares the inputs and steps of two traces, aligned by id, holding one tensor of each at a time, and
/// their words where both have some and everything is compared. Throws Error where a tensor cannot be read.
TraceDiff compare_traces(const StoredTrace& a, const StoredTrace& b, const DiffSettings& settings = {});

}  // namespace attn
