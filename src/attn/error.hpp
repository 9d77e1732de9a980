#pragma once

#include <stdexcept>
#include <string>

namespace attn {

/// Bad usage or bad input. The message is one line: what was wrong, with the value given, then what would be
/// valid. The program prints it to stderr and exits with status 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace attn
