#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/tokens.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/model.hpp"
#include "lessons/workbench/plan.hpp"
#include "trace/csv.hpp"
#include "trace/event.hpp"
#include "trace/json/json.hpp"

namespace lessons {

namespace {

using attn::Error;
using attn::StoredTensor;

constexpr std::string_view of_file = "--input", of_set = "--set";

bool is_input(const StoredTensor& tensor) {
  return tensor.kind.value_or(attn::Kind::input) == attn::Kind::input;
}

/// A length and the tensor that says so.
struct Fact {
  std::size_t length;
  std::string tensor;         ///< "X is (6 token × 8 d_model)"
  std::string short_form;     ///< "X has d_model 8"
  std::string_view option{};  ///< that gives it
  std::string id{}, axis{};
  std::size_t axis_length = 0;
};

/// "a" to "z", then "aa" and so on.
std::string letters_of(std::size_t i) {
  constexpr std::size_t letters = 26;
  const std::string last(1, static_cast<char>('a' + i % letters));
  return i < letters ? last : letters_of(i / letters - 1) + last;
}

/// "a b c": a letter cannot be taken for an index, as a number would be.
std::string lettered_tokens(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : " ") + letters_of(i);
  return text;
}

/// The sentences of one text of the lesson as the tensors have them: how many there are and how long.
struct Wanted {
  std::optional<std::size_t> batch{};
  std::optional<std::size_t> length{};
  std::vector<std::size_t> lengths{};  ///< of each sentence, where they are given
};

/// What the given inputs say, by dimension: keys of options, texts, and "batch"; and the options that follow.
class Facts {
 public:
  Facts(const Lesson& lesson, const GivenInputs& given, Options& options)
      : lesson_(lesson), given_(given), options_(options) {}

  void follow() {
    follow_values();
    follow_heads();
    part_queries_from_keys();
    for (const auto& tensor : given_.tensors())
      if (is_input(tensor)) learn_from(tensor);
    follow_dimensions();
    follow_texts();
    follow_memory();
  }

 private:
  const Fact* find(std::string_view dimension) const {
    return attn::value_in(facts_, std::string(dimension));
  }

  /// Whether a decoder is given a source alone. A mask may be that of such a decoder: only X_target teaches
  /// one.
  bool writes_by_itself() const {
    const auto* X_target = given_.find("X_target");
    const bool is_taught = X_target != nullptr && is_input(*X_target);
    return lesson_.takes_source_alone && !options_.source.empty() && options_.target.empty() && !is_taught;
  }

  void learn_from(const StoredTensor& tensor) {
    for (const auto length : tensor.shape)
      if (length == 0)
        throw Error(fmt::format("{} in {} has the shape ({}); valid: no axis of length 0", tensor.id,
                                given_.option_of(tensor.id), attn::to_string(tensor.shape)));
    const auto input = find_input(lesson_, options_, tensor.id);
    if (!input || input->draw == Draw::option) return;
    auto extents = extents_of(lesson_, *input, options_);
    if (tensor.shape.size() == extents.size() + 1)
      extents.insert(extents.begin(), {.name = "batch", .dimension = "batch"});
    std::vector<std::string> axes;
    for (const auto& extent : extents) axes.push_back(extent.name);
    if (tensor.shape.size() != extents.size())
      throw Error(fmt::format("{} in {} has the shape ({}); valid: the axes {}", tensor.id,
                              given_.option_of(tensor.id), attn::to_string(tensor.shape),
                              fmt::join(axes, " × ")));
    const auto description = fmt::format("{} is {}", tensor.id, attn::shape_with_axes(tensor.shape, axes));
    for (std::size_t i = 0; i < extents.size(); ++i)
      learn(extents[i], tensor.shape[i], tensor.id, description);
  }

