#pragma once

#include "lessons/lesson.hpp"

namespace lessons {

const Lesson& backward_lesson();

/// Its parts that are documents.
const Lesson& backward_through_sdpa();
const Lesson& backward_through_multihead();
const Lesson& backward_through_transformer_block();
const Lesson& backward_through_seq2seq();

}  // namespace lessons
