#pragma once

#include <cstddef>
#include <vector>

#include "lessons/seq2seq/encoder.hpp"

namespace lessons {

/// What a decoder without attention would get: the steps `bottleneck/context`, for `target_length` words, and
/// `bottleneck/kept`, how much of each word is left [batch×source×width], which is returned.
Tensor<3> show_bottleneck(Workbench& bench, const Encoder& encoder, const std::vector<std::size_t>& lengths,
                          std::size_t target_length);

}  // namespace lessons
