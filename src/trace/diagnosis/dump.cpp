#include "trace/diagnosis/dump.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "trace/diagnosis/arithmetic.hpp"
#include "trace/diagnosis/state_dict.hpp"
#include "trace/diagnosis/strided.hpp"

namespace attn {

namespace {

using Ids = std::vector<std::string>;

bool holds_id(const Ids& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

void assume(Dump& dump, std::string sentence) {
  if (!sentence.empty() && !holds_id(dump.assumptions, sentence))
    dump.assumptions.push_back(std::move(sentence));
}

void leave_out(Dump& dump, const std::string& name, std::string sentence = {}) {
  if (!holds_id(dump.unknown, name)) dump.unknown.push_back(name);
  assume(dump, std::move(sentence));
}

bool is_mask(const std::string& id) {
  return id == "mask" || id.ends_with("/mask") || id.ends_with("_mask");
}

/// "a, b and c".
std::string listed(const Ids& words, std::string_view conjunction) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} {} {}", fmt::join(words.begin(), words.end() - 1, ", "), conjunction, words.back());
}

/// A tensor that claims to be one of the lesson's, with the sentence to say when it is taken.
struct Claim {
  NamedTensor tensor;
  std::string assumption;
};

/// Reads a file under the ids of a lesson.
class Naming {
 public:
  Naming(const StoredTrace& file, const Ids& known_ids)
      : file_(file), known_ids_(known_ids), state_dict_(file, known_ids) {}

  Dump read() {
    for (std::size_t i = 0; i < file_.tensors().size(); ++i)
      if (holds_id(known_ids_, file_.tensors()[i].id)) take(file_.tensors()[i].id, named_tensor(i));
    claim_arguments_of_torch();
    for (std::size_t i = 0; i < file_.tensors().size(); ++i)
      if (!holds_id(known_ids_, file_.tensors()[i].id) && !holds_id(arguments_, file_.tensors()[i].id))
        claim(i);
    for (auto& [id, claims] : claims_) decide(id, claims);
    merge_heads();
    dump_.arithmetic = arithmetic();
    return std::move(dump_);
  }

 private:
  NamedTensor named_tensor(std::size_t i) const {
    const auto& stored = file_.tensors()[i];
    return {.name = stored.id, .tensor = file_.read(i), .axes = stored.axes};
  }

  void take(const std::string& id, NamedTensor tensor) {
    dump_.tensors.insert_or_assign(id, tensor.tensor);
    tensor.ids = {id};
    dump_.as_named.insert_or_assign(id, std::move(tensor));
  }

  void add_claim(const std::string& id, NamedTensor tensor, std::string assumption) {
    tensor.ids = {id};
    claims_[id].push_back({std::move(tensor), std::move(assumption)});
  }