  void learn(const Extent& extent, std::size_t axis_length, const std::string& id,
             const std::string& description) {
    if (extent.dimension.empty() || extent.may_be_longer) return;
    if (extent.dimension == "target" && writes_by_itself()) return;
    if (axis_length <= extent.offset || (axis_length - extent.offset) % extent.multiplier != 0)
      throw Error(fmt::format("{} in {}: its axis {} is {} long; valid: {}a multiple of {}", description,
                              given_.option_of(id), extent.name, axis_length,
                              extent.offset == 0 ? "" : "1 more than ", extent.multiplier));
    const auto length = (axis_length - extent.offset) / extent.multiplier;
    const auto name = name_of_option(extent.dimension);
    const Fact fact{length,
                    description,
                    fmt::format("{} has {} {}", id, name == "sentence" ? "token" : name, length),
                    given_.option_of(id),
                    id,
                    extent.name,
                    axis_length};
    const auto [known, is_new] = facts_.emplace(extent.dimension, fact);
    if (!is_new && known->second.length != length) refuse_pair(fact, known->second);
  }

  /// ", or --heads 4 --kv-heads 2", where keys and values have fewer heads than queries.
  std::string fitting_heads(const Fact& a, const Fact& b) const {
    const auto [few, many] = std::minmax(a.axis_length, b.axis_length);
    if (!lesson_.uses("kv-heads") || !options_.heads || !a.axis.starts_with("head·") ||
        !b.axis.starts_with("head·") || many % few != 0)
      return "";
    const auto sharing = many / few;
    auto heads = *options_.heads;
    if (!options_.is_typed("heads")) heads = (heads + sharing - 1) / sharing * sharing;
    if (heads % sharing != 0) return "";
    return fmt::format(", or --heads {} --kv-heads {}: {} queries to a key", heads, heads / sharing, sharing);
  }

  [[noreturn]] void refuse_pair(const Fact& a, const Fact& b) const {
    if (a.id == b.id)
      throw Error(fmt::format("{} in {}: {} and {} are the same tokens; valid: the same length for both",
                              a.tensor, a.option, b.axis, a.axis));
    const auto places = a.option == b.option ? fmt::format("both in {}", a.option)
                                             : fmt::format("one in {} and one in {}", a.option, b.option);
    throw Error(fmt::format("{} but {}, {}; valid: the same length in both{}", a.tensor, b.short_form, places,
                            fitting_heads(a, b)));
  }

  std::vector<std::size_t> counts_in(std::string_view id) const {
    const auto tensor = given_.read(id);
    std::vector<std::int64_t> numbers(attn::element_count(tensor.shape()));
    const auto name = fmt::format("{} in {}", id, given_.option_of(id));
    attn::copy_elements(name, tensor, attn::Dtype::int64, numbers.data());
    for (const auto number : numbers)
      if (number < 1) throw Error(fmt::format("{} has {}; valid: whole numbers of 1 or more", name, number));
    return {numbers.begin(), numbers.end()};
  }

  /// Lets one option that counts something be as a tensor has it.
  void set_count(const OptionInfo& info, std::optional<std::size_t>& count, const Fact& fact) const {
    if (options_.is_typed(info.key) && count && *count != fact.length)
      throw Error(fmt::format("--{} {} contradicts {}, where {}; valid: --{} {} or none", info.flag, *count,
                              fact.option, fact.tensor, info.flag, fact.length));
    count = fact.length;
  }

  void follow_dimensions() {
    visit_options(options_, [&](const OptionInfo& info, auto& field) {
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::optional<std::size_t>>) {
        const auto* fact = find(info.key);
        if (fact != nullptr && lesson_.uses(info.key)) set_count(info, field, *fact);
      }
    });
  }

