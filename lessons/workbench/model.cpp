#include "lessons/workbench/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "attn/error.hpp"
#include "attn/ops/positional.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/spelling.hpp"
#include "corpora/sentence_pair.hpp"
#include "document/document.hpp"
#include "english/lexicon.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/trained/translation.hpp"
#include "trace/file.hpp"

namespace lessons {

namespace {

using attn::Error;
using attn::Model;

/// Options that decide what a model would: dimensions, how numbers are drawn, inputs and how a block is
/// built.
constexpr std::array<std::string_view, 18> decided_by_a_model = {
    "d-model",    "d-k",  "d-v",       "d-a",        "heads",      "kv-heads",
    "hidden",     "d-ff", "layers",    "classes",    "draws",      "weight-scale",
    "embeddings", "rng",  "attention", "norm-order", "activation", "memory"};

constexpr std::size_t count_of_dimensions = 10;  // which come first

bool may_replace(const Trained& trained, const std::vector<SetInput>& set) {
  const auto& ids = trained.replaceable;
  return attn::all_of(set,
                      [&](const SetInput& input) { return input.tensor && attn::contains(ids, input.id); });
}

/// The flag of such an option that was typed.
std::optional<std::string_view> typed_instead(const Trained& trained, const Options& options,
                                              const std::vector<SetInput>& set) {
  if (!options.input.empty()) return "input";
  if (options.is_typed("set") && !may_replace(trained, set)) return "set";
  std::optional<std::string_view> flag;
  visit_options(options, [&](const OptionInfo& info, const auto&) {
    if (options.is_typed(info.key) && attn::contains(decided_by_a_model, info.key)) flag = info.flag;
  });
  return flag;
}

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(attn::data_folder("models")))
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Those that have weights.
std::vector<std::string> shipped_of_task(std::string_view task) {
  auto names = shipped_names();
  std::erase_if(names, [&](const auto& name) {
    const auto model = attn::shipped_model(name);
    return model->task != task || model->tensors.empty();
  });
  return names;
}

void require_shipped(const std::string& name) {
  const auto missing = attn::missing_model_file(name);
  if (missing.empty()) return;
  std::string valid = "a file that attnlab train wrote, or none";
  if (const auto names = shipped_names(); !names.empty())
    valid = fmt::format("{}, {}", fmt::join(names, ", "), valid);
  throw Error(
      fmt::format("--model {}: there is no such model (looked for: {}); valid: {}", name, missing, valid));
}

std::shared_ptr<const Model> load(const Lesson& lesson, const std::string& name) {
  if (lesson.trained->hand_made != nullptr && name == lesson.trained->task)
    return std::make_shared<const Model>(lesson.trained->hand_made());
  const bool is_path = name.find_first_of("/.") != name.npos;
  if (!is_path) require_shipped(name);
  auto model = is_path ? std::make_shared<const Model>(attn::read_model(name)) : attn::shipped_model(name);
  if (model->task != lesson.trained->task)
    throw Error(
        fmt::format("--model {}: it is a model of the task {}, and {} goes through one of the task {}; "
                    "valid: {}, a file that "
                    "attnlab train {} wrote, or none",
                    name, model->task, lesson.name, lesson.trained->task,
                    fmt::join(shipped_of_task(lesson.trained->task), ", "), lesson.trained->task));
  return model;
}

const std::vector<std::string>& vocabulary_of(const Model& model, std::string_view name) {
  if (const auto* words = attn::value_in(model.vocabularies, std::string(name))) return *words;
  throw Error(fmt::format("the model of the task {} has no vocabulary {}", model.task, name));
}

/// `"dok" (the nearest that it knows is "dog")`: the first word that the model does not know.
std::optional<std::string> unknown_word(const Model& model, std::string_view vocabulary,
                                        const std::vector<std::string>& texts) {
  const auto& words = vocabulary_of(model, vocabulary);
  for (const auto& sentence : attn::tokenize(texts).tokens)
    for (const auto& token : sentence)
      if (token != "<pad>" && !attn::contains(words, token))
        return fmt::format("\"{}\" (the nearest that it knows is \"{}\")", token,
                           attn::likely_meant(token, words));
  return std::nullopt;
}

bool is_punctuation(const std::string& token) {
  const auto readings = lexicon().readings(token);
  return !readings.empty() && readings.front().part == "punctuation";
}

/// Contractions are cut. A model with a vocabulary has no words for punctuation, and reads none.
attn::TokenBatch tokens_cut(const Trained& trained, const std::vector<std::string>& texts, Side side) {
  auto batch = attn::tokenize(texts);
  for (auto& tokens : batch.tokens) {
    if (side == Side::target) {
      tokens = with_elisions_cut(tokens);
      continue;
    }
    tokens = english::with_contractions_cut(tokens);
    if (trained.reads == Reads::alike && !attn::all_of(tokens, is_punctuation))
      std::erase_if(tokens, is_punctuation);
  }
  return batch;
}

/// What keeps a model from reading one text or two by its vocabularies alone.
std::optional<std::string> unknown_in_vocabularies(const Trained& trained, const Model& model,
                                                   const Options& run) {
  for (const auto* texts : {&run.sentence, &run.source})
    if (auto word = unknown_word(model, trained.words, *texts)) return word;
  if (trained.target_words.empty()) return std::nullopt;
  return unknown_word(model, trained.target_words, run.target);
}

/// The same of English, with what is read in place of words that the vocabulary lacks.
std::optional<std::string> unknown_in_english(const Trained& trained, const Model& model, Options& run) {
  for (const auto& tokens : tokens_cut(trained, run.sentence, Side::source).tokens) {
    if (auto reason = not_english(tokens)) return reason;
    if (trained.reads == Reads::english) continue;
    for (const auto& token : tokens) {
      const auto other = english::read_as(lexicon(), token, vocabulary_of(model, trained.words));
      if (!other) return fmt::format("\"{}\", nor any word like it", token);
      if (*other != token) run.read_as[token] = *other;
    }
  }
  return std::nullopt;
}

/// The same of English and French. A model of another grammar may have no stand-ins, or other languages.
std::optional<std::string> unknown_in_pair(const Trained& trained, const Model& model, Options& run) {
  const auto sources = tokens_cut(trained, run.source, Side::source).tokens,
             targets = tokens_cut(trained, run.target, Side::target).tokens;
  auto readings = readings_of_pairs(sources, targets, vocabulary_of(model, trained.words),
                                    vocabulary_of(model, trained.target_words));
  if (!readings) return unknown_in_vocabularies(trained, model, run);
  run.read_as = std::move(*readings);
  for (const auto& tokens : sources)
    if (attn::any_of(tokens, [&](const auto& token) { return corpora::is_stand_in(run.as_read(token)); }))
      if (auto reason = not_english(tokens)) return reason;
  return not_french(targets, run);
}

/// `run` has the texts that the lesson will run on, and gets what the model reads in place of words that
/// its vocabulary lacks.
std::optional<std::string> first_unknown(const Trained& trained, const Model& model, Options& run) {
  if (trained.reads == Reads::vocabulary) return unknown_in_vocabularies(trained, model, run);
  if (trained.reads == Reads::pairs) return unknown_in_pair(trained, model, run);
  return unknown_in_english(trained, model, run);
}

/// Whether a lesson of two sequences has a source for each target: `make_plan` refuses the others.
bool has_pairs(const Lesson& lesson, const Options& run) {
  if (run.source.empty()) return run.target.empty();
  return run.source.size() == run.target.size() || (run.target.empty() && lesson.takes_source_alone);
}

}  // namespace