  /// Whether the file is of an nn.MultiheadAttention, which is known by its fused weight.
  bool is_torch() const {
    const auto& tensors = file_.tensors();
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const auto& tensor) { return folded(tensor.id).ends_with("inprojweight"); });
  }

  Meaning meaning_of_name(const std::string& name) const {
    auto meaning = meaning_of(name, known_ids_);
    if (name == "attn_output" && holds_id(meaning.ids, "output") && is_torch()) meaning.ids = {"output"};
    return meaning;
  }

  /// The three arguments of nn.MultiheadAttention are what is projected and not the projections.
  void claim_arguments_of_torch() {
    const auto query = place("query"), key = place("key"), value = place("value");
    if (!is_torch() || !query || !key || !value) return;
    auto queries = named_tensor(*query), keys = named_tensor(*key);
    if (!are_identical(keys.tensor, file_.read(*value))) return;
    const bool is_turned = has_tokens_first(queries.tensor.shape()) && keys.tensor.shape().size() == 3;
    if (is_turned) {
      queries.tensor = permuted(queries.tensor, {1, 0, 2});
      keys.tensor = permuted(keys.tensor, {1, 0, 2});
    }
    const std::string_view how = is_turned ? ", with the batch before the tokens" : "";
    if (holds_id(known_ids_, "X") && are_identical(queries.tensor, keys.tensor)) {
      add_claim("X", std::move(queries),
                fmt::format("query, key and value are the same tensor, which is taken for X{}.", how));
    } else if (holds_id(known_ids_, "X_target") && holds_id(known_ids_, "X_source")) {
      add_claim("X_target", std::move(queries), fmt::format("query is taken for X_target{}.", how));
      add_claim("X_source", std::move(keys),
                fmt::format("key and value are the same tensor, which is taken for X_source{}.", how));
    } else {
      return;
    }
    arguments_ = {"query", "key", "value"};
  }

  /// Whether queries are [token×batch×d_model], as PyTorch has them by default: its weights always begin with
  /// the batch.
  bool has_tokens_first(const Shape& queries) const {
    if (queries.size() != 3 || queries[0] == queries[1]) return false;
    return std::any_of(file_.tensors().begin(), file_.tensors().end(), [&](const auto& tensor) {
      const auto& shape = tensor.shape;
      return shape.size() >= 3 && shape[0] == queries[1] && shape[shape.size() - 2] == queries[0] &&
             holds_id(meaning_of(tensor.id, known_ids_).ids, "weights");
    });
  }

  std::optional<std::size_t> place(std::string_view name) const {
    const auto* const found = file_.find(name);
    if (found == nullptr) return std::nullopt;
    return static_cast<std::size_t>(found - file_.tensors().data());
  }

  void claim(std::size_t i) {
    const auto& stored = file_.tensors()[i];
    const auto meaning = meaning_of_name(stored.id);
    const auto transposed = state_dict_.is_transposed(meaning.storage, stored.shape);
    if (meaning.ids.empty() || !transposed) return leave_out_without_meaning(i);
    if (meaning.is_fused) return claim_parts(i, meaning, *transposed);
    auto tensor = named_tensor(i);
    if (meaning.ids.size() > 1) {
      tensor.ids = meaning.ids;
      dump_.undecided.push_back(std::move(tensor));
      return;
    }
    const auto& id = meaning.ids[0];
    if (*transposed) turn(tensor);
    add_claim(id, std::move(tensor),
              fmt::format("{} is taken for {}{}.", stored.id, id,
                          *transposed ? ", transposed: nn.Linear has it as [out×in]" : ""));
  }

  static void turn(NamedTensor& tensor) {
    tensor.tensor = permuted(tensor.tensor, {1, 0});
    std::reverse(tensor.axes.begin(), tensor.axes.end());
  }

  /// A bias that a lesson has no place for changes nothing where it is 0.
  void leave_out_without_meaning(std::size_t i) {
    const auto& name = file_.tensors()[i].id;
    if (!folded(name).ends_with("bias")) return leave_out(dump_, name);
    const auto tensor = file_.read(i);
    for (std::size_t offset = 0; offset < element_count(tensor.shape()); ++offset)
      if (tensor.view().at(offset) != 0.0) return leave_out(dump_, name);
    assume(dump_, fmt::format("{} is all 0 and left out.", name));
  }

  void claim_parts(std::size_t i, const Meaning& meaning, bool is_transposed) {
    auto whole = named_tensor(i);
    const auto names = listed(meaning.ids, "and");
    if (is_transposed) turn(whole);
    const auto& shape = whole.tensor.shape();
    const auto inputs = shape.size() == 2 ? std::optional(shape[0]) : inputs_of_weight_beside(whole.name);
    const auto lengths = meaning.storage == Storage::interleaved
                             ? std::nullopt
                             : state_dict_.lengths_of_parts(meaning, shape.back(), inputs);
    if (!lengths)
      return leave_out(
          dump_, whole.name,
          fmt::format("{} could be split into {} in several ways; save them apart.", whole.name, names));
    const auto assumption = fmt::format("{} is split into {}{}.", whole.name, names,
                                        is_transposed ? ", transposed: nn.Linear has it as [out×in]" : "");
    for (std::size_t part = 0, begin = 0; part < lengths->size(); begin += (*lengths)[part++])
      add_claim(meaning.ids[part],
                {.name = whole.name, .tensor = part_of_last_axis(whole.tensor, begin, (*lengths)[part])},
                assumption);
  }

  /// How many inputs the weight has that a fused bias belongs to, where the file has it.
  std::optional<std::size_t> inputs_of_weight_beside(const std::string& bias) const {
    const auto at = bias.rfind("bias");
    if (at == bias.npos) return std::nullopt;
    const auto* const weight = file_.find(std::string(bias).replace(at, 4, "weight"));
    if (weight == nullptr || weight->shape.size() != 2) return std::nullopt;
    return std::min(weight->shape[0], weight->shape[1]);
  }

  void decide(const std::string& id, std::vector<Claim>& claims) {
    Ids names;
    for (const auto& claim : claims) names.push_back(claim.tensor.name);
    if (dump_.tensors.contains(id)) {
      for (const auto& name : names)
        leave_out(dump_, name, fmt::format("{} is left out, because {} is there itself.", name, id));
    } else if (std::all_of(claims.begin(), claims.end(), [&](const auto& other) {
                 return are_identical(other.tensor.tensor, claims[0].tensor.tensor);
               })) {
      assume(dump_, claims[0].assumption);
      take(id, std::move(claims[0].tensor));
    } else if (is_mask(id)) {
      for (auto& claim : claims) dump_.undecided.push_back(std::move(claim.tensor));
    } else {
      for (const auto& name : names)
        leave_out(dump_, name, fmt::format("{} could each be {}; none is taken.", listed(names, "and"), id));
    }
  }

  void merge_heads() {
    const auto* const input = dump_.tensors.contains("X") ? "X" : "X_target";
    const auto found = dump_.tensors.find(input);
    const bool has_rows = found != dump_.tensors.end() && !found->second.shape().empty();
    const auto d_model = has_rows ? std::optional(found->second.shape().back()) : std::nullopt;
    for (auto& [id, tensor] : dump_.tensors) {
      auto merged = with_merged_heads(id, tensor, d_model);
      if (merged.shape() == tensor.shape()) continue;
      assume(dump_, fmt::format("{} is [{}] and is taken for [{}], its heads side by side.", id,
                                to_string(tensor.shape()), to_string(merged.shape())));
      tensor = std::move(merged);
    }
  }

  Dtype arithmetic() const {
    std::vector<const AnyTensor*> all;
    for (const auto& [id, tensor] : dump_.tensors) all.push_back(&tensor);
    for (const auto& tensor : dump_.undecided) all.push_back(&tensor.tensor);
    return arithmetic_of(all);
  }

  const StoredTrace& file_;
  const Ids& known_ids_;
  StateDict state_dict_;
  Ids arguments_;  ///< of nn.MultiheadAttention, by name
  std::map<std::string, std::vector<Claim>> claims_;
  Dump dump_;
};

