#include <attn/ops/softmax.hpp>
#include <cstdio>

int main() {
  const attn::Tensor<1> scores = {1.0, 2.0, 3.0};
  const auto weights = attn::softmax(scores);
  std::printf("%.4f %.4f %.4f\n", weights(0), weights(1), weights(2));
}
