#include "lessons/workbench/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "attn/budget.hpp"
#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "attn/text/trim.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/model.hpp"
#include "lessons/workbench/own_inputs.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

namespace {

using attn::Error;

constexpr double largest_temperature = 1e6;
constexpr std::size_t most_ranks = 64, most_layers = 10'000;

/// "6 or 9": the multiples of `divisor` on either side of `number`.
std::string nearest_multiples(std::size_t number, std::size_t divisor) {
  const auto below = number / divisor * divisor;
  return below == 0 ? fmt::format("{}", divisor) : fmt::format("{} or {}", below, below + divisor);
}

/// "2 or 4": the divisors of `number` on either side of `wanted`.
std::string nearest_divisors(std::size_t number, std::size_t wanted) {
  if (wanted > number) return fmt::format("{}", number);
  auto below = wanted, above = wanted;
  while (number % below != 0) --below;
  while (number % above != 0) ++above;
  return fmt::format("{} or {}", below, above);
}

void fill_in_sentences(const Lesson& lesson, Options& options) {
  const bool has_pair = options.has_pair();
  if (!options.has_texts()) options.take_texts_of(lesson.defaults);
  if (!options.sentence.empty() && has_pair)
    throw Error(
        "--sentence goes with neither --source nor --target; valid: one sentence for both, or one for each");
  const bool lacks_target = options.target.empty() && !lesson.takes_source_alone;
  if (has_pair && (options.source.empty() || lacks_target))
    throw Error(fmt::format("--{} is given without --{}; valid: both{}",
                            options.source.empty() ? "target" : "source",
                            options.source.empty() ? "source" : "target",
                            lesson.takes_source_alone ? ", or --source alone" : ""));
}

void check_batches(const Lesson& lesson, const Options& options) {
  for (const auto& [flag, texts] :
       {std::pair("sentence", &options.sentence), {"source", &options.source}, {"target", &options.target}}) {
    if (lesson.takes_batches || texts->size() < 2) continue;
    if (options.is_typed(flag))
      throw Error(fmt::format("--{} is given {} times, but {} takes no batch; valid: once", flag,
                              texts->size(), lesson.name));
    throw Error(fmt::format(
        "the tensors of {} are of {} samples, but {} takes no batch; valid: those of one, without "
        "an axis before tokens",
        options.input.empty() ? "--set" : "--input", texts->size(), lesson.name));
  }
  const bool has_target = !options.target.empty() || !lesson.takes_source_alone;
  if (has_target && options.source.size() != options.target.size())
    throw Error(fmt::format("{} --source but {} --target are given; valid: as many of one as of the other",
                            options.source.size(), options.target.size()));
}

/// Options of most types have no range of their own.
template <class Field>
void check_range(const OptionInfo& info, const Field& field) {
  if constexpr (std::is_same_v<Field, std::string>) {
    const auto choices = attn::split(info.value, '|');
    if (!attn::contains(choices, field))
      throw Error(fmt::format("--{} {} is unknown; valid: {}", info.flag, field, fmt::join(choices, ", ")));
  } else if constexpr (std::is_same_v<Field, std::optional<std::size_t>>) {
    if (field && *field < smallest_count(info))
      throw Error(fmt::format("--{} {} leaves nothing to compute; valid: {} or more", info.flag, *field,
                              smallest_count(info)));
  } else if constexpr (std::is_same_v<Field, std::optional<double>>) {
    if (field && !(*field > 0.0 && std::isfinite(*field)))
      throw Error(fmt::format("--{} {} is out of range; valid: a number above 0", info.flag, *field));
  } else if constexpr (std::is_same_v<Field, std::vector<std::size_t>>) {
    for (const auto count : field) check_range(info, std::optional(count));
  }
}

/// PyTorch has one stream.
void settle_draws(Options& options) {
  if (options.rng != "torch") return;
  if (options.draws == "name" && options.is_typed("draws"))
    throw Error(
        "--draws name does not go with --rng torch, which draws all numbers from one stream; valid: --draws "
        "stream or none, or --rng legacy or pcg64");
  options.draws = "stream";
}

void check_ranges(const Options& options) {
  if (!(options.dropout >= 0.0 && options.dropout < 1.0))
    throw Error(
        fmt::format("--dropout {} is no probability of dropping a weight; valid: 0 or more and less than 1",
                    options.dropout));
  if (!(options.temperature >= 1.0 / largest_temperature && options.temperature <= largest_temperature))
    throw Error(fmt::format("--temperature {} cannot divide scores; valid: a number from {:g} to {:g}",
                            options.temperature, 1.0 / largest_temperature, largest_temperature));
  if (options.ranks && *options.ranks > most_ranks)
    throw Error(fmt::format("--ranks {} are more than a page can follow; valid: 1 to {}", *options.ranks,
                            most_ranks));
  if (options.layers && *options.layers > most_layers)
    throw Error(fmt::format("--layers {} are too many; valid: 1 to {}", *options.layers, most_layers));
  check_weight_scale(options);
  visit_options(options, [](const OptionInfo& info, const auto& field) { check_range(info, field); });
}

void fill_in_d_model(const Lesson& lesson, Options& options,
                     const std::optional<attn::WordVectors>& vectors) {
  if (!lesson.uses("d-model")) return;
  if (vectors && options.is_typed("d-model") && *options.d_model != vectors->dimension())
    throw Error(
        fmt::format("--d-model {} contradicts {}, whose vectors have {} numbers; valid: --d-model {} or none",
                    *options.d_model, *options.embeddings, vectors->dimension(), vectors->dimension()));
  if (vectors)
    options.d_model = vectors->dimension();
  else if (!options.d_model)
    options.d_model = default_d_model;
}

/// d_k = d_v = d_model / heads, where they are not given.
void fill_in_head_dimensions(const Lesson& lesson, Options& options) {
  if (!lesson.uses("d-k") && !lesson.uses("d-v") && !lesson.uses("heads")) return;
  const auto per_head = options.d_model.value_or(default_d_model) / options.heads.value_or(1);
  if (!options.d_k) options.d_k = per_head;
  if (!options.d_v) options.d_v = per_head;
}

void fill_in_sizes(const Lesson& lesson, Options& options) {
  const auto d_model = options.d_model.value_or(default_d_model);
  if (lesson.uses("hidden") && !options.hidden) options.hidden = d_model;
  if (lesson.uses("d-a") && !options.d_a) options.d_a = options.hidden.value_or(d_model);
  if (lesson.uses("d-ff") && !options.d_ff) options.d_ff = 4 * d_model;
  if (lesson.uses("new-tokens") && !options.new_tokens) options.new_tokens = lesson.defaults.new_tokens;
  if (lesson.uses("layers") && !options.layers) options.layers = lesson.defaults.layers;
  if (lesson.uses("features") && lesson.uses("d-k") && !options.features) options.features = 2 * *options.d_k;
}

/// Of the ways in which a recurrent decoder attends only one has heads.
void fill_in_heads(const Lesson& lesson, Options& options) {
  constexpr std::size_t default_heads = 2;
  if (!lesson.uses("attention")) return;
  const bool has_heads = options.attention == "multihead";
  if (options.heads && !has_heads)
    throw Error(
        fmt::format("--heads {} needs --attention multihead with it, not {}; valid: both or no --heads",
                    *options.heads, options.attention));
  if (has_heads && !options.heads) options.heads = default_heads;
}

void fill_in_kv_heads(const Lesson& lesson, Options& options) {
  if (!lesson.uses("kv-heads") || (!options.heads && !options.kv_heads)) return;
  if (!options.heads)
    throw Error(fmt::format("--kv-heads {} needs --heads with it; valid: --heads {} or a multiple of it",
                            *options.kv_heads, *options.kv_heads));
  if (!options.kv_heads) options.kv_heads = options.heads;
}

/// Whether the heads divide what is divided among them. `given` are the options as they were before any was
/// filled in.
void check_heads(const Lesson& lesson, const Options& given, const Options& options) {
  if (!options.heads || !lesson.splits_heads) return;
  const auto heads = *options.heads;
  const auto width = options.hidden.value_or(options.d_model.value_or(default_d_model));
  const auto flag = options.hidden ? "--hidden" : "--d-model";
  const bool has_width = lesson.uses("d-model") || lesson.uses("hidden");
  if (has_width && !(given.d_k && given.d_v) && width % heads != 0)
    throw Error(fmt::format("--heads {} does not divide {} {}; valid: --heads {}{} {} {}{}", heads, flag,
                            width, nearest_divisors(width, heads), lesson.uses("d-v") ? "," : " or", flag,
                            nearest_multiples(width, heads),
                            lesson.uses("d-v") ? ", or both --d-k and --d-v" : ""));
  if (options.kv_heads && heads % *options.kv_heads != 0)
    throw Error(fmt::format("--kv-heads {} does not divide --heads {}; valid: --kv-heads {}",
                            *options.kv_heads, heads, nearest_divisors(heads, *options.kv_heads)));
}

/// Options with their default value; sentences, the seed and dimensions of what the page shows are never
/// among them.
std::set<std::string> usual_values(const attn::Config& config, const attn::Config& defaults,
                                   const std::vector<std::string_view>& of_detail) {
  std::set<std::string> usual;
  for (std::size_t i = 0; i < config.size(); ++i) {
    const auto& [name, value] = config[i];
    const bool may_be_left_out = std::holds_alternative<double>(value) ||
                                 std::holds_alternative<std::string>(value) ||
                                 attn::contains(of_detail, key_of_option(name));
    if (may_be_left_out && value == defaults[i].second) usual.insert(name);
  }
  return usual;
}

/// The CRC-32 of the bytes of a file.
std::uint32_t checksum_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint32_t checksum = 0;
  std::array<char, 65536> bytes{};
  while (file.read(bytes.data(), bytes.size()) || file.gcount() > 0)
    checksum = attn::crc32({bytes.data(), static_cast<std::size_t>(file.gcount())}, checksum);
  return checksum;
}

