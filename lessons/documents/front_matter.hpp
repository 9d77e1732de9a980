#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/documents/document_run.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

/// What a lesson's document leaves to C++.
struct LessonCode {
  void (*give)(ModelInputs& inputs) = nullptr;  ///< of the trained model
  attn::Model (*hand_made)() = nullptr;         ///< in the place of one that was trained
  void (*sharpen)(attn::Tensors& inputs, const Options& options) = nullptr;  ///< of the probe
  void (*run)(Workbench& bench) = nullptr;                         ///< the document alone where null
  std::vector<Input> (*inputs)(const Options& options) = nullptr;  ///< in place of those that it declares
  bool splits_heads = true, takes_source_alone = false;            ///< as in Lesson
};

/// Of the lessons that the program has, in lessons/NAME.cpp.
extern const LessonCode lookup_code, scoring_code, scaling_code, sdpa_code, self_attention_code,
    cross_attention_code, masking_code, multihead_code, positional_code, seq2seq_code, transformer_block_code,
    classifier_code, generate_code, efficient_code, ring_code, stability_code, patterns_code, training_code,
    complexity_code;

/// The lesson backward, which has several documents.
const Lesson& backward_lesson();

/// The lesson that the document `lessons/NAME.md` states in its front matter: title, teaches, options,
/// defaults, example, model, probe, worksheet, and whose inputs it declares. Throws attn::Error for what it
/// does not understand.
Lesson lesson_of(const std::string& name, const LessonCode& code);

/// The same of a document that is a part of the lesson `name`, which lives as long.
Lesson lesson_of(const document::Document& document, std::string_view name, const LessonCode& code);

/// The lesson that a document states which is none of the program's: with the C++ of that one of `lessons`
/// which its front matter has under `functions`. Throws the same.
Lesson lesson_of(const document::Document& document, std::string_view name,
                 const std::vector<const Lesson*>& lessons);

/// `--sentence "the cat" --d-k 4` as options, of those with these keys. Throws attn::Error.
Options options_of(std::string_view arguments, const std::vector<std::string_view>& keys);

}  // namespace lessons
