#pragma once

#include <string>

#include "lessons/workbench/workbench.hpp"

/// The two queries of Bahdanau's attention, each with a trained model: the paper's, which is the decoder's
/// state before the step, and the one that has the word that is read in it, too.
namespace lessons {

/// What a decoder asks with: "old h", "old h, y" or "new h".
std::string query_in_words(const std::string& attention);

/// The attention of another shipped model than the run's while it is made to write the same translation.
struct OtherQuery {
  std::string model;      ///< "translation-bahdanau"
  std::string attention;  ///< "bahdanau"
  Tensor<2> weights;      ///< [target×source], with a row for </s>
};

/// Of `translation-bahdanau`, or of `translation` where the run attends as bahdanau itself. The run has one
/// source, whose words both models know as they know those of `target`.
OtherQuery ask_otherwise(const Workbench& bench, const std::string& target);

}  // namespace lessons