bool is_dimension_of_model(std::string_view key) {
  const auto* end = decided_by_a_model.begin() + count_of_dimensions;
  return std::find(decided_by_a_model.begin(), end, key) != end;
}

attn::TokenBatch tokens_for(const Lesson& lesson, const Options& options,
                            const std::vector<std::string>& texts, Side side) {
  const bool is_cut = options.model && lesson.trained && lesson.trained->reads != Reads::vocabulary;
  return is_cut ? tokens_cut(*lesson.trained, texts, side) : attn::tokenize(texts);
}

ModelInputs::ModelInputs(const Lesson& lesson, const Model& model, Options& options, const Options& texts)
    : lesson_(lesson),
      model_(model),
      options_(options),
      sentence_(tokens_for(lesson, options, texts.sentence)),
      source_(tokens_for(lesson, options, texts.source)),
      target_(tokens_for(lesson, options, texts.target, Side::target)) {}

const std::vector<std::string>& ModelInputs::vocabulary(std::string_view name) const {
  return vocabulary_of(model_, name);
}

attn::Tensor<3> ModelInputs::rows(const std::string& table, const std::string& vocabulary,
                                  const attn::TokenBatch& tokens) const {
  const auto weights = matrix(table);
  const std::size_t width = weights.shape(1);
  attn::Tensor<3> result(std::array<std::size_t, 3>{tokens.size(), tokens.length(), width});
  result.fill(0.0);
  for (std::size_t sample = 0; sample < tokens.size(); ++sample)
    for (std::size_t position = 0; position < tokens.lengths()[sample]; ++position) {
      const auto& words = vocabulary_of(model_, vocabulary);
      const auto& word = options_.as_read(tokens.tokens[sample][position], words);
      const auto row = static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
      if (row >= weights.shape(0))
        throw Error(
            fmt::format("{} of the model has {} rows for {} words", table, weights.shape(0), words.size()));
      std::copy_n(&weights(row, 0), width, &result(sample, position, 0));
    }
  return result;
}

