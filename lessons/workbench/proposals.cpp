#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "attn/text/tokens.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/entry.hpp"
#include "trace/wording.hpp"

namespace lessons {

namespace {

constexpr std::size_t columns_of_a_page = 76;

using Values = std::vector<std::string>;

/// The options of a command and their values: none of a flag, several of one that is repeated.
using Said = std::map<std::string, Values, std::less<>>;

Said options_said(const std::vector<std::string>& words) {
  Said said;
  Values* values = nullptr;
  for (const auto& word : words)
    if (word.starts_with("--"))
      values = &said[word.substr(2)];
    else if (values != nullptr)
      values->push_back(word);
  return said;
}

/// The part of a lesson that a command is about.
const Lesson& part_said(const Lesson& lesson, const Said& said) {
  const auto through = said.find("through");
  const bool is_said = through != said.end() && !through->second.empty();
  return part_of(lesson, is_said ? through->second.back() : lesson.defaults.through);
}

template <class Field>
bool has_values(const Field& field, const Values& values) {
  if constexpr (std::is_same_v<Field, bool>)
    return field;
  else if constexpr (std::is_same_v<Field, Values>)
    return values == field;
  else if constexpr (std::is_same_v<Field, std::optional<std::string>>)
    return values == Values{field.value_or("none")};
  else
    return values == Values{text_of(field)};
}

/// Whether a run of the lesson with these options is what the command asks for.
bool is_in_effect(const std::string& command, const Lesson& lesson, const Options& options) {
  const auto words = attn::shell_words(command);
  const auto said = options_said(words);
  std::size_t in_effect = 0;
  visit_options(options, [&](const OptionInfo& info, const auto& field) {
    const auto one = said.find(info.flag);
    if (one != said.end() && lesson.uses(info.key) && has_values(field, one->second)) ++in_effect;
  });
  return words.front() == lesson.name && in_effect == said.size();
}

/// The proposals without those that are in effect; in the place of each comes one of `spare` that is not, as
/// long as there are any.
std::vector<Proposal> without_those_in_effect(const std::vector<Proposal>& proposals,
                                              const std::vector<Proposal>& spare, const Plan& plan) {
  const auto is_new = [&](const Proposal& proposal) {
    return !is_in_effect(proposal.first, *plan.lesson, plan.options);
  };
  auto next = std::find_if(spare.begin(), spare.end(), is_new);
  std::vector<Proposal> kept;
  for (const auto& proposal : proposals) {
    if (is_new(proposal)) {
      kept.push_back(proposal);
    } else if (next != spare.end()) {
      kept.push_back(*next);
      next = std::find_if(next + 1, spare.end(), is_new);
    }
  }
  return kept;
}

/// The text in the quotes that a shell needs.
std::string as_word(const std::string& text) {
  if (text.find_first_of("\"$`\\!") == text.npos) return fmt::format("\"{}\"", text);
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format("'{}'", quoted);
}

/// " --causal --d-k 2": what a run of the lesson has otherwise than by default, but for what it starts from.
std::string changed_options(const Options& options, const Lesson& lesson, bool with_dimensions,
                            const std::function<bool(std::string_view)>& may_be_said) {
  std::vector<std::string_view> flags = {"causal", "window", "temperature", "mask"};
  if (with_dimensions) flags.insert(flags.end(), {"d-model", "heads", "kv-heads", "d-k", "d-v"});
  auto usual = usual_beside(lesson, options);
  usual.d_model = lesson.defaults.d_model.value_or(default_d_model);
  usual.heads = lesson.defaults.heads;
  std::string text;
  for (const auto flag : flags) {
    const auto own = config_of(options, {flag});
    if (!may_be_said(flag) || own == config_of(usual, {flag})) continue;
    auto said = attn::option_text(fmt::format(" --{}", flag), own.front().second);
    std::replace(said.begin(), said.end(), '=', ' ');
    text += said;
  }
  return text;
}

/// The command, whose --explain names tokens of the lesson's own sentence, with the tokens of this run that
/// stand in their places, and with the token for an index, "#2".
std::string with_own_tokens(const std::string& command, const Plan& plan) {
  const std::string flag = "--explain '";
  const auto start = command.find(flag);
  const auto open = start == command.npos ? start : command.find('[', start), close = command.find(']', open);
  if (open == command.npos || close == command.npos) return command;
  const auto usual = attn::tokenize(plan.lesson->defaults.sentence).tokens;
  const auto &queries = plan.query_tokens(), &keys = plan.key_tokens();
  if (usual.empty() || keys.size() == 0 || queries.size() == 0) return command;
  Values places;
  for (const auto piece :
       attn::pieces_of(std::string_view(command).substr(open + 1, close - open - 1), ", ")) {
    std::string place(piece);
    const bool is_last = piece.data() + piece.size() == command.data() + close;
    const auto& own = (is_last ? keys : queries).tokens.front();
    const auto found = std::find(usual.front().begin(), usual.front().end(), place);
    std::optional<double> index;
    if (place.starts_with('#')) index = attn::number_in(place.substr(1));
    if (found != usual.front().end() && !attn::contains(own, place))
      index = static_cast<double>(found - usual.front().begin());
    if (index) place = attn::token_name(own, std::min(static_cast<std::size_t>(*index), own.size() - 1));
    places.push_back(place);
  }
  return fmt::format("{}{}{}{}", command.substr(0, open + 1), plan.is_batched() ? "0, " : "",
                     fmt::join(places, ", "), command.substr(close));
}

/// The command with the sentences and the seed of this run where they are not those that `own_lesson` has by
/// default, the command's lesson takes them, and it says nothing else of what a run starts from. A command of
/// the same lesson keeps its masks, its temperature, the tensors of --input and --set where it says no
/// dimension, and, where no model brings them, its dimensions.
std::string with_own_options(const std::string& command, const Options& options, const Lesson& own_lesson) {
  const auto& usual = own_lesson.defaults;
  const auto words = attn::shell_words(command);
  const auto said = options_said(words);
  const auto* const lesson = lesson_named(words.front());
  const auto says = [&](const std::set<std::string_view>& flags) {
    return attn::any_of(said, [&](const auto& one) { return flags.count(one.first) > 0; });
  };
  if (lesson == nullptr || says({"sentence", "source", "target", "memory", "embeddings", "input", "set"}))
    return command;
  const bool is_of_dimensions = says({"model", "d-model", "heads", "kv-heads", "d-k", "d-v"});
  const bool is_of_own_lesson =
      lesson->name == own_lesson.name && part_said(*lesson, said).through == own_lesson.through;
  const bool keeps_tensors = options.gives_tensors() && is_of_own_lesson && !is_of_dimensions;
  auto whole = command;
  const auto add = [&](std::string_view flag, const std::vector<std::string>& texts,
                       const std::vector<std::string>& usual_texts) {
    if (texts == usual_texts || !lesson->uses(flag) || (texts.size() > 1 && !lesson->takes_batches)) return;
    for (const auto& text : texts) whole += fmt::format(" --{} {}", flag, as_word(text));
  };
  const bool takes_pair = lesson->uses("source") && lesson->uses("target");
  add("sentence", options.sentence, usual.sentence);
  if (takes_pair) {
    add("source", options.source, usual.source);
    add("target", options.target, usual.target);
  }
  if (options.seed != usual.seed && lesson->uses("seed") && !says({"seed"}))
    whole += fmt::format(" --seed {}", options.seed);
  if (!is_of_own_lesson) return whole;
  const bool is_drawn_anyway = options.unknown_word || !options.missing_model.empty() ||
                               !options.in_place_of_model.empty() ||
                               (!options.numbers.empty() && options.numbers != lesson->numbers);
  const bool wants_no_model =
      own_lesson.trained && !options.model && !is_drawn_anyway && !options.gives_tensors();
  if (wants_no_model && lesson->uses("model") && !says({"model"})) whole += " --model none";
  if (keeps_tensors) {
    for (const auto& path : options.input)
      if (options.numbers.empty() && !options.is_run_again)
        whole += fmt::format(" --input {}", as_word(path));
    for (const auto& text : options.set) whole += fmt::format(" --set {}", as_word(text));
  }
  const bool with_dimensions =
      !is_of_dimensions && !options.model && !options.gives_tensors() && !options.embeddings;
  return whole + changed_options(options, own_lesson, with_dimensions,
                                 [&](std::string_view flag) { return lesson->uses(flag) && !says({flag}); });
}

/// The lesson's options with the sentences and the seed of the run.
Options texts_of(const Plan& plan) {
  auto options = plan.lesson->defaults;
  options.take_texts_of(plan.options);
  options.seed = plan.options.seed;
  options.model = "none";  // is not to be said
  return options;
}

}  // namespace

void Workbench::try_next(const std::vector<Proposal>& commands, const std::vector<Proposal>& spare) const {
  if (is_mute()) return;
  std::vector<std::string> lines;
  for (const auto& [proposed, what_to_look_for] : without_those_in_effect(commands, spare, plan)) {
    const auto is_long = [&](const std::string& one) {  // tensors take room, and are what the run is about
      return attn::display_width("attnlab " + one) >
             (options.gives_tensors() ? 3 : 1) * std::size_t{columns_of_a_page};
    };
    const bool is_of_entry = proposed.find("--explain") != proposed.npos;  // that only this run has
    auto command = with_own_options(with_own_tokens(proposed, plan), options, *plan.lesson);
    if (is_long(command) && is_of_entry) continue;
    if (is_long(command)) command = with_own_options(proposed, texts_of(plan), *plan.lesson);
    if (is_long(command)) command = proposed;
    const auto whole = fmt::format("attnlab {}   {}", command, what_to_look_for);
    const bool fits = attn::display_width(whole) <= columns_of_a_page;
    lines.push_back(fits ? whole : "attnlab " + command);
    if (!fits) lines.push_back("    " + what_to_look_for);
  }
  trace.note("next", "Try next", "", fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace lessons
