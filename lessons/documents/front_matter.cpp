#include "lessons/documents/front_matter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <type_traits>

#include "attn/text/spelling.hpp"
#include "attn/text/trim.hpp"
#include "document/prose.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/trained/layers.hpp"
#include "page/svg/panel.hpp"

namespace lessons {

namespace {

template <class Number>
Number number_of(const std::string& text) {
  const auto number = attn::number_in(text);
  const bool fits =
      number && (std::is_floating_point_v<Number> || (*number >= 0.0 && *number == std::floor(*number)));
  if (!fits || !(*number <= static_cast<double>(std::numeric_limits<Number>::max())))
    throw attn::Error(fmt::format("\"{}\" is no number that fits; valid: {}", text,
                                  std::is_floating_point_v<Number> ? "a number" : "a whole number"));
  return static_cast<Number>(*number);
}

/// The parts between commas.
std::vector<std::string_view> cut(std::string_view text) {
  auto parts = attn::pieces_of(text, ",");
  for (auto& part : parts) part = attn::trimmed(part);
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

template <class Field>
void set_field(Field& field, const std::string& value) {
  if constexpr (std::is_same_v<Field, std::vector<std::size_t>>) {
    for (const auto number : cut(value)) field.push_back(number_of<std::size_t>(std::string(number)));
  } else if constexpr (is_list<Field>) {
    field.push_back(value);
  } else if constexpr (is_optional<Field>) {
    set_field(field.emplace(), value);
  } else if constexpr (std::is_same_v<Field, std::string>) {
    field = value;
  } else if constexpr (!std::is_same_v<Field, bool>) {
    field = number_of<Field>(value);
  }
}

/// `translation, pairs, name = translation-transformer`
Trained trained_of(std::string_view model, const LessonCode& code) {
  const auto parts = cut(model);
  Trained trained{.task = parts.at(0), .give = code.give, .hand_made = code.hand_made};
  const std::map<std::string_view, Reads> readers = {
      {"english", Reads::english}, {"pairs", Reads::pairs}, {"alike", Reads::alike}};
  const std::map<std::string_view, std::string_view*> names = {{"name", &trained.name},
                                                               {"words", &trained.words},
                                                               {"target words", &trained.target_words},
                                                               {"seed draws", &trained.seed_draws}};
  constexpr std::string_view equals = " = ";
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto at = parts[i].find(equals);
    const auto name = names.find(parts[i].substr(0, at));
    const auto reader = readers.find(parts[i]);
    if (at != std::string_view::npos && name != names.end())
      *name->second = parts[i].substr(at + equals.size());
    else if (parts[i].substr(0, at) == "replaceable" && at != std::string_view::npos)
      trained.replaceable.push_back(parts[i].substr(at + equals.size()));
    else if (reader != readers.end())
      trained.reads = reader->second;
    else
      throw attn::Error(
          fmt::format("model: a reader of {} is unknown; valid: english, pairs, alike, name = "
                      "…, words = …, target words = …, seed draws = …, replaceable = …",
                      parts[i]));
  }
  return trained;
}

/// `weights[1] as arcs (head 1)`
attn::Picture::Part part_of_picture(std::string_view text) {
  attn::Picture::Part part;
  if (const auto open = text.find(" ("); open != text.npos && text.ends_with(')')) {
    part.caption = text.substr(open + 2, text.size() - open - 3);
    text = text.substr(0, open);
  }
  if (const auto as = text.find(" as "); as != text.npos) {
    part.kind = text.substr(as + 4);
    if (attn::svg::kind_named(part.kind) == nullptr)
      throw attn::Error(fmt::format(
          "picture: \"{}\"; valid: … as heatmap, arcs, bars, stacks, lines, colours, palette or together",
          text));
    text = text.substr(0, as);
  }
  if (const auto open = text.find('['); open != text.npos && text.ends_with(']')) {
    std::size_t index = 0;
    const auto* const end = text.data() + text.size() - 1;
    if (std::from_chars(text.data() + open + 1, end, index).ptr != end)
      throw attn::Error(fmt::format("picture: \"{}\"; valid: weights[1], the head 1", text));
    part.index = index;
    text = text.substr(0, open);
  }
  part.id = text;
  return part;
}

/// `Who looks at whom = unmasked/weights (no mask), causal/weights | losses`
attn::Picture picture_of(std::string_view picture) {
  constexpr std::string_view equals = " = ";
  const auto at = picture.find(equals);
  if (picture.empty()) return {};
  if (at == picture.npos)
    throw attn::Error(fmt::format("picture: \"{}\"; valid: TITLE = ID, ID (CAPTION)", picture));
  attn::Picture result{std::string(picture.substr(0, at)), {}};
  constexpr std::string_view beside = " | ";
  for (auto part : cut(picture.substr(at + equals.size()))) {
    bool begins_column = false;
    for (auto end = part.find(beside);; end = part.find(beside)) {
      result.parts.push_back(part_of_picture(part.substr(0, end)));
      result.parts.back().begins_column = std::exchange(begins_column, true);
      if (end == part.npos) break;
      part.remove_prefix(end + beside.size());
    }
  }
  return result;
}

}  // namespace

Options options_of(std::string_view arguments, const std::vector<std::string_view>& keys) {
  Options options;
  const auto words = attn::shell_words(arguments);
  for (std::size_t i = 0; i < words.size(); ++i) {
    bool is_known = false;
    visit_options(options, [&](const OptionInfo& info, auto& field) {
      const bool is_taken = std::find(keys.begin(), keys.end(), info.key) != keys.end();
      if (words[i] != fmt::format("--{}", info.flag) || !is_taken || is_known) return;
      is_known = true;
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, bool>)
        field = true;
      else {
        if (++i == words.size()) throw attn::Error(fmt::format("--{} without a value", info.flag));
        try {
          set_field(field, words[i]);
        } catch (const attn::Error& error) {
          throw attn::Error(fmt::format("--{} {}", info.flag, error.what()));
        }
      }
    });
    if (!is_known)
      throw attn::Error(
          fmt::format("\"{}\" is no option of the lesson; valid: --{}", words[i], fmt::join(keys, ", --")));
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
    throw document::Error(document.front_source(key).place_of(0), error.what());
  }
}

