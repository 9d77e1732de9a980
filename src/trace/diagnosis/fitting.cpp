#include "trace/diagnosis/fitting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/diagnosis/arithmetic.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/decimals.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/masks.hpp"

namespace attn {

namespace {

using Ids = std::vector<std::string>;

/// Brings the tensors of a dump to their shapes.
class Fitting {
 public:
  Fitting(Dump& dump, const std::vector<ExpectedTensor>& expected, MaskTrue mask_true)
      : dump_(dump),
        expected_(expected),
        mask_true_(meaning_of_true(dump, mask_true)),
        own_mask_true_(mask_true == MaskTrue::by_name ? MaskTrue::seen : mask_true) {}

  void take(const NamedTensor& tensor, const ExpectedTensor& tensor_expected, const std::string& sentence) {
    dump_.assume(sentence);
    dump_.as_named.insert_or_assign(tensor_expected.id, tensor);
    replace(dump_.tensors.insert_or_assign(tensor_expected.id, tensor.tensor).first->second, tensor_expected);
  }

  void fit_all() {
    for (auto& [id, tensor] : dump_.tensors)
      if (const auto* const tensor_expected = find(id)) replace(tensor, *tensor_expected);
    for (const auto& tensor_expected : expected_) combine_masks(tensor_expected);
    decide();
    set_arithmetic();
  }

 private:
  static MaskTrue meaning_of_true(const Dump& dump, MaskTrue asked) {
    if (asked != MaskTrue::by_name) return asked;
    const auto is_of_torch = [&](const NamedTensor& tensor) {
      return is_named_as_in_torch(tensor.name, dump.has_module_of_torch);
    };
    const bool has_one = std::any_of(dump.undecided.begin(), dump.undecided.end(), is_of_torch) ||
                         std::any_of(dump.as_named.begin(), dump.as_named.end(),
                                     [&](const auto& named) { return is_of_torch(named.second); });
    return has_one ? MaskTrue::hidden : MaskTrue::seen;
  }

  const ExpectedTensor* find(const std::string& id) const {
    const auto found = std::find_if(expected_.begin(), expected_.end(),
                                    [&](const auto& tensor_expected) { return tensor_expected.id == id; });
    return found == expected_.end() ? nullptr : &*found;
  }

  void replace(AnyTensor& tensor, const ExpectedTensor& tensor_expected) {
    const auto source = dump_.as_named.find(tensor_expected.id);
    const bool is_known = source != dump_.as_named.end();
    auto fitted = fit_one(tensor, is_known ? source->second.name : "", is_known ? source->second.axes : Ids{},
                          tensor_expected);
    if (!fitted) fitted = with_batch_axis(tensor, tensor_expected);
    if (!fitted) return;
    dump_.assume(fitted->assumption);
    tensor = std::move(fitted->tensor);
  }

  std::optional<Fitted> fit_one(const AnyTensor& tensor, const std::string& name, const Ids& axes,
                                const ExpectedTensor& tensor_expected) const {
    if (tensor_expected.dtype == Dtype::boolean)
      return as_mask(tensor, name, tensor_expected, name == tensor_expected.id ? own_mask_true_ : mask_true_);
    return laid_out(in_kind_of(tensor, tensor_expected.dtype), axes, tensor_expected);
  }

  /// Several masks that are one in the lesson.
  void combine_masks(const ExpectedTensor& tensor_expected) {
    std::optional<AnyTensor> combined;
    Ids names, not_read;
    for (const auto& mask : dump_.undecided) {
      if (mask.ids != Ids{tensor_expected.id}) continue;
      names.push_back(mask.name);
      const auto fitted = fit_one(mask.tensor, mask.name, mask.axes, tensor_expected);
      if (fitted)
        combined = combined ? hidden_by_either(*combined, fitted->tensor) : fitted->tensor;
      else
        not_read.push_back(mask.name);
    }
    if (names.empty()) return;
    std::erase_if(dump_.undecided, [&](const auto& mask) { return mask.ids == Ids{tensor_expected.id}; });
    if (!not_read.empty()) {
      for (const auto& name : names)
        dump_.leave_out(name, fmt::format("{} are left out: {} is no mask of [{}].", listed(names, "and"),
                                          not_read[0], fmt::join(tensor_expected.axes, "×")));
      return;
    }
    dump_.assume(fmt::format("{} together are taken for {}.", listed(names, "and"), tensor_expected.id));
    dump_.tensors.insert_or_assign(tensor_expected.id, std::move(*combined));
  }

  /// The ids that an undecided tensor has the shape of: exactly, or after it was laid out.
  Ids ids_that_fit(const NamedTensor& tensor) const {
    Ids same, possible;
    for (const auto& id : tensor.ids) {
      const auto* const tensor_expected = find(id);
      if (tensor_expected == nullptr || dump_.tensors.contains(id)) continue;
      if (tensor.tensor.shape() == tensor_expected->shape) same.push_back(id);
      if (fit_one(tensor.tensor, tensor.name, tensor.axes, *tensor_expected)) possible.push_back(id);
    }
    return same.empty() ? possible : same;
  }

