#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/lists.hpp"
#include "attn/tensor.hpp"
#include "attn/text/tokens.hpp"
#include "attn/worked.hpp"

namespace attn {

/// One side of a comparison: `<= 1e-12`, `== 0`, `>= 1`.
struct Limit {
  enum class Comparison { at_most, equal, at_least };
  Comparison comparison = Comparison::at_most;
  double bound = 0.0;
  bool is_of_rounding = false;  ///< what is measured is rounding, which every machine does its own way

  /// Whether `value` satisfies the limit; never for NaN.
  bool holds(double value) const;
};

Limit at_most(double bound);
Limit within_rounding(double bound);
Limit exactly(double bound);
Limit at_least(double bound);

/// "<= 1e-12": the operator and the shortest form of the number.
std::string to_string(const Limit& limit);

/// What a claim says of this very run, and what was measured.
struct Measurement {
  std::string claim;
  double value = 0.0;
  Limit limit;

  bool holds() const { return limit.holds(value); }
};

enum class Kind { note, input, step, claim, mistake };

std::string_view name_of(Kind kind);

/// Where an event stands on a page of text, which is made to be understood in one sitting.
struct Place {
  std::size_t position = 0;  ///< on the page, whatever the order in which things were computed
  bool in_one_line = false;  ///< its formula and shape alone: an earlier lesson taught it
  bool is_plotted = true;    ///< where it is a curve
  bool has_table = true;     ///< else its formula and one entry worked out
};

/// One thing that happens in a lesson, as every renderer receives it. `tensor` and `worked` are valid during
/// the call only.
struct Event {
  Kind kind = Kind::note;
  std::string id{}, title{}, formula{};
  std::string mathml{};  ///< the formula's, where it is known as a formula
  std::string note{};
  std::vector<std::string> inputs{};         ///< ids of the tensors that a step was computed from
  std::optional<TensorView> tensor{};        ///< of an input or step
  std::vector<std::string> axes{};           ///< names of the tensor's axes
  std::vector<AxisLabels> labels{};          ///< as many as axes
  bool distribution = false;                 ///< rows along the last axis are shares of attention
  bool curve = false;                        ///< values along the last axis are points of a line
  bool linear = false;                       ///< of a curve: linear scales, and positive values from 0 on
  std::optional<Measurement> measurement{};  ///< of a claim
  WorkedOut worked{};                        ///< how each entry of a step comes about, where that is known
  std::optional<Index> worked_at{};          ///< the entry to show that of, where the lesson chose one
  std::optional<Place> place{};              ///< on the page; none of what is detail
  std::string notice{};                      ///< what to notice in the numbers of this run
  bool has_notice = false;                   ///< which may be empty, and stands in the place of the note
  std::optional<std::string> marks{};        ///< of the note on the picture: what it points at, a line each
  bool after_overflow = false;  ///< a number of this tensor, or of one before, was too large for its dtype

  /// Whether the lesson is about it, so that the page tells it and works an entry out.
  bool is_on_page() const { return place && !place->in_one_line; }

  /// Whether the page shows its numbers, too.
  bool is_core() const { return is_on_page() && place->has_table; }
};

/// "W_Q" of "attention/W_Q": an id without its groups.
inline std::string_view last_of_path(std::string_view id) {
  return id.substr(id.rfind('/') + 1);  // npos + 1 is 0
}

/// What has that id; null where nothing has.
template <class List>
auto* find_by_id(List& list, std::string_view id) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.id == id; });
  return found == list.end() ? nullptr : &*found;
}

/// The ids of a list, in its order.
template <class List>
std::vector<std::string> ids_in(const List& list) {
  std::vector<std::string> ids;
  for (const auto& one : list) ids.push_back(one.id);
  return ids;
}

/// The value of one option as it was in effect: unset, flag, number, text or list.
using ConfigValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                 std::vector<std::string>, std::vector<std::vector<std::string>>>;

/// The member of the config that says so where the numbers of a run were drawn at random.
inline constexpr std::string_view origin_of_numbers = "numbers";

/// Options by name.
using Config = std::vector<std::pair<std::string, ConfigValue>>;

/// What stands before the events of a trace.
struct Header {
  std::string lesson, title;
  Config config;
  std::set<std::string> usual{};  ///< options that have their default value, which a page need not state

  /// The member of the config that has such a value; null where there is none.
  template <class Value>
  const Value* find(std::string_view name) const {
    for (const auto& [member, value] : config)
      if (const auto* its = std::get_if<Value>(&value); its != nullptr && member == name) return its;
    return nullptr;
  }

  /// A member that is a text; empty where there is none.
  std::string text(std::string_view name) const {
    const auto* const text = find<std::string>(name);
    return text == nullptr ? "" : *text;
  }
};

/// Receives the events of a lesson in order: a renderer, a recorder, a comparison.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void receive(const Event& event) = 0;
};

/// Calls a function with each event.
class EachEvent : public Sink {
 public:
  explicit EachEvent(std::function<void(const Event&)> call) : call_(std::move(call)) {}
  void receive(const Event& event) override { call_(event); }

 private:
  std::function<void(const Event&)> call_;
};

}  // namespace attn
