#pragma once

#include <cstddef>
#include <functional>

namespace attn {

/// Calls `work(task)` once for every task 0, …, tasks − 1, on up to `threads` threads that take the next task
/// as they become free. Returns when all are done. With one thread everything runs on the caller's, and so it
/// does for a call from within a task. After an exception no further task is begun, and the first one is
/// thrown again here. The other threads are kept for later calls and sleep in between.
void for_each_task(std::size_t tasks, int threads, const std::function<void(std::size_t task)>& work);

}  // namespace attn
