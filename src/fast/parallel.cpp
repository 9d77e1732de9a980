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

/// One call's tasks, taken one after the other by whoever is free.
class Tasks {
 public:
  Tasks(std::size_t count, const std::function<void(std::size_t)>& work) : count_(count), work_(work) {}

  void take_until_done() {
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

struct Cleared {
  ~Cleared() { flag = false; }
  std::atomic<bool>& flag;
};

/// Threads that sleep until there are tasks. They are started when first wanted and then kept: to wake one
/// takes microseconds.
class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    called_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  /// False, with nothing done, where the pool is at work for another call, perhaps the one that asks.
  bool run(Tasks& tasks, std::size_t helpers) {
    if (is_at_work_.exchange(true)) return false;
    const Cleared at_the_end = {is_at_work_};
    invite(tasks, helpers);
    tasks.take_until_done();
    std::unique_lock lock(mutex_);
    invitations_ = 0;
    left_.wait(lock, [&] { return helping_ == 0; });
    return true;
  }

 private:
  void invite(Tasks& tasks, std::size_t helpers) {
    {
      const std::lock_guard lock(mutex_);
      while (workers_.size() < helpers) workers_.emplace_back([this] { help(); });
      tasks_ = &tasks;
      invitations_ = helpers;
    }
    called_.notify_all();
  }

  void help() {
    std::unique_lock lock(mutex_);
    while (true) {
      called_.wait(lock, [&] { return invitations_ > 0 || closing_; });
      if (closing_) return;
      --invitations_;
      ++helping_;
      lock.unlock();
      tasks_->take_until_done();
      lock.lock();
      if (--helping_ == 0) left_.notify_one();
    }
  }

  std::atomic<bool> is_at_work_ = false;
  std::mutex mutex_;  ///< guards all below
  std::condition_variable called_;
  std::condition_variable left_;
  std::vector<std::thread> workers_;
  Tasks* tasks_ = nullptr;
  std::size_t invitations_ = 0;
  std::size_t helping_ = 0;
  bool closing_ = false;
};

Pool& pool() {
  static Pool the_pool;
  return the_pool;
}

}  // namespace

void for_each_task(std::size_t tasks, int threads, const std::function<void(std::size_t task)>& work) {
  const std::size_t wanted = std::min(tasks, static_cast<std::size_t>(std::max(threads, 1)));
  Tasks shared(tasks, work);
  if (wanted <= 1 || !pool().run(shared, wanted - 1)) shared.take_until_done();
  shared.rethrow_failure();
}

}  // namespace attn
