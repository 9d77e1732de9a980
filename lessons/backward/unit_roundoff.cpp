#include "lessons/backward/unit_roundoff.hpp"

#include <cmath>

namespace lessons {

double unit_roundoff(attn::Dtype dtype) {
  switch (dtype) {
    case attn::Dtype::float32:
      return std::ldexp(1.0, -24);
    case attn::Dtype::float16:
      return std::ldexp(1.0, -11);
    case attn::Dtype::bfloat16:
      return std::ldexp(1.0, -8);
    default:
      return std::ldexp(1.0, -53);
  }
}

double smallest_normal(attn::Dtype dtype) {
  switch (dtype) {
    case attn::Dtype::float32:
    case attn::Dtype::bfloat16:
      return std::ldexp(1.0, -126);
    case attn::Dtype::float16:
      return std::ldexp(1.0, -14);
    default:
      return std::ldexp(1.0, -1022);
  }
}

}  // namespace lessons
