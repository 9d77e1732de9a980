#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/documents/document_run.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/options.hpp"
#include "trace/any_tensor.hpp"

namespace lessons {

/// Makes one scaled score of the first sample, of a key that its query sees, 100 by making both longer: Q
/// [batch×query×d_k], K [batch×key×d_k]; or both without the batch axis.
void sharpen_queries_and_keys(attn::Tensors& inputs, const Options& options);

/// The same of `queries` and `keys`, and of a score of the first head where `X_target` has the queries and
/// `X_source` the keys.
void sharpen_scoring(attn::Tensors& inputs, const Options& options);
void sharpen_source_and_target(attn::Tensors& inputs, const Options& options);

/// The same of a score X Xᵀ / √d_model by making the vector of one token longer: X [batch×token×d_model].
void sharpen_word(attn::Tensors& inputs, const Options& options);

/// The same by making the vector of one token longer: X [batch×token×d_model], W_Q, W_K [d_model×…], of which
/// the first head counts. Where the vector would be too long for float16, W_Q and W_K become longer instead.
void sharpen_token(attn::Tensors& inputs, const Options& options);

/// One scaled score 100 in the first head of a transformer's block, by making its columns of W_Q and W_K
/// longer: a layer norm before attention undoes a longer vector.
void sharpen_block(attn::Tensors& inputs, const Options& options);

/// The same in a decoder that writes, for the words of its prompt.
void sharpen_prompt(attn::Tensors& inputs, const Options& options);

/// What a lesson's document leaves to C++.
struct LessonCode {
  void (*give)(ModelInputs& inputs) = nullptr;  ///< of the trained model
  attn::Model (*hand_made)() = nullptr;         ///< in the place of one that was trained
  void (*sharpen)(attn::Tensors& inputs, const Options& options) = nullptr;  ///< of the probe

  /// Adds what the document calls by name, and sets what follows from the run before it is told.
  void (*prepare)(DocumentRun& run, Functions& functions) = nullptr;
  std::vector<Input> (*inputs)(const Options& options) = nullptr;  ///< in place of those that it declares
  bool splits_heads = true, takes_source_alone = false;            ///< as in Lesson
};

/// Of the lessons that the program has, in lessons/NAME.cpp.
extern const LessonCode lookup_code, scoring_code, scaling_code, sdpa_code, cross_attention_code,
    multihead_code, positional_code, seq2seq_code, transformer_block_code, classifier_code, generate_code,
    efficient_code, ring_code, stability_code, patterns_code, training_code, complexity_code;

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