  void follow_values() {
    for (const auto& tensor : given_.tensors()) {
      const auto input = find_input(lesson_, options_, tensor.id);
      if (!input || input->draw != Draw::option || !is_input(tensor)) continue;
      const auto key = input->option;
      const auto option = given_.option_of(tensor.id);
      const auto counts = counts_in(tensor.id);
      visit_options(options_, [&](const OptionInfo& info, auto& field) {
        if (info.key != key) return;
        using Field = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, std::vector<std::size_t>>) {
          if (options_.is_typed(info.key) && field != counts)
            throw Error(fmt::format("--{} {} contradicts {}, where {} is {}; valid: one of the two",
                                    info.flag, fmt::join(field, ","), option, tensor.id,
                                    fmt::join(counts, ",")));
          field = counts;
        }
        if constexpr (std::is_same_v<Field, std::optional<std::size_t>>) {
          const auto description = fmt::format("{} is {}", tensor.id, fmt::join(counts, ","));
          if (counts.size() == 1) set_count(info, field, {counts[0], description, "", option});
        }
      });
    }
  }

  /// Lets the sentences of a text be as many and as long as the tensors have them. `own` are the lesson's.
  void follow_text(std::string_view flag, std::vector<std::string>& texts,
                   const std::vector<std::string>& own) {
    const auto [batch, length, lengths] = wanted_of(flag);
    if (!batch && !length && lengths.empty()) return;
    const auto& candidates = texts.empty() ? own : texts;
    const auto tokens =
        tokens_for(lesson_, options_, candidates, flag == "target" ? Side::target : Side::source);
    const bool fits = tokens.size() == batch.value_or(1) && (!length || tokens.length() == *length) &&
                      (lengths.empty() || tokens.lengths() == lengths);
    if (!candidates.empty() && fits) return;
    if (options_.is_typed(flag)) {
      const bool differ_in_number = tokens.size() != batch.value_or(1);
      const auto* fact = find(differ_in_number || find(flag) == nullptr ? "batch" : flag);
      throw Error(fmt::format(
          "--{} has {} of up to {} tokens, which contradicts {}; valid: as many tokens, or no --{}", flag,
          tokens.size() == 1 ? "1 text" : fmt::format("{} texts", tokens.size()), tokens.length(),
          fact == nullptr ? "the given lengths" : fmt::format("{}, where {}", fact->option, fact->tensor),
          flag));
    }
    const auto otherwise = candidates.empty() ? 1 : tokens.length();
    texts.clear();
    for (std::size_t sample = 0; sample < batch.value_or(1); ++sample)
      texts.push_back(lettered_tokens(lengths.empty() ? length.value_or(otherwise) : lengths[sample]));
  }

  Wanted wanted_of(std::string_view flag) const {
    Wanted wanted;
    if (const auto* fact = find(flag)) wanted.length = fact->length;
    if (const auto* fact = find("batch")) wanted.batch = fact->length;
    if (flag == "target" || given_.find("lengths") == nullptr) return wanted;
    const auto lengths = counts_in("lengths");
    const auto option = given_.option_of("lengths");
    if (lengths.empty()) return wanted;
    if (wanted.length && *std::max_element(lengths.begin(), lengths.end()) > *wanted.length)
      throw Error(fmt::format("lengths in {} is {}, but {}; valid: lengths up to {}", option,
                              fmt::join(lengths, ", "), find(flag)->tensor, *wanted.length));
    if (wanted.batch && *wanted.batch != lengths.size())
      throw Error(fmt::format("lengths in {} has {} entries, but {}; valid: one for each sample", option,
                              lengths.size(), find("batch")->tensor));
    wanted.lengths = lengths;
    wanted.batch = lengths.size();
    return wanted;
  }

  void follow_memory() {
    const auto* fact = find("memory");
    if (fact == nullptr) return;
    const auto tokens = options_.memory ? attn::tokenize(*options_.memory).size() : 0;
    if (tokens == fact->length) return;
    if (options_.is_typed("memory"))
      throw Error(fmt::format("--memory has {} tokens, which contradicts {}, where {}; valid: as many tokens",
                              tokens, fact->option, fact->tensor));
    options_.memory = lettered_tokens(fact->length);
  }

  void follow_texts() {
    const auto& own = lesson_.defaults;
    if (lesson_.uses("sentence") && !options_.has_pair())
      return follow_text("sentence", options_.sentence, own.sentence);
    if (!lesson_.uses("source")) return;
    follow_text("source", options_.source, own.source);
    if (writes_by_itself()) return;
    follow_text("target", options_.target, own.target);
    if (options_.source.empty() && !options_.target.empty()) options_.source = own.source;
    if (options_.target.empty() && !options_.source.empty()) options_.target = own.target;
  }

  /// A lesson on one sentence or two is on two where the queries are not as many as the keys.
  void part_queries_from_keys() {
    const bool may_be_either = lesson_.uses("sentence") && lesson_.uses("source");
    const auto* Q = given_.find("Q");
    const auto* K = given_.find("K");
    if (!may_be_either || options_.has_pair() || options_.is_typed("sentence") || Q == nullptr ||
        K == nullptr)
      return;
    if (Q->shape.size() < 2 || K->shape.size() < 2) return;
    const auto queries = Q->shape[Q->shape.size() - 2], keys = K->shape[K->shape.size() - 2];
    if (queries == keys || queries == 0 || keys == 0) return;
    options_.sentence.clear();
    options_.source = {lettered_tokens(keys)};
    options_.target = {lettered_tokens(queries)};
  }

  /// Weights with one axis more than those of a single head are of as many heads as that is long, where they
  /// are of one sentence, have a batch axis besides, or their trace says so.
  void follow_heads() {
    if (options_.heads || !lesson_.uses("heads") || options_.is_typed("heads")) return;
    for (const auto& input : lesson_.inputs(options_)) {
      if (input.axes.empty() || input.axes.front() != "[head]") continue;
      const auto* tensor = given_.find(input.id);
      if (tensor == nullptr || !is_input(*tensor)) continue;
      const auto rank = tensor->shape.size();
      if (rank != input.axes.size() + 1 && rank != input.axes.size()) continue;
      const auto heads = tensor->shape[rank - input.axes.size()];
      const bool is_of_one = options_.sentence.size() == 1 && options_.is_typed("sentence");
      const bool is_said =
          attn::contains(given_.header().config, {"heads", static_cast<std::int64_t>(heads)});
      if (rank > input.axes.size() || is_of_one || is_said) options_.heads = heads;
    }
  }

  const Lesson& lesson_;
  const GivenInputs& given_;
  Options& options_;
  std::map<std::string, Fact> facts_;
};

