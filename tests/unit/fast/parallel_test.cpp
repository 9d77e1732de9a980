#include "fast/parallel.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using attn::for_each_task;

TEST_CASE("every task is done once, whatever the number of threads") {
  for (const int threads : {-1, 0, 1, 2, 5})
    for (const std::size_t tasks : {0, 1, 2, 3, 100}) {
      std::vector<std::atomic<int>> done(tasks);
      for_each_task(tasks, threads, [&](std::size_t task) { ++done[task]; });
      for (const auto& times : done) CHECK(times == 1);
    }
}

TEST_CASE("one thread is the caller's") {
  for_each_task(10, 1, [caller = std::this_thread::get_id()](std::size_t) {
    CHECK(std::this_thread::get_id() == caller);
  });
}

TEST_CASE("as many threads work at the same time as were asked for") {
  std::atomic<int> here = 0;
  for_each_task(3, 3, [&](std::size_t) {
    ++here;
    while (here < 3) std::this_thread::yield();
  });
  CHECK(here == 3);
}

TEST_CASE("no more threads work than were asked for, even where earlier calls had more") {
  for_each_task(8, 8, [](std::size_t) {});
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for_each_task(200, 2, [&](std::size_t) {
    std::this_thread::yield();
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  CHECK(seen.size() <= 2);
}

TEST_CASE("a task may have tasks of its own") {
  std::atomic<int> done = 0;
  for_each_task(4, 2, [&](std::size_t) { for_each_task(5, 2, [&](std::size_t) { ++done; }); });
  CHECK(done == 20);
}

TEST_CASE("the exception of a task reaches the caller, and later calls work") {
  const auto fail = [](std::size_t task) {
    if (task == 3) throw std::runtime_error("task 3");
  };
  for (const int threads : {1, 2}) CHECK_THROWS_WITH(for_each_task(50, threads, fail), "task 3");
  std::atomic<int> done = 0;
  for_each_task(50, 2, [&](std::size_t) { ++done; });
  CHECK(done == 50);
}

TEST_CASE("calls from several threads do not disturb one another") {
  std::atomic<int> done = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int call = 0; call < 100; ++call) for_each_task(10, 2, [&](std::size_t) { ++done; });
    });
  for (auto& caller : callers) caller.join();
  CHECK(done == 4 * 100 * 10);
}
