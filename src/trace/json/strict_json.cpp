#include "trace/json/strict_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "trace/file.hpp"

namespace attn {

namespace {

using nlohmann::json;

constexpr std::size_t deepest = 40, longest_list = std::size_t{1} << 20, most_ordered_names = 1000;

/// Reads a text without keeping it, and refuses what nlohmann's parser would let pass.
class Strictness : public nlohmann::json_sax<json> {
 public:
  Strictness(std::string_view place, bool keeps_order) : place_(place), keeps_order_(keeps_order) {}

  bool null() override { return see_item(); }
  bool boolean(bool) override { return see_item(); }
  bool number_integer(number_integer_t) override { return see_item(); }
  bool number_unsigned(number_unsigned_t) override { return see_item(); }
  bool number_float(number_float_t, const string_t&) override { return see_item(); }
  bool string(string_t&) override { return see_item(); }
  bool binary(binary_t&) override { return see_item(); }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& name) override {
    auto& names = levels_.back().names;
    if (!names.insert(name).second)
      refuse(place_, fmt::format("its JSON has the name {} twice", in_message(name)), "each name once");
    if (keeps_order_ && names.size() > most_ordered_names)
      refuse(place_, fmt::format("its JSON has more than {} names", most_ordered_names), "fewer");
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    refuse(place_, fmt::format("it is no JSON from byte {} on", byte), "JSON in UTF-8");
  }

 private:
  struct Level {
    std::set<std::string> names;
    std::size_t items = 0;
  };

  bool see_item() {
    if (!levels_.empty() && ++levels_.back().items > longest_list)
      refuse(place_, fmt::format("its JSON has more than {} items in a list", longest_list), "fewer");
    return true;
  }

  bool enter() {
    see_item();
    if (levels_.size() == deepest)
      refuse(place_, fmt::format("its JSON has more than {} levels", deepest), "fewer");
    levels_.emplace_back();
    return true;
  }

  bool leave() {
    levels_.pop_back();
    return true;
  }

  std::string_view place_;
  bool keeps_order_;
  std::vector<Level> levels_;
};

}  // namespace

template <class Json>
Json parse_json(std::string_view text, std::string_view place) {
  Strictness strictness(place, std::is_same_v<Json, nlohmann::ordered_json>);
  json::sax_parse(text.begin(), text.end(), &strictness);
  return Json::parse(text.begin(), text.end());
}

template json parse_json<json>(std::string_view, std::string_view);
template nlohmann::ordered_json parse_json<nlohmann::ordered_json>(std::string_view, std::string_view);

}  // namespace attn