/// "mine.npz (CRC-32 3610a686)", "model.npz:layers.0 (CRC-32 3610a686)": a file that gives inputs. A pipe can
/// be read only once, and a folder has many files.
std::string name_of_input(const std::filesystem::path& path) {
  const auto file = file_of_input(path);
  if (std::filesystem::is_directory(file))
    return path.filename().empty() ? path.string() : path.filename().string();
  if (!std::filesystem::is_regular_file(file)) return "a pipe";
  return fmt::format("{} (CRC-32 {:08x})", path.filename().string(), checksum_of(file));
}

/// The files that give inputs. A trace that is run again stands in its options.
std::vector<std::string> files_of_inputs(const Options& options) {
  if (options.is_run_again || !options.numbers.empty()) return {};
  std::vector<std::string> files;
  std::transform(options.input.begin(), options.input.end(), std::back_inserter(files), name_of_input);
  return files;
}

/// Whether the seed decides an input.
bool draws_inputs(const Plan& plan) {
  const auto drawn = plan.inputs_to_draw();
  if (plan.given.empty() || drawn.empty()) return !drawn.empty();
  struct Found {};
  try {  // what is given decides what is there at all
    run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
      if (tapped.kind == attn::Kind::input && drawn.count(tapped.id) > 0) throw Found();
    });
  } catch (const Found&) {
    return true;
  }
  return false;
}