/// Brings the tensors of a dump to their shapes.
class Fitting {
 public:
  Fitting(Dump& dump, const std::vector<ExpectedTensor>& expected, MaskTrue mask_true)
      : dump_(dump), expected_(expected), mask_true_(mask_true) {}

  void fit_all() {
    for (auto& [id, tensor] : dump_.tensors)
      if (const auto* const tensor_expected = find(id)) replace(tensor, *tensor_expected);
    for (const auto& tensor_expected : expected_) combine_masks(tensor_expected);
    decide();
    set_arithmetic();
  }

 private:
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
    if (!fitted) return;
    assume(dump_, fitted->assumption);
    tensor = std::move(fitted->tensor);
  }

  std::optional<Fitted> fit_one(const AnyTensor& tensor, const std::string& name, const Ids& axes,
                                const ExpectedTensor& tensor_expected) const {
    if (tensor_expected.dtype == Dtype::boolean) return as_mask(tensor, name, tensor_expected, mask_true_);
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
        combined = combined ? both(*combined, fitted->tensor) : fitted->tensor;
      else
        not_read.push_back(mask.name);
    }
    if (names.empty()) return;
    std::erase_if(dump_.undecided, [&](const auto& mask) { return mask.ids == Ids{tensor_expected.id}; });
    if (!not_read.empty()) {
      for (const auto& name : names)
        leave_out(dump_, name,
                  fmt::format("{} are left out: {} is no mask of [{}].", listed(names, "and"), not_read[0],
                              fmt::join(tensor_expected.axes, "×")));
      return;
    }
    assume(dump_, fmt::format("{} together are taken for {}.", listed(names, "and"), tensor_expected.id));
    dump_.tensors.insert_or_assign(tensor_expected.id, std::move(*combined));
  }

  static AnyTensor both(AnyTensor a, const AnyTensor& b) {
    const auto other = b.view();
    for (std::size_t i = 0; i < element_count(other.shape); ++i)
      a.elements<bool>()[i] = a.elements<bool>()[i] && other.at(i) != 0.0;
    return a;
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
      if (fitting[i].size() != 1 || std::count(fitting.begin(), fitting.end(), fitting[i]) > 1) {
        leave_out(dump_, name, why_undecided(undecided[i], fitting[i]));
        continue;
      }
      const auto& id = fitting[i][0];
      assume(dump_, fmt::format("{} is taken for {}, whose shape it has.", name, id));
      auto& taken = dump_.as_named.insert_or_assign(id, undecided[i]).first->second;
      replace(dump_.tensors.insert_or_assign(id, taken.tensor).first->second, *find(id));
    }
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
    if (!steps.empty()) dump_.arithmetic = arithmetic_of(steps);
  }

  Dump& dump_;
  const std::vector<ExpectedTensor>& expected_;
  MaskTrue mask_true_;
};

}  // namespace

Dump named(const StoredTrace& file, const std::vector<std::string>& known_ids) {
  return Naming(file, known_ids).read();
}

void fit(Dump& dump, const std::vector<ExpectedTensor>& expected, MaskTrue mask_true) {
  Fitting(dump, expected, mask_true).fit_all();
}

}  // namespace attn