/// What every document may call.
Functions functions_of_all() {
  Functions functions;
  add_fused_kernel(functions);
  add_models(functions);
  return functions;
}

constexpr std::array keys = {
    "title",         "teaches",   "options",         "defaults",  "example",   "model",    "probe",
    "probe results", "worksheet", "worksheet given", "code",      "lines",     "follow",   "axes",
    "set",           "page",      "after",           "functions", "sentences", "at least", "nan",
    "detail",        "rounded",   "picture",         "numbers",   "require"};

/// The keys of options, each known. Throws document::Error.
std::vector<std::string_view> options_in(const document::Document& document) {
  std::vector<std::string> valid;
  Options any;
  visit_options(any, [&](const OptionInfo& info, const auto&) { valid.emplace_back(info.key); });
  const auto source = document.front_source("options");
  const auto keys = cut(document.front("options"));
  for (const auto key : keys)
    if (std::find(valid.begin(), valid.end(), key) == valid.end())
      throw document::Error(source.place_of(source.text().find(key)),
                            fmt::format("\"{}\" is no option; {}", key, attn::valid_instead_of(key, valid)));
  return keys;
}

/// Throws document::Error for a key that no document has, and where one that each has is missing.
void require_known_keys(const document::Document& document) {
  const std::vector<std::string> valid(keys.begin(), keys.end());
  for (const auto& [key, value] : document.front_matter)
    if (std::find(valid.begin(), valid.end(), key.substr(0, key.find(" if "))) == valid.end())
      throw document::Error(value.place_of(0),
                            fmt::format("\"{}\" is no key; {}", key, attn::valid_instead_of(key, valid)));
  for (const auto* key : {"title", "teaches", "options"})
    if (document.front(key).empty())
      throw document::Error({document.file}, fmt::format("the front matter has no {0}; valid: {0}: …", key));
}