/// What the seed draws where a model gives the inputs: "the dropout", "d_output", or nothing.
std::string drawn_beside_model(const Plan& plan) {
  if (!plan.options.model || !plan.lesson->trained) return "";
  if (plan.options.dropout > 0.0) return "the dropout";
  const std::string id(plan.lesson->trained->seed_draws);
  return plan.given.count(id) > 0 ? "" : id;
}

/// The lesson that this one is a part of, or itself.
const Lesson& whole_of(const Lesson& lesson) {
  for (const auto* whole : all_lessons())
    if (whole->name == lesson.name) return *whole;
  return lesson;
}

/// "multihead or transformer-block": the parts that use the option.
std::string parts_with(const Lesson& lesson, std::string_view key) {
  std::vector<std::string_view> names;
  for (const auto* part : lesson.parts)
    if (part->uses(key)) names.push_back(part->through);
  return fmt::format("{}", fmt::join(names, " or "));
}

/// The part of the lesson that was typed, or else the one of the trace in `file`.
const Lesson& choose_part(const Lesson& lesson, const attn::StoredTrace* file, Options& options) {
  if (lesson.parts.empty()) return lesson;
  if (file != nullptr && file->header().lesson == lesson.name)
    restore(options, {"through"}, options.typed, file->header().config);
  const auto& part = part_of(lesson, options.through);
  visit_options(options, [&](const OptionInfo& info, const auto&) {
    const bool is_typed = options.is_typed(info.key);
    const bool is_default =
        config_of(options, {info.key}) == config_of(lesson.defaults, {info.key}) ||  // as a config has it
        (info.key == "model" && options.model == "none");
    if (is_typed && !is_default && lesson.uses(info.key) && !part.uses(info.key))
      throw Error(fmt::format("--{} does not go with --through {}; valid: --through {}, or no --{}",
                              info.flag, part.through, parts_with(lesson, info.key), info.flag));
  });
  if (!options.heads) options.heads = part.defaults.heads;
  return part;
}

}  // namespace

