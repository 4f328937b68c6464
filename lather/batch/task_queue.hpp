#pragma once
// Tasks on several threads. A task may add further ones, at the front or the back of the queue, or to be run
// when nothing else is running or waiting.

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>

namespace lather::batch {

class TaskQueue {
 public:
  using Task = std::function<void()>;
  enum class Where { first, last, alone };
  void add(Task task, Where where = Where::last);
  // Until all are done, or `stop` says so: running tasks are then waited for, the others dropped. An
  // exception of a task is rethrown here, after the others have ended.
  void run(int threads, const std::function<bool()>& stop);

 private:
  void work(const std::function<bool()>& stop);
  bool may_go_on() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> waiting_, waiting_alone_;
  int running_ = 0;
  bool one_is_alone_ = false;
  std::exception_ptr failure_;
};

}  // namespace lather::batch