/// What may decide which inputs there are: whether there is a model and a second sentence, the sizes that are
/// given, and the switches.
std::vector<std::size_t> what_decides_inputs(const Options& options) {
  std::vector<std::size_t> given = {options.model.has_value(), !options.source.empty()};
  visit_options(options, [&](const OptionInfo&, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (is_optional<Field>) given.push_back(field.has_value());
    if constexpr (std::is_same_v<Field, std::optional<std::size_t>>) given.push_back(field.value_or(0));
    if constexpr (std::is_same_v<Field, bool>) given.push_back(field);
  });
  return given;
}

}  // namespace

Lesson lesson_of(const document::Document& document, std::string_view name, const LessonCode& code) {
  require_known_keys(document);
  Lesson lesson;
  lesson.name = name;
  lesson.title = document.front("title");
  lesson.teaches = document.front("teaches");
  lesson.options = options_in(document);
  const auto options = [&](std::string_view arguments) { return options_of(arguments, lesson.options); };
  lesson.of_detail = cut(document.front("detail"));
  lesson.defaults = from_front(document, "defaults", options);
  lesson.examples = document.all_front("example");
  using KnownInputs = std::map<std::vector<std::size_t>, std::vector<Input>>;
  lesson.inputs = [&document, keys = lesson.options,
                   known = std::make_shared<KnownInputs>()](const Options& given) {
    auto& inputs = (*known)[what_decides_inputs(given)];
    if (inputs.empty()) inputs = inputs_of(document, keys, given);
    return inputs;
  };
  lesson.takes_batches = from_front(document, "sentences", [](std::string_view sentences) {
    if (!sentences.empty() && sentences != "one")
      throw attn::Error(fmt::format("sentences: \"{}\"; valid: one, or no such line", sentences));
    return sentences.empty();
  });
  if (!document.front("numbers").empty()) lesson.numbers = document.front("numbers");
  lesson.picture = from_front(document, "picture", picture_of);
  lesson.run = [&document, prepare = code.prepare](Workbench& bench) {
    auto functions = functions_of_all();
    if (!rules_in(document).empty()) DocumentRun(bench, functions).require_rules_of(document);
    DocumentRun run(bench, functions);
    if (prepare != nullptr) prepare(run, functions);
    run.tell(document);
  };
  const auto has = [&](std::string_view key) { return !document.front(key).empty(); };
  if (has("model"))
    lesson.trained =
        from_front(document, "model", [&](std::string_view model) { return trained_of(model, code); });
  if (has("probe"))
    lesson.probe =
        Probe{from_front(document, "probe", options), code.sharpen, cut(document.front("probe results"))};
  lesson.document = &document;
  lesson.code = std::make_shared<const LessonCode>(code);
  if (has("worksheet"))
    lesson.worksheet =
        Worksheet{from_front(document, "worksheet", options), cut(document.front("worksheet given"))};
  if (code.inputs != nullptr) lesson.inputs = code.inputs;
  lesson.splits_heads = code.splits_heads;
  lesson.takes_source_alone = code.takes_source_alone;
  return lesson;
}

Lesson lesson_of(const std::string& name, const LessonCode& code) {
  const auto& document = document_named(name + ".md");
  const std::string_view file = document.file;
  return lesson_of(document, file.substr(file.rfind('/') + 1, name.size()), code);
}

Lesson lesson_of(const document::Document& document, std::string_view name,
                 const std::vector<const Lesson*>& lessons) {
  const auto functions = document.front("functions");
  if (functions.empty()) return lesson_of(document, name, {.give = give_about});
  std::vector<std::string> valid;
  for (const auto* lesson : lessons) {
    if (lesson->code != nullptr && lesson->name == functions) return lesson_of(document, name, *lesson->code);
    if (lesson->code != nullptr) valid.emplace_back(lesson->name);
  }
  throw document::Error(document.front_source("functions").place_of(0),
                        fmt::format("functions: {} is no lesson that is one document; {}", functions,
                                    attn::valid_instead_of(std::string(functions), valid)));
}

}  // namespace lessons
