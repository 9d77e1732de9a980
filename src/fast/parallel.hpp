#pragma once

#include <cstddef>
#include <functional>

namespace attn {

/// Calls `work(task)` once for every task 0, …, tasks − 1, on up to `threads` threads; each takes the next
/// task when it is free. Returns when all are done. With one thread, and in a call from within a task,
/// everything runs on the caller's thread. After an exception no further task is started, and the first
/// exception is thrown here. The other threads are kept for later calls and sleep in between.
void for_each_task(std::size_t tasks, int threads, const std::function<void(std::size_t task)>& work);

}  // namespace attn