constexpr std::string_view valid_setting = "ID=[[1,0],[0,1]], ID=identity or ID=@FILE.csv";

struct Setting {
  std::string id;
  std::string value;
  std::string place;  ///< "--set X=[[1,0],[0,1]]", as messages name it
};

/// An id may have "=" in it, and so may the name of a file, but no "@" is in an id.
Setting parse_setting(const std::string& text) {
  const auto place = "--set " + attn::shorten(text.empty() ? "\"\"" : text, 60);
  const auto before_file = text.find("=@");
  const auto equals = before_file == std::string::npos ? text.rfind('=') : before_file;
  if (equals == std::string::npos) attn::refuse(place, "it has no =", valid_setting);
  const auto id = text.substr(0, equals);
  if (!attn::is_valid_id(id))
    attn::refuse(place, fmt::format("{} is the id of no input", attn::in_message(id)), valid_setting);
  return {id, text.substr(equals + 1), place};
}

/// Whether a value begins as JSON of a tensor does.
bool is_json(std::string_view value) {
  constexpr std::string_view beginnings = "[-0123456789tf\"";
  const auto first = value.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && beginnings.find(value[first]) != std::string_view::npos;
}

/// The matrix in a file, or its only row for an input with a single axis.
attn::AnyTensor read_rows(const Lesson& lesson, const Options& options, const Setting& setting) {
  auto matrix = attn::read_csv(setting.value.substr(1));
  const auto input = find_input(lesson, options, setting.id);
  const bool is_vector = input && extents_of(lesson, *input, options).size() == 1;
  if (!is_vector || matrix.shape()[0] != 1) return matrix;
  return attn::AnyTensor(attn::TensorView{matrix.dtype(), {matrix.shape()[1]}, matrix.view().data});
}

/// A mask with 1 for what it had 0 for.
attn::AnyTensor turned(const attn::AnyTensor& mask) {
  attn::AnyTensor other(attn::Dtype::float64, mask.shape());
  for (std::size_t i = 0; i < attn::element_count(mask.shape()); ++i)
    other.elements<double>()[i] = 1.0 - mask.view().at(i);
  return other;
}

