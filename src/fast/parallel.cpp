#include "fast/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace attn {

namespace {

/// The tasks of one call. Each thread takes the next task when it is free.
class Tasks {
 public:
  Tasks(std::size_t count, const std::function<void(std::size_t)>& work) : count_(count), work_(work) {}

  void run_remaining() {
    try {
      for (std::size_t task = next_++; task < count_; task = next_++) work_(task);
    } catch (...) {
      next_ = count_;
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t)>& work_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

struct ClearAtEnd {
  ~ClearAtEnd() { flag = false; }
  std::atomic<bool>& flag;
};

/// Threads that sleep until there are tasks. They are started at the first call that needs them and then
/// kept: waking one takes microseconds.
class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_up_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  /// Returns false, with nothing done, while the pool is busy with another call, perhaps the caller's own.
  bool run(Tasks& tasks, std::size_t helpers) {
    if (is_busy_.exchange(true)) return false;
    const ClearAtEnd clear = {is_busy_};
    std::unique_lock lock(mutex_);
    while (workers_.size() < helpers) workers_.emplace_back([this] { work(); });
    tasks_ = &tasks;
    needed_ = helpers;
    lock.unlock();
    wake_up_.notify_all();
    tasks.run_remaining();
    lock.lock();
    needed_ = 0;
    finished_.wait(lock, [&] { return active_ == 0; });
    return true;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_up_.wait(lock, [&] { return needed_ > 0 || stopping_; });
      if (stopping_) return;
      --needed_;
      ++active_;
      lock.unlock();
      tasks_->run_remaining();
      lock.lock();
      if (--active_ == 0) finished_.notify_one();
    }
  }

  std::atomic<bool> is_busy_ = false;
  std::mutex mutex_;  ///< guards all below
  std::condition_variable wake_up_;
  std::condition_variable finished_;
  std::vector<std::thread> workers_;
  Tasks* tasks_ = nullptr;
  std::size_t needed_ = 0;
  std::size_t active_ = 0;
  bool stopping_ = false;
};

}  // namespace

void for_each_task(std::size_t tasks, int threads, const std::function<void(std::size_t task)>& work) {
  const std::size_t used = std::min(tasks, static_cast<std::size_t>(std::max(threads, 1)));
  static Pool pool;
  Tasks all(tasks, work);
  if (used <= 1 || !pool.run(all, used - 1)) all.run_remaining();
  all.rethrow_failure();
}

}  // namespace attn
