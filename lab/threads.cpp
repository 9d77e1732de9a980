#include "lab/threads.hpp"

#include <cstdlib>

extern "C" {
void openblas_set_num_threads(int count);
int openblas_get_num_procs(void);
}

namespace lab {

namespace {

bool held_back = false;

/// Runs before the constructor in which OpenBLAS reads the environment: that one has the default priority.
__attribute__((constructor(101))) void hold_back_blas_threads() {
  if (std::getenv("OPENBLAS_NUM_THREADS") != nullptr) return;
  held_back = setenv("OPENBLAS_NUM_THREADS", "1", 0) == 0;
}

}  // namespace

void start_blas_threads() {
  if (!held_back) return;
  held_back = false;
  unsetenv("OPENBLAS_NUM_THREADS");
  openblas_set_num_threads(openblas_get_num_procs());
}

}  // namespace lab