attn::Dtype Plan::dtype() const {
  for (const auto dtype : {attn::Dtype::float32, attn::Dtype::float16, attn::Dtype::bfloat16})
    if (options.dtype == attn::name_of(dtype)) return dtype;
  return attn::Dtype::float64;
}

bool Plan::is_batched() const {
  return sentence.size() > 1 || source.size() > 1;
}

std::string Plan::for_each_sample() const {
  if (!is_batched()) return "";
  return sentence.size() > 0 ? ", for each sentence" : ", for each pair of sentences";
}

std::set<std::string> Plan::inputs_to_draw() const {
  if (!lesson->uses("seed") || lesson->inputs == nullptr) return {};
  std::set<std::string> drawn;
  for (const auto& input : lesson->inputs(options))
    if (is_drawn(input.draw) && input.is_there != false && given.count(input.id) == 0) drawn.insert(input.id);
  return drawn;
}

Options usual_beside(const Lesson& lesson, const Options& options) {
  auto usual = lesson.defaults;
  usual.d_model = options.d_model;
  usual.heads = options.heads;
  if (!options.heads) usual.kv_heads.reset();
  fill_in_head_dimensions(lesson, usual);
  fill_in_kv_heads(lesson, usual);
  return usual;
}

attn::Header Plan::header() const {
  const auto& keys = whole_of(*lesson).options;
  attn::Header header{.lesson = std::string(lesson->name),
                      .title = std::string(lesson->title),
                      .config = config_of(options, keys)};
  header.usual =
      usual_values(header.config, config_of(usual_beside(*lesson, options), keys), lesson->of_detail);
  auto of_other_parts = keys;
  std::erase_if(of_other_parts, [&](std::string_view key) { return lesson->uses(key); });
  for (const auto& [name, value] : config_of(options, of_other_parts)) header.usual.insert(name);
  header.config.emplace_back("set",
                             options.set.empty() ? attn::ConfigValue{} : attn::ConfigValue{options.set});
  if (const auto files = files_of_inputs(options); !files.empty()) header.config.emplace_back("input", files);
  const auto add_tokens = [&](const char* name, const attn::TokenBatch& batch) {
    if (batch.size() > 0) header.config.emplace_back(name, batch.tokens);
  };
  const auto drawn = drawn_beside_model(*this);
  const bool draws = !options.model && draws_inputs(*this);
  const bool all_is_given = !given.empty() && !options.model && !draws && options.numbers.empty();
  const bool all_is_trained = options.model && drawn.empty() && options.seed == lesson->defaults.seed;
  if (all_is_given || all_is_trained) header.usual.insert("seed");
  auto origin = options.numbers;
  if (origin.empty() && draws) {
    origin = lesson->numbers;
    if (!options.in_place_of_model.empty())
      origin += fmt::format(", since {} is given", options.in_place_of_model);
  }
  if (origin.empty() && options.model && (options.is_typed("seed") || !drawn.empty()))
    origin = fmt::format("trained; the seed draws {}", drawn.empty() ? "nothing" : drawn);
  if (!origin.empty()) header.config.emplace_back(attn::origin_of_numbers, origin);
  if (options.unknown_word) {
    header.config.emplace_back("unknown_word", *options.unknown_word);
    header.usual.insert("unknown_word");
  }
  if (!options.read_as.empty()) {
    std::vector<std::vector<std::string>> pairs;
    for (const auto& [word, other] : options.read_as) pairs.push_back({word, other});
    header.config.emplace_back("read_as", pairs);
    header.usual.insert("read_as");
  }
  if (!options.vocabulary.empty())
    header.config.emplace_back("vocabulary", std::vector<std::vector<std::string>>{options.vocabulary});
  add_tokens("tokens", sentence);
  add_tokens("source_tokens", source);
  add_tokens("target_tokens", target);
  add_tokens("memory_tokens", memory);
  return header;
}