SetInput read_setting(const Lesson& lesson, const Options& options, const Setting& setting) {
  if (setting.value == "identity") return {setting.id, std::nullopt};
  const bool is_file = setting.value.size() > 1 && setting.value.front() == '@';
  if (!is_file && !is_json(setting.value))
    attn::refuse(setting.place, "its value is no tensor", valid_setting);
  auto tensor =
      is_file ? read_rows(lesson, options, setting) : attn::parse_tensor(setting.value, setting.place);
  const bool is_turned =
      attn::last_of_path(setting.id) == "mask" && options.mask_true == attn::MaskTrue::hidden;
  return {setting.id, is_turned ? turned(tensor) : std::move(tensor)};
}

}  // namespace

GivenInputs::GivenInputs(const attn::StoredTrace* file, std::vector<SetInput> set) {
  for (auto& [id, tensor] : set)
    if (tensor)
      add({.id = id}, std::move(*tensor));
    else
      identities_.push_back(id);
  count_of_set_ = tensors_.size();
  if (file == nullptr) return;
  header_ = file->header();
  for (std::size_t i = 0; i < file->tensors().size(); ++i)
    add(file->tensors()[i], [file, i] { return file->read(i); });
}

std::string_view GivenInputs::option_of(std::string_view id) const {
  const auto* tensor = find(id);
  return tensor != nullptr && tensor < tensors_.data() + count_of_set_ ? of_set : of_file;
}

attn::GivenTensors GivenInputs::read_inputs() const {
  attn::GivenTensors given;
  for (const auto& id : identities_) given.emplace(id, attn::Given(attn::Identity(), of_set));
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (is_input(tensors_[i]))
      given.emplace(tensors_[i].id, attn::Given(read(i), option_of(tensors_[i].id)))
          .first->second.may_be_step = i >= count_of_set_ && !tensors_[i].kind;
  return given;
}

void follow_config(const Lesson& lesson, const attn::StoredTrace& file, Options& options) {
  if (file.header().lesson != lesson.name) return;
  auto kept = options.typed;
  kept.insert({"define", "code"});  // what a run did otherwise is no input of the next
  if (options.has_texts()) kept.insert({"sentence", "source", "target"});
  const auto& config = file.header().config;
  restore(options, lesson.options, kept, config);
  options.is_run_again = true;
  for (const auto& [name, value] : config) {
    const auto* text = std::get_if<std::string>(&value);
    const auto* lists = std::get_if<std::vector<std::vector<std::string>>>(&value);
    if (name == "unknown_word" && text != nullptr) options.unknown_word = *text;
    if (name == attn::origin_of_numbers && text != nullptr) options.numbers = *text;
    if (name == "read_as" && lists != nullptr)
      for (const auto& pair : *lists)
        if (pair.size() == 2) options.read_as[pair[0]] = pair[1];
    if (name == "vocabulary" && lists != nullptr && lists->size() == 1) options.vocabulary = lists->front();
  }
  const bool has_draws = attn::any_of(config, [](const auto& member) { return member.first == "draws"; });
  if (!has_draws && kept.count("draws") == 0) options.draws = "stream";
}

void follow_inputs(const Lesson& lesson, const GivenInputs& given, Options& options) {
  Facts(lesson, given, options).follow();
}

std::vector<SetInput> read_set_inputs(const Lesson& lesson, const Options& options,
                                      const attn::StoredTrace* file) {
  std::vector<SetInput> inputs;
  for (const auto& text : options.set) {
    const auto setting = parse_setting(text);
    if (attn::find_by_id(inputs, setting.id) != nullptr)
      attn::refuse(setting.place, fmt::format("{} is set twice", setting.id), "each input once");
    const auto* stored = file == nullptr ? nullptr : file->find(setting.id);
    const bool is_in_file = stored != nullptr && is_input(*stored);
    if (is_in_file && options.is_typed("set"))
      attn::refuse(setting.place, fmt::format("{} is in --input, too", setting.id), "one of the two");
    if (!is_in_file) inputs.push_back(read_setting(lesson, options, setting));
  }
  return inputs;
}

}  // namespace lessons
