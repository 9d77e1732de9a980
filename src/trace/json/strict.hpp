#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/file.hpp"

namespace attn {

/// Whether a value is a whole number that int64 holds.
template <class Json>
bool is_int64(const Json& value) {
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.template get<std::uint64_t>() > largest);
}

/// Builds a JSON document from the events of nlohmann's parser and refuses what that parser would let pass: a
/// name that is twice in an object, more than 40 levels, lists without bound.
template <class Json>
class StrictJson : public nlohmann::json_sax<Json> {
 public:
  explicit StrictJson(std::string_view place) : place_(place) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(typename Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return enter(Json::object()); }
  bool start_array(std::size_t) override { return enter(Json::array()); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(std::string& name) override {
    constexpr bool is_ordered = std::is_same_v<Json, nlohmann::ordered_json>;
    constexpr std::size_t most_ordered_names = 1000;  // which are looked up one by one
    auto& level = levels_.back();
    if (!level.names.insert(name).second)
      refuse(place(), fmt::format("its JSON has the name {} twice", in_message(name)), "each name once");
    if (is_ordered && level.names.size() > most_ordered_names)
      refuse(place(), fmt::format("its JSON has more than {} names", most_ordered_names), "fewer");
    level.name = std::move(name);
    return true;
  }

  /// Many programs write NaN and Infinity as if they were numbers of JSON.
  bool parse_error(std::size_t byte, const std::string& token, const nlohmann::detail::exception&) override {
    const bool is_not_finite = token.ends_with('N') || token.ends_with('I');
    refuse(place(), fmt::format("it is no JSON from byte {} on", byte),
           is_not_finite ? R"(JSON in UTF-8, with "NaN", "Infinity" and "-Infinity" in quotes)"
                         : "JSON in UTF-8");
  }

  Json take() { return std::move(document_); }

 protected:
  /// What is read, as a message names it.
  virtual std::string place() const { return place_; }

  /// Whether there is a limit to the length of a list.
  virtual bool is_bounded() const { return true; }

  /// How many objects and lists are open.
  std::size_t depth() const { return levels_.size(); }

  /// The object or list that is open.
  Json& current() { return *levels_.back().value; }

  /// The name of the value that comes next, or that is open at the depth above.
  const std::string& name_at(std::size_t depth) const { return levels_[depth - 1].name; }

  bool add(Json value) {
    place_for(std::move(value));
    return true;
  }

  std::string place_;

 private:
  struct Level {
    Json* value;
    std::string name{};
    std::set<std::string> names{};
    std::size_t items = 0;
  };

  Json& place_for(Json value) {
    constexpr std::size_t longest_list = std::size_t{1} << 20;
    if (levels_.empty()) return document_ = std::move(value);
    auto& level = levels_.back();
    if (++level.items > longest_list && is_bounded())
      refuse(place(), fmt::format("its JSON has more than {} items in a list", longest_list), "fewer");
    if (level.value->is_object()) return (*level.value)[level.name] = std::move(value);
    level.value->push_back(std::move(value));
    return level.value->back();
  }

  bool enter(Json value) {
    constexpr std::size_t deepest = 40;
    if (levels_.size() == deepest)
      refuse(place(), fmt::format("its JSON has more than {} levels", deepest), "fewer");
    auto& placed = place_for(std::move(value));
    levels_.push_back({&placed});
    return true;
  }

  bool leave() {
    levels_.pop_back();
    return true;
  }

  Json document_;
  std::vector<Level> levels_;
};

}  // namespace attn