Plan make_plan(const Lesson& lesson, const Options& options) {
  if (options.input.empty()) return make_plan(lesson, options, nullptr);
  auto given = open_inputs(lesson, options);
  auto plan = make_plan(lesson, options, given.tensors.get());
  plan.remarks = std::move(given.remarks);
  return plan;
}

Plan make_plan(const Lesson& whole, const Options& typed, const attn::StoredTrace* file) {
  auto given = typed;
  const auto& lesson = choose_part(whole, file, given);
  if (file != nullptr) follow_config(lesson, *file, given);
  auto set = read_set_inputs(lesson, given, file);
  for (auto& input : model_inputs(lesson, given, set)) set.push_back(std::move(input));
  const GivenInputs inputs(file, std::move(set));
  if (!inputs.tensors().empty()) follow_inputs(lesson, inputs, given);
  Plan plan{.lesson = &lesson, .options = given};
  auto& options = plan.options;
  fill_in_sentences(lesson, options);
  check_batches(lesson, options);
  check_ranges(options);
  settle_draws(options);
  plan.sentence = tokens_for(lesson, options, options.sentence);
  plan.source = tokens_for(lesson, options, options.source);
  plan.target = tokens_for(lesson, options, options.target, Side::target);
  if (options.memory) plan.memory = attn::tokenize(std::vector(options.sentence.size(), *options.memory));
  if (options.embeddings) {
    plan.vectors = attn::WordVectors::load(*options.embeddings);
    for (const auto* batch : {&plan.sentence, &plan.source, &plan.target, &plan.memory})
      for (const auto& tokens : batch->tokens)
        for (const auto& token : tokens) plan.vectors->at(token);  // throws for an unknown one
  }
  fill_in_d_model(lesson, options, plan.vectors);
  fill_in_heads(lesson, options);
  fill_in_head_dimensions(lesson, options);
  fill_in_kv_heads(lesson, options);
  fill_in_sizes(lesson, options);
  require_inputs_fit(lesson, plan, attn::free_memory());
  check_heads(lesson, given, options);
  plan.given = inputs.read_inputs();
  return plan;
}

}  // namespace lessons
