#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/event.hpp"

namespace attn {

/// Whether an id is among the wanted ones or belongs to one of the wanted groups, such as "encoder/"; every
/// id where nothing in particular is wanted.
bool is_selected(std::string_view id, const std::vector<std::string>& wanted);

/// The ids that end in "/" and this last part; all where none does.
std::vector<std::string> ids_like(std::string_view last_part, const std::vector<std::string>& ids);

/// Throws Error: --steps names an id or a group that is none of `ids`.
[[noreturn]] void refuse_selection(const std::string& selection, const std::vector<std::string>& ids);

/// Passes on part of a trace: only the wanted tensors, or tensors without their numbers, or both.
class Filter : public Sink {
 public:
  /// What passes although nobody wants it.
  enum class Always { nothing, all_but_steps };

  /// `wanted` are ids of inputs and steps, or groups such as "encoder/". With any, notes and claims are left
  /// out as well; with none every tensor passes. `shapes_only` leaves out notes, claims and the numbers.
  Filter(Sink& next, std::vector<std::string> wanted, bool shapes_only, Always always = Always::nothing);

  void receive(const Event& event) override;

  /// Throws Error for the first wanted id or group that no input or step had.
  void require_all_seen() const;

 private:
  Sink& next_;
  std::vector<std::string> wanted_;
  bool shapes_only_;
  Always always_;
  std::vector<std::string> seen_;  ///< ids of all inputs and steps so far
};

}  // namespace attn
