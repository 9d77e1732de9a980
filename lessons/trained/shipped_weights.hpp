#pragma once

#include <string>
#include <string_view>

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// `sentiment/weights[sentiment/head, sentiment/query, sentiment/key]: sentiment()` of a document: what a
/// layer of a shipped model gives on the text that it reads in the lesson patterns. Names the words along
/// NAME/query and NAME/key.
void add_weights_of(Functions& functions, const std::string& name, std::string_view model,
                    std::size_t layer = 1);

}  // namespace lessons
