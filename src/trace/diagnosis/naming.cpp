#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/diagnosis/arithmetic.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/layout.hpp"
#include "trace/diagnosis/names.hpp"
#include "trace/diagnosis/state_dict.hpp"

namespace attn {

namespace {

using Ids = std::vector<std::string>;

constexpr std::string_view turned_from_linear = ", transposed: nn.Linear has it as [out×in]";

bool is_mask(const std::string& id) {
  return id == "mask" || id.ends_with("/mask") || id.ends_with("_mask");
}

/// A tensor that claims to be one of the lesson's, with the sentence to say when it is taken.
struct Claim {
  NamedTensor tensor;
  std::string assumption;
};

/// Reads a file under the ids of a lesson.
class Naming {
 public:
  Naming(const StoredTrace& file, const Ids& known_ids, const Fusion& fusion)
      : file_(file), known_ids_(known_ids), state_dict_(file, known_ids, fusion) {
    dump_.has_module_of_torch = has_module_of_torch(file);
  }

  Dump read() {
    for (std::size_t i = 0; i < file_.tensors().size(); ++i)
      if (contains(known_ids_, file_.tensors()[i].id)) take(file_.tensors()[i].id, named_tensor(i));
    claim_arguments_of_torch();
    for (std::size_t i = 0; i < file_.tensors().size(); ++i)
      if (!contains(known_ids_, file_.tensors()[i].id) && !contains(arguments_, file_.tensors()[i].id))
        claim(i);
    for (auto& [id, claims] : claims_) decide(id, claims);
    turn_tokens_first();
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

  /// Whether the file is of a block of a decoder, which is known by its second attention.
  bool has_cross_attention() const {
    const auto& tensors = file_.tensors();
    return std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) {
      const auto name = folded(tensor.id);
      return name.find("cross") != name.npos || name.find("multiheadattn") != name.npos;
    });
  }

  Meaning meaning_of_name(const std::string& name) const {
    auto meaning = meaning_of(name, known_ids_);
    if (contains(meaning.ids, "memory") && contains(meaning.ids, "X"))
      meaning.ids = {has_cross_attention() ? "memory" : "X"};
    if (const auto last = folded(name); last.ends_with("oproj") || last.ends_with("outproj"))
      if (meaning.ids.size() == 1) meaning.ids.clear();  // a lesson without W_O
    if (name == "attn_output" && contains(meaning.ids, "output") && dump_.has_module_of_torch)
      meaning.ids = {"output"};
    return meaning;
  }

  /// The three arguments of nn.MultiheadAttention are what is projected and not the projections.
  void claim_arguments_of_torch() {
    const auto query = place("query"), key = place("key"), value = place("value");
    if (!dump_.has_module_of_torch || !query) return;
    if (!key && !value && contains(known_ids_, "X") && place("X") == std::nullopt) {
      add_claim("X", named_tensor(*query), "query is taken for X.");
      arguments_ = {"query"};
    }
    if (!key || !value) return;
    auto queries = named_tensor(*query), keys = named_tensor(*key);
    if (!are_identical(keys.tensor, file_.read(*value))) return;
    const bool is_turned = has_tokens_first(queries.tensor.shape()) && keys.tensor.shape().size() == 3;
    if (is_turned) {
      queries.tensor = permuted(queries.tensor, {1, 0, 2});
      keys.tensor = permuted(keys.tensor, {1, 0, 2});
    }
    const std::string_view how = is_turned ? ", with the batch before the tokens" : "";
    if (contains(known_ids_, "X") && are_identical(queries.tensor, keys.tensor)) {
      add_claim("X", std::move(queries),
                fmt::format("query, key and value are the same tensor, which is taken for X{}.", how));
    } else if (contains(known_ids_, "X_target") && contains(known_ids_, "X_source")) {
      add_claim("X_target", std::move(queries), fmt::format("query is taken for X_target{}.", how));
      add_claim("X_source", std::move(keys),
                fmt::format("key and value are the same tensor, which is taken for X_source{}.", how));
    } else {
      return;
    }
    arguments_ = {"query", "key", "value"};
  }

  void turn_tokens_first() {
    for (const auto* id : {"X", "X_source", "X_target"}) {
      const auto found = dump_.tensors.find(id);
      if (found == dump_.tensors.end() || !has_tokens_first(found->second.shape())) continue;
      found->second = permuted(found->second, {1, 0, 2});
      dump_.assume(fmt::format("{} is taken to be [token×batch×d_model], as PyTorch has it by default.", id));
    }
  }

