#include "lessons/documents/front_matter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "document/prose.hpp"
#include "trace/number.hpp"

namespace lessons {

namespace {

/// Words as a shell cuts them: at blanks outside of double quotes.
std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words;
  bool is_quoted = false, begins = true;
  for (const char c : text) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == ' ' && !is_quoted) {
      begins = true;
      continue;
    }
    if (begins) words.emplace_back();
    begins = false;
    if (c != '"') words.back() += c;
  }
  return words;
}

template <class Number>
Number number_of(const std::string& text) {
  const auto number = attn::number_in(text);
  const bool fits =
      number && (std::is_floating_point_v<Number> || (*number >= 0.0 && *number == std::floor(*number)));
  if (!fits || !(*number <= static_cast<double>(std::numeric_limits<Number>::max())))
    throw attn::Error(fmt::format("\"{}\" is no number that fits", text));
  return static_cast<Number>(*number);
}

template <class T>
constexpr bool is_vector = false;
template <class T>
constexpr bool is_vector<std::vector<T>> = true;

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

template <class Field>
void set_field(Field& field, const std::string& value) {
  if constexpr (is_vector<Field>) {
    typename Field::value_type one;
    set_field(one, value);
    field.push_back(std::move(one));
  } else if constexpr (is_optional<Field>) {
    set_field(field.emplace(), value);
  } else if constexpr (std::is_same_v<Field, std::string>) {
    field = value;
  } else if constexpr (!std::is_same_v<Field, bool>) {
    field = number_of<Field>(value);
  }
}

bool has_key(const std::vector<std::string_view>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::vector<std::string_view> cut(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    parts.push_back(document::without_blanks(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

/// `translation, pairs, name = translation-transformer`
Trained trained_of(std::string_view model, const LessonCode& code) {
  const auto parts = cut(model);
  Trained trained{.task = parts.at(0), .give = code.give};
  const std::map<std::string_view, Reads> readers = {
      {"english", Reads::english}, {"pairs", Reads::pairs}, {"alike", Reads::alike}};
  const std::map<std::string_view, std::string_view*> names = {
      {"name", &trained.name}, {"words", &trained.words}, {"target words", &trained.target_words}};
  constexpr std::string_view equals = " = ";
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto at = parts[i].find(equals);
    const auto name = names.find(parts[i].substr(0, at));
    const auto reader = readers.find(parts[i]);
    if (at != std::string_view::npos && name != names.end())
      *name->second = parts[i].substr(at + equals.size());
    else if (reader != readers.end())
      trained.reads = reader->second;
    else
      throw attn::Error(
          fmt::format("model: a reader of {} is unknown; valid: english, pairs, alike, name = "
                      "…, words = …, target words = …",
                      parts[i]));
  }
  return trained;
}

}  // namespace

Options options_of(std::string_view arguments, const std::vector<std::string_view>& keys) {
  Options options;
  const auto words = shell_words(arguments);
  for (std::size_t i = 0; i < words.size(); ++i) {
    bool is_known = false;
    visit_options(options, [&](const OptionInfo& info, auto& field) {
      if (words[i] != fmt::format("--{}", info.flag) || !has_key(keys, info.key) || is_known) return;
      is_known = true;
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, bool>)
        field = true;
      else {
        if (++i == words.size()) throw attn::Error(fmt::format("--{} without a value", info.flag));
        set_field(field, words[i]);
      }
    });
    if (!is_known) throw attn::Error(fmt::format("\"{}\" is no option of the lesson", words[i]));
  }
  return options;
}

namespace {

/// What `read` makes of the value of a key; what is wrong with it is said with its place.
template <class Read>
auto from_front(const document::Document& document, std::string_view key, const Read& read) {
  try {
    return read(document.front(key));
  } catch (const attn::Error& error) {
    throw document::Error(document.place_of(key), error.what());
  }
}

}  // namespace

Lesson lesson_of(const std::string& name, const LessonCode& code) {
  const auto& document = document_named(name + ".md");
  const std::string_view file = document.file;
  Lesson lesson;
  lesson.name = file.substr(file.rfind('/') + 1, name.size());
  lesson.title = document.front("title");
  lesson.teaches = document.front("teaches");
  lesson.options = cut(document.front("options"));
  const auto options = [&](std::string_view arguments) { return options_of(arguments, lesson.options); };
  lesson.defaults = from_front(document, "defaults", options);
  lesson.examples = document.all_front("example");
  lesson.inputs = [&document, keys = lesson.options](const Options& given) {
    return inputs_of(document, keys, given);
  };
  lesson.run = code.run;
  const auto has = [&](std::string_view key) { return !document.front(key).empty(); };
  if (has("model"))
    lesson.trained =
        from_front(document, "model", [&](std::string_view model) { return trained_of(model, code); });
  if (has("probe"))
    lesson.probe =
        Probe{from_front(document, "probe", options), code.sharpen, cut(document.front("probe results"))};
  if (has("worksheet"))
    lesson.worksheet =
        Worksheet{from_front(document, "worksheet", options), cut(document.front("worksheet given"))};
  return lesson;
}

}  // namespace lessons
