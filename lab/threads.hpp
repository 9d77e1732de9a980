#pragma once

namespace lab {

/// OpenBLAS starts its threads while the program is loaded, which a run on a short sentence would pay for in
/// vain. So the program is loaded with one thread, unless OPENBLAS_NUM_THREADS says otherwise, and this call,
/// ahead of a run with large products, starts the others.
void start_blas_threads();

}  // namespace lab
