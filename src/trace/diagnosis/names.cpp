#include "trace/diagnosis/names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/event.hpp"
#include "trace/file.hpp"

namespace attn {

namespace {

using Strings = std::vector<std::string>;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// What data/names/ says.
struct CommonNames {
  std::map<std::string, Meaning> synonyms;
  std::map<std::string, std::string> groups;  ///< by part of a path
  std::set<std::string> wrappers;             ///< parts of a path that say nothing
};

/// Of a head "W_Q W_K W_V (fused transposed)".
Meaning synonym_in(std::istringstream head, const std::string& line) {
  const std::map<std::string, Storage> storages = {{"transposed", Storage::transposed},
                                                   {"as-in-gpt2", Storage::as_in_gpt2},
                                                   {"interleaved", Storage::interleaved},
                                                   {"by-its-shape", Storage::by_its_shape}};
  Meaning synonym;
  bool is_in_parentheses = false;
  for (std::string word; head >> word;) {
    is_in_parentheses = is_in_parentheses || word.starts_with('(');
    std::erase_if(word, [](char c) { return c == '(' || c == ')'; });
    if (!is_in_parentheses)
      synonym.ids.push_back(word);
    else if (word == "fused" || word == "thirds")
      (word == "fused" ? synonym.is_fused : synonym.is_third_each) = true;
    else if (const auto* const storage = value_in(storages, word))
      synonym.storage = *storage;
    else
      throw Error(
          fmt::format("data/names: \"{}\" in \"{}\"; valid: fused, thirds, transposed, as-in-gpt2, "
                      "interleaved, by-its-shape",
                      word, line));
  }
  synonym.is_fused = synonym.is_fused || synonym.is_third_each;
  return synonym;
}

/// A line "IDS (HOW): NAMES".
void read_line(const std::string& line, CommonNames& all) {
  const auto colon = line.find(": ");
  if (colon == line.npos) throw Error(fmt::format("data/names: \"{}\"; valid: IDS (HOW): NAMES", line));
  const auto synonym = synonym_in(std::istringstream(line.substr(0, colon)), line);
  std::istringstream names(line.substr(colon + 1));
  for (std::string name; names >> name;)
    if (synonym.ids.front() == "nothing")
      all.wrappers.insert(name);
    else if (synonym.ids.front() == "group")
      all.groups.emplace(name, synonym.ids.back());
    else
      all.synonyms.emplace(name, synonym);
}

/// What is indented goes on with the line before it; `#` begins a remark.
void read_names(const std::string& path, CommonNames& all) {
  std::ifstream file(path);
  for (std::string line, more; std::getline(file, line);) {
    while (file.peek() == ' ' && std::getline(file, more)) line += more;
    if (!line.empty() && !line.starts_with('#')) read_line(line, all);
  }
}

/// Read once; of a name that stands in several folders the first counts.
const CommonNames& common_names() {
  static const CommonNames names = [] {
    CommonNames all;
    for (const auto& folder : data_folders("names")) read_names(folder + "/names.txt", all);
    return all;
  }();
  return names;
}

/// What the path before a name says.
struct Surroundings {
  std::set<std::string> groups{};  ///< "attention", "layer=1"
  bool is_feed_forward = false;
  bool is_elsewhere = false;  ///< it has parts that no model of attention has in common
};

Surroundings place_of(const Strings& parts, std::size_t count) {
  Surroundings place;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& part = parts[i];
    place.groups.insert(part);
    if (const auto* const group = value_in(common_names().groups, part)) {
      place.groups.insert(*group);
      place.is_feed_forward = place.is_feed_forward || *group == "ffn";
    } else if (is_number(part) && part.size() < 6) {
      place.groups.insert(fmt::format("layer={}", std::stoul(part) + 1));
    } else if (common_names().wrappers.count(part) == 0) {
      place.is_elsewhere = true;
    }
  }
  return place;
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
  const auto parts = split(id, '/');
  static const std::set<std::string> weights = {"W_1", "b_1", "W_2", "b_2"};
  return parts.front() == "ffn" || weights.contains(parts.back());
}

bool is_possible(const std::string& id, const Surroundings& place) {
  if (place.is_feed_forward) return is_of_feed_forward(id);
  return !place.is_elsewhere || is_parameter(id);
}

/// Of the ids that end with this path, those that agree best with the place: by how many of their groups it
/// names, then by how few others they have.
Strings best_ids(const std::string& folded_path, const Surroundings& place, const Strings& known_ids) {
  std::map<std::pair<std::ptrdiff_t, std::ptrdiff_t>, Strings> by_agreement;
  for (const auto& id : known_ids) {
    const auto folded_id = folded(id);
    if (!ends_with_path(folded_id, folded_path) || !is_possible(id, place)) continue;
    auto groups = split(folded_id, '.');
    groups.resize(groups.size() - split(folded_path, '.').size());
    const auto named = std::count_if(groups.begin(), groups.end(),
                                     [&](const auto& group) { return place.groups.contains(group); });
    by_agreement[{named, named - std::ssize(groups)}].push_back(id);
  }
  return by_agreement.empty() ? Strings() : by_agreement.rbegin()->second;
}

/// "bias" and single letters could be anything.
bool says_what_it_is(const std::string& folded_path) {
  static const std::set<std::string> says_little = {"bias", "gain", "weight"};
  return folded_path.size() > 1 && !says_little.contains(folded_path);
}

Meaning in_lesson(const Meaning& synonym, const Surroundings& place, const Strings& known_ids) {
  auto meaning = synonym;
  meaning.ids.clear();
  for (const auto& wanted : synonym.ids) {
    const auto ids = best_ids(folded(wanted), place, known_ids);
    if (synonym.is_fused) {
      if (ids.size() > 1) return {};
      const bool is_there = !ids.empty() && last_of_path(ids.front()) == last_of_path(wanted);
      meaning.ids.push_back(is_there ? ids.front() : "");
      continue;
    }
    for (const auto& id : ids)
      if (!contains(meaning.ids, id)) meaning.ids.push_back(id);
  }
  return all_of(meaning.ids, [](const auto& id) { return id.empty(); }) ? Meaning{} : meaning;
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

std::string folded(std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);  // of a variable of TensorFlow
  std::string text;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    text += c == '/' || c == ':' ? '.' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

const Meaning* synonym_of(const std::string& folded_name) {
  return value_in(common_names().synonyms, folded_name);
}

Meaning meaning_of(std::string_view name, const std::vector<std::string>& known_ids) {
  if (const auto of = differentiated(name)) return meaning_of_gradient(*of, known_ids);
  const auto parts = split(folded(name), '.');
  for (std::size_t begin = 0; begin < parts.size(); ++begin) {
    const auto path =
        fmt::format("{}", fmt::join(parts.begin() + static_cast<std::ptrdiff_t>(begin), parts.end(), "."));
    const auto place = place_of(parts, begin);
    if (says_what_it_is(path))
      if (auto ids = best_ids(path, place, known_ids); !ids.empty()) return {.ids = std::move(ids)};
    if (const auto* synonym = synonym_of(path)) return in_lesson(*synonym, place, known_ids);
  }
  return {};
}

}  // namespace attn