attn::Tensor<3> ModelInputs::encoded_words(const attn::TokenBatch& tokens) const {
  return with_positions(rows("embedding", "words", tokens), tokens);
}

attn::Tensor<3> ModelInputs::with_positions(attn::Tensor<3> words, const attn::TokenBatch& tokens) const {
  const auto* const kind = attn::value_in(model_.configuration, "positions");
  if (kind == nullptr || (*kind != "sinusoidal" && *kind != "learned")) return words;
  const auto table =
      *kind == "learned" ? matrix("positions") : attn::sinusoidal_encoding(tokens.length(), words.shape(2));
  if (table.shape(0) < tokens.length())
    throw Error(fmt::format(
        "the model of the task {} has {} positions, the sentence {} words; valid: a shorter one, or --model "
        "none",
        model_.task, table.shape(0), tokens.length()));
  for (std::size_t sample = 0; sample < tokens.size(); ++sample)
    for (std::size_t position = 0; position < tokens.lengths()[sample]; ++position)
      for (std::size_t column = 0; column < table.shape(1); ++column)
        words(sample, position, column) += table(position, column);
  return words;
}

attn::Tensor<2> ModelInputs::columns_of_head(const std::string& id, std::size_t head) const {
  const auto all = matrix(id);
  const std::size_t heads = number("heads");
  if (head >= heads || all.shape(1) % heads != 0)
    throw Error(fmt::format("{} of the model has {} columns for {} heads; valid: as many for each", id,
                            all.shape(1), heads));
  const std::size_t width = all.shape(1) / heads;
  return attn::columns(all, head * width, (head + 1) * width);
}

void ModelInputs::give_named(const std::string& to, const std::string& group,
                             const std::vector<std::string>& names) {
  for (const auto& name : names) {
    const auto* stored = model_.find(group + name);
    if (stored != nullptr && stored->shape.size() == 1)
      give<1>(to + name, vector(group + name));
    else
      give<2>(to + name, matrix(group + name));
  }
}

void ModelInputs::give_rows(const std::string& id, const attn::Tensor<3>& rows) {
  if (rows.shape(0) > 1) return give<3>(id, rows);
  give<2>(id, attn::sample(rows, 0));
}

std::vector<SetInput> model_inputs(const Lesson& lesson, Options& options, const std::vector<SetInput>& set) {
  if (options.model == "none") {
    options.model.reset();
    options.in_place_of_model.clear();
    return {};
  }
  if (!lesson.trained) return {};
  const auto& trained = *lesson.trained;
  const bool is_typed = options.is_typed("model");
  if (const auto flag = typed_instead(trained, options, set)) {
    if (is_typed)
      throw Error(
          fmt::format("--model {} brings what --{} decides; valid: one of the two", *options.model, *flag));
    if (*flag != "input") options.in_place_of_model = "--" + std::string(*flag);
    return {};
  }
  auto run = options;
  if (!run.has_texts()) run.take_texts_of(lesson.defaults);
  if (!has_pairs(lesson, run)) return {};
  if (run.sentence.empty() && trained.target_words.empty()) {
    if (is_typed)
      throw Error(
          fmt::format("--model {} reads one sentence; valid: --sentence, or --model none", *options.model));
    return {};
  }
  const auto name = options.model.value_or(std::string(trained.default_model()));
  if (!is_typed && trained.hand_made == nullptr) options.missing_model = attn::missing_model_file(name);
  if (!options.missing_model.empty()) {
    options.model.reset();
    return {};
  }
  const auto model = load(lesson, name);
  options.unknown_word = first_unknown(trained, *model, run);
  options.model = options.unknown_word ? std::nullopt : std::optional(name);
  if (options.unknown_word && is_typed)
    throw Error(fmt::format("--model {}: it does not know {}; valid: words that it knows, or --model none",
                            name, *options.unknown_word));
  if (options.unknown_word) return {};
  options.read_as = std::move(run.read_as);
  ModelInputs inputs(lesson, *model, options, run);
  try {
    trained.give(inputs);
  } catch (const document::Error&) {
    throw;
  } catch (const std::exception& error) {  // as std::invalid_argument where shapes do not match
    throw Error(fmt::format("--model {}: {}", name, error.what()));
  }
  auto given = inputs.take();
  bool have_their_shapes = true;
  for (const auto& replacement : set)
    std::erase_if(given, [&](const SetInput& input) {
      if (input.id != replacement.id) return false;
      have_their_shapes = have_their_shapes && input.tensor->shape() == replacement.tensor->shape();
      return true;
    });
  if (have_their_shapes) return given;
  if (is_typed)
    throw Error(
        fmt::format("--model {} gives tensors of another shape than --set; valid: one of the two", name));
  options.model.reset();
  options.in_place_of_model = "--set";
  return {};
}

}  // namespace lessons
