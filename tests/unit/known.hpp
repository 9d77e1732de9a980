#pragma once

#include <string>

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

/// The entries of a tensor by its id in the trace, for as long as the tensor lives.
template <std::size_t N>
attn::WorkedOut known(const std::string& id, const attn::Tensor<N>& tensor) {
  return [id, &tensor](const attn::Index& at) {
    return attn::Worked({id, at}, tensor.element(at.begin(), at.end()));
  };
}