  /// Whether queries are [token×batch×d_model], as PyTorch has them by default: its weights always begin with
  /// the batch.
  bool has_tokens_first(const Shape& queries) const {
    if (queries.size() != 3 || queries[0] == queries[1]) return false;
    return std::any_of(file_.tensors().begin(), file_.tensors().end(), [&](const auto& tensor) {
      const auto& shape = tensor.shape;
      return shape.size() >= 3 && shape[0] == queries[1] && shape[shape.size() - 2] == queries[0] &&
             contains(meaning_of(tensor.id, known_ids_).ids, "weights");
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
    if (*transposed) turn(tensor);
    const std::string_view how = *transposed ? turned_from_linear : "";
    if (meaning.ids.size() == 1) {
      const auto& id = meaning.ids[0];
      add_claim(id, std::move(tensor), fmt::format("{} is taken for {}{}.", stored.id, id, how));
    } else {
      if (*transposed) dump_.assume(fmt::format("{} is read{}.", stored.id, how));
      tensor.ids = meaning.ids;
      dump_.undecided.push_back(std::move(tensor));
    }
  }

  static void turn(NamedTensor& tensor) {
    tensor.tensor = permuted(tensor.tensor, {1, 0});
    std::reverse(tensor.axes.begin(), tensor.axes.end());
  }

  /// A bias that a lesson has no place for changes nothing where it is 0.
  void leave_out_without_meaning(std::size_t i) {
    const auto& name = file_.tensors()[i].id;
    if (!folded(name).ends_with("bias")) return dump_.leave_out(name);
    const auto tensor = file_.read(i);
    for (std::size_t offset = 0; offset < element_count(tensor.shape()); ++offset)
      if (tensor.view().at(offset) != 0.0) return dump_.leave_out(name);
    dump_.assume(fmt::format("{} is all 0 and left out.", name));
  }

  void claim_parts(std::size_t i, const Meaning& meaning, bool is_transposed) {
    auto whole = named_tensor(i);
    auto ids = meaning.ids;
    std::erase(ids, "");
    const auto names = listed(ids, "and");
    if (is_transposed) turn(whole);
    const auto parts = parts_of(whole, meaning);
    if (!parts)
      return dump_.leave_out(
          whole.name,
          fmt::format(
              "{} could be split into {} in several ways; save them apart{}.", whole.name, names,
              state_dict_.is_per_head(meaning) ? ", or say --heads" : ", or say --heads and --kv-heads"));
    const auto assumption = fmt::format("{} is split into {}{}{}.", whole.name, names,
                                        state_dict_.is_per_head(meaning) ? " of each head" : "",
                                        is_transposed ? turned_from_linear : "");
    for (std::size_t part = 0; part < parts->size(); ++part)
      if (!meaning.ids[part].empty())
        add_claim(meaning.ids[part], {.name = whole.name, .tensor = std::move((*parts)[part])}, assumption);
  }

  /// None where there are several ways to split it.
  std::optional<std::vector<AnyTensor>> parts_of(const NamedTensor& whole, const Meaning& meaning) const {
    if (state_dict_.is_per_head(meaning)) return state_dict_.parts_per_head(whole.tensor);
    const auto& shape = whole.tensor.shape();
    const auto inputs = shape.size() == 2 ? std::optional(shape[0]) : inputs_of_weight_beside(whole.name);
    const auto lengths = state_dict_.lengths_of_parts(meaning, shape.back(), inputs);
    if (!lengths) return std::nullopt;
    std::vector<AnyTensor> parts;
    for (std::size_t part = 0, begin = 0; part < lengths->size(); begin += (*lengths)[part++])
      parts.push_back(part_of_last_axis(whole.tensor, begin, (*lengths)[part]));
    return parts;
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
    if (is_mask(id) && dump_.tensors.erase(id) > 0)  // what one of them hides is hidden
      claims.insert(claims.begin(), {std::move(dump_.as_named.extract(id).mapped()), ""});
    Ids names;
    for (const auto& claim : claims) names.push_back(claim.tensor.name);
    if (dump_.tensors.contains(id)) {
      for (const auto& name : names)
        dump_.leave_out(name, fmt::format("{} is left out, because {} is there itself.", name, id));
    } else if (std::all_of(claims.begin(), claims.end(), [&](const auto& other) {
                 return are_identical(other.tensor.tensor, claims[0].tensor.tensor);
               })) {
      dump_.assume(claims[0].assumption);
      take(id, std::move(claims[0].tensor));
    } else if (is_mask(id)) {
      for (auto& claim : claims) dump_.undecided.push_back(std::move(claim.tensor));
    } else {
      dump_.contested[id] = names;
      for (const auto& name : names)
        dump_.leave_out(name, fmt::format("{} could each be {}; none is taken.", listed(names, "and"), id));
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
      dump_.assume(fmt::format("{} is [{}] and is taken for [{}], its heads side by side.", id,
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

}  // namespace

bool has_module_of_torch(const StoredTrace& file) {
  const auto& tensors = file.tensors();
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const auto& tensor) { return folded(tensor.id).ends_with("inprojweight"); });
}

Dump named(const StoredTrace& file, const std::vector<std::string>& known_ids, const Fusion& fusion) {
  return Naming(file, known_ids, fusion).read();
}

}  // namespace attn