  void decide() {
    std::vector<Ids> fitting;
    for (const auto& tensor : dump_.undecided) fitting.push_back(ids_that_fit(tensor));
    const auto undecided = std::exchange(dump_.undecided, {});
    for (std::size_t i = 0; i < undecided.size(); ++i) {
      const auto& name = undecided[i].name;
      if (fitting[i].size() > 1 && are_steps(fitting[i])) {
        dump_.undecided.push_back(undecided[i]);
        dump_.undecided.back().ids = fitting[i];
        continue;
      }
      if (fitting[i].size() != 1 || std::count(fitting.begin(), fitting.end(), fitting[i]) > 1) {
        dump_.leave_out(name, why_undecided(undecided[i], fitting[i]));
        continue;
      }
      const auto& id = fitting[i][0];
      take(undecided[i], *find(id), fmt::format("{} is taken for {}, whose shape it has.", name, id));
    }
  }

  bool are_steps(const Ids& ids) const {
    return std::all_of(ids.begin(), ids.end(), [&](const auto& id) { return find(id)->kind == Kind::step; });
  }

  static std::string why_undecided(const NamedTensor& tensor, const Ids& fitting) {
    const auto shape = to_string(tensor.tensor.shape());
    if (fitting.empty())
      return fmt::format("{} [{}] has the shape of none of {}.", tensor.name, shape,
                         listed(tensor.ids, "and"));
    return fmt::format("{} [{}] could be {}; save it under the name that it is.", tensor.name, shape,
                       listed(fitting.size() > 1 ? fitting : tensor.ids, "or"));
  }

  void set_arithmetic() {
    std::vector<const AnyTensor*> steps;
    for (const auto& [id, tensor] : dump_.tensors)
      if (const auto* const tensor_expected = find(id); tensor_expected != nullptr &&
                                                        tensor_expected->kind == Kind::step &&
                                                        is_floating(tensor_expected->dtype))
        steps.push_back(&tensor);
    if (steps.empty()) return;
    dump_.arithmetic = arithmetic_of(steps);
    dump_.decimals = decimals_of(steps);
  }

  Dump& dump_;
  const std::vector<ExpectedTensor>& expected_;
  MaskTrue mask_true_;
  MaskTrue own_mask_true_;  ///< in a mask under the lesson's own name
};

/// The dump with an undecided tensor taken for one of the steps that it could be.
struct Trial {
  std::string id;
  Dump dump;
};

std::vector<Trial> trials_of(const NamedTensor& tensor, const Dump& dump,
                             const std::vector<ExpectedTensor>& expected) {
  std::vector<Trial> trials;
  for (const auto& id : tensor.ids)
    for (const auto& one : expected) {
      if (one.id != id || dump.tensors.contains(id)) continue;
      trials.push_back({id, dump});
      const auto could_be = listed(tensor.ids, "or");
      Fitting(trials.back().dump, expected, MaskTrue::by_name)
          .take(tensor, one, fmt::format("{} could be {} and is taken for {}.", tensor.name, could_be, id));
    }
  return trials;
}

}  // namespace

void fit(Dump& dump, const std::vector<ExpectedTensor>& expected, MaskTrue mask_true) {
  Fitting(dump, expected, mask_true).fit_all();
}

void settle_names(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
                  const std::set<std::string>& conventions, bool by_mistakes) {
  const auto is_right = [&](const Trial& trial) {
    return differing_steps(trial.dump, rerun, conventions, {trial.id}).empty();
  };
  const auto has_one_mistake = [&](const Trial& trial) {
    const auto steps = diagnose(trial.dump, rerun, conventions).steps;
    const auto step =
        std::find_if(steps.begin(), steps.end(), [&](const auto& one) { return one.id == trial.id; });
    return !step->mistakes.empty() && !step->made_together;
  };
  for (const auto& tensor : std::exchange(dump.undecided, {})) {
    auto trials = trials_of(tensor, dump, expected);
    if (trials.empty()) {
      dump.leave_out(tensor.name);
      continue;
    }
    auto best = std::find_if(trials.begin(), trials.end(), is_right);
    if (best == trials.end() && by_mistakes)
      best = std::find_if(trials.begin(), trials.end(), has_one_mistake);
    if (best == trials.end()) best = trials.begin();
    dump = std::move(best->dump);
  }
}

void settle_arithmetic(Dump& dump, const Rerun& rerun, const std::set<std::string>& conventions) {
  if (dump.decimals || dump.arithmetic == Dtype::float16 || dump.arithmetic == Dtype::bfloat16) return;
  for (const auto& step : Replay(rerun, dump.tensors).predict(everywhere(conventions)))
    if (const auto theirs = dump.tensors.find(step.id); theirs != dump.tensors.end())
      if (const auto half = half_precision_of(theirs->second, step.reference)) {
        dump.arithmetic = *half;
        return;
      }
}

}  // namespace attn
