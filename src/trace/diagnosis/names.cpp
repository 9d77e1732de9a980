#include "trace/diagnosis/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "trace/event.hpp"

namespace attn {

namespace {

using Strings = std::vector<std::string>;

Strings parts_of_path(const std::string& path, char separator) {
  Strings parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find(separator, begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string path_from(const Strings& parts, std::size_t begin) {
  std::string path;
  for (std::size_t i = begin; i < parts.size(); ++i) path += (i > begin ? "." : "") + parts[i];
  return path;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Parts of a path by the group of ids that they speak of.
const std::map<std::string, std::string>& groups_by_part() {
  static const std::map<std::string, std::string> groups = {{"attention", "attention"},
                                                            {"attn", "attention"},
                                                            {"self", "attention"},
                                                            {"selfattn", "attention"},
                                                            {"selfattention", "attention"},
                                                            {"mha", "attention"},
                                                            {"multihead", "attention"},
                                                            {"multiheadattention", "attention"},
                                                            {"crossattn", "cross"},
                                                            {"crossattention", "cross"},
                                                            {"encoderattn", "cross"},
                                                            {"encdecattention", "cross"},
                                                            {"srcattn", "cross"},
                                                            {"multiheadattn", "cross"},
                                                            {"cross", "cross"},
                                                            {"encoder", "encoder"},
                                                            {"enc", "encoder"},
                                                            {"decoder", "decoder"},
                                                            {"dec", "decoder"},
                                                            {"reverse", "reverse"},
                                                            {"mlp", "ffn"},
                                                            {"ffn", "ffn"},
                                                            {"ff", "ffn"},
                                                            {"feedforward", "ffn"},
                                                            {"intermediate", "ffn"}};
  return groups;
}

/// What the path before a name says.
struct Place {
  std::set<std::string> groups{};  ///< "attention", "layer=1"
  bool is_feed_forward = false;
  bool is_elsewhere = false;  ///< it has parts that no model of attention has in common
};

/// Parts that say nothing.
bool is_wrapper(const std::string& part) {
  constexpr std::array wrappers = {"model",  "module",    "transformer", "layers",  "layer",  "h",
                                   "blocks", "block",     "bert",        "roberta", "gpt",    "net",
                                   "params", "basemodel", "vit",         "text",    "visual", "state",
                                   "lstm",   "rnn",       "statedict",   "output",  "core"};
  return std::find(wrappers.begin(), wrappers.end(), part) != wrappers.end();
}

Place place_of(const Strings& parts, std::size_t count) {
  Place place;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& part = parts[i];
    const auto group = groups_by_part().find(part);
    place.groups.insert(part);
    if (group != groups_by_part().end()) {
      place.groups.insert(group->second);
      place.is_feed_forward = place.is_feed_forward || group->second == "ffn";
    } else if (is_number(part) && part.size() < 6) {
      place.groups.insert(fmt::format("layer={}", std::stoul(part) + 1));
    } else if (!is_wrapper(part)) {
      place.is_elsewhere = true;
    }
  }
  return place;
}

/// How well an id's groups agree with a place: how many the place names, then how few it does not.
std::pair<std::ptrdiff_t, std::ptrdiff_t> agreement(const Strings& parts_of_id, std::size_t groups,
                                                    const Place& place) {
  const auto last = parts_of_id.begin() + static_cast<std::ptrdiff_t>(groups);
  const auto named = std::count_if(parts_of_id.begin(), last,
                                   [&](const auto& group) { return place.groups.contains(group); });
  return {named, named - static_cast<std::ptrdiff_t>(groups)};
}

/// Both folded.
bool ends_with_path(std::string_view id, std::string_view path) {
  return id.ends_with(path) && (id.size() == path.size() || id[id.size() - path.size() - 1] == '.');
}

/// Parameters have names of their own; other tensors are called by such words as "output".
bool is_parameter(std::string_view id) {
  const auto name = id.substr(id.find_last_of('/') + 1);
  return name.starts_with("W_") || name.starts_with("b_") || name == "gain" || name == "bias";
}

bool is_of_feed_forward(const std::string& id) {
  const auto parts = parts_of_path(id, '/');
  constexpr std::array weights = {"W_1", "b_1", "W_2", "b_2"};
  return parts.front() == "ffn" || std::find(weights.begin(), weights.end(), parts.back()) != weights.end();
}

bool is_possible(const std::string& id, const Place& place) {
  if (place.is_feed_forward) return is_of_feed_forward(id);
  return !place.is_elsewhere || is_parameter(id);
}

/// Of the ids that end with this path, those that agree best with the place.
Strings best_ids(const std::string& folded_path, const Place& place, const Strings& known_ids) {
  Strings best;
  std::pair<std::ptrdiff_t, std::ptrdiff_t> best_agreement;
  for (const auto& id : known_ids) {
    const auto folded_id = folded(id);
    if (!ends_with_path(folded_id, folded_path) || !is_possible(id, place)) continue;
    const auto parts = parts_of_path(folded_id, '.');
    const auto agrees = agreement(parts, parts.size() - parts_of_path(folded_path, '.').size(), place);
    if (best.empty() || agrees > best_agreement) {
      best = {id};
      best_agreement = agrees;
    } else if (agrees == best_agreement) {
      best.push_back(id);
    }
  }
  return best;
}

/// "bias" and single letters could be anything.
bool says_what_it_is(const std::string& folded_path) {
  constexpr std::array says_little = {"bias", "gain", "weight"};
  return folded_path.size() > 1 &&
         std::find(says_little.begin(), says_little.end(), folded_path) == says_little.end();
}

Meaning in_lesson(const Synonym& synonym, const Place& place, const Strings& known_ids) {
  Meaning meaning{
      .storage = synonym.storage, .is_fused = synonym.is_fused, .is_third_each = synonym.is_third_each};
  for (const auto& wanted : synonym.ids) {
    const auto ids = best_ids(folded(wanted), place, known_ids);
    if (synonym.is_fused) {
      if (ids.size() > 1) return {};
      const bool is_there = !ids.empty() && last_of_path(ids.front()) == last_of_path(wanted);
      meaning.ids.push_back(is_there ? ids.front() : "");
      continue;
    }
    for (const auto& id : ids)
      if (std::find(meaning.ids.begin(), meaning.ids.end(), id) == meaning.ids.end())
        meaning.ids.push_back(id);
  }
  const auto is_unknown = [](const std::string& id) { return id.empty(); };
  if (std::all_of(meaning.ids.begin(), meaning.ids.end(), is_unknown)) return {};
  return meaning;
}

/// The name without what says that it is a gradient: "q_proj.weight" of "q_proj.weight.grad".
std::optional<std::string_view> differentiated(std::string_view name) {
  if (name.ends_with(".grad")) return name.substr(0, name.size() - 5);
  if (name.starts_with("grad_")) return name.substr(5);
  return std::nullopt;
}

Meaning meaning_of_gradient(std::string_view name, const Strings& known_ids) {
  Strings ids;
  for (const auto& id : known_ids)
    if (id.starts_with("d_")) ids.push_back(id.substr(2));
  auto meaning = meaning_of(name, ids);
  for (auto& id : meaning.ids)
    if (!id.empty()) id.insert(0, "d_");
  return meaning;
}

}  // namespace

Meaning meaning_of(std::string_view name, const std::vector<std::string>& known_ids) {
  if (const auto of = differentiated(name)) return meaning_of_gradient(*of, known_ids);
  const auto parts = parts_of_path(folded(name), '.');
  for (std::size_t begin = 0; begin < parts.size(); ++begin) {
    const auto path = path_from(parts, begin);
    const auto place = place_of(parts, begin);
    if (says_what_it_is(path))
      if (auto ids = best_ids(path, place, known_ids); !ids.empty()) return {.ids = std::move(ids)};
    if (const auto* synonym = synonym_of(path)) return in_lesson(*synonym, place, known_ids);
  }
  return {};
}

}  // namespace attn
