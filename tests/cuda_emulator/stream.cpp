#include "stream.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "emulator.hpp"

namespace {

struct Graph;
using SharedGraph = std::shared_ptr<Graph>;

// Work items in order, some of which wait until another lane has reached a position; a graph is the work of
// other lanes.
struct Lane {
  struct Item {
    std::function<void()> work;
    Lane* other = nullptr;
    std::size_t position = 0;
    SharedGraph graph;
  };
  std::vector<Item> items;
  std::size_t forgotten = 0, done = 0;  // items before the first one here; of those here

  std::size_t end() const { return forgotten + items.size(); }
  std::size_t position() const { return forgotten + done; }
  bool is_ready() const;
  void advance();
  void forget() {
    if (done < items.size()) return;
    forgotten += std::exchange(done, 0);
    items.clear();
  }
};

struct Graph {
  std::vector<std::unique_ptr<Lane>> lanes;  // the first belongs to the stream where capture began
  bool shared = false;
  const Lane* runs_for = nullptr;  // who launched it, while it runs
  Lane* add() { return lanes.emplace_back(std::make_unique<Lane>()).get(); }
  bool contains(const Lane* lane) const {
    return std::ranges::any_of(lanes, [&](const auto& own) { return own.get() == lane; });
  }
  void rewind() {
    for (auto& lane : lanes) lane->done = 0;
  }
  bool is_done() const {
    return std::ranges::all_of(lanes, [](const auto& lane) { return lane->position() == lane->end(); });
  }
  // Whether the end of the first lane waits for all work of the others.
  bool is_joined() {
    rewind();
    reach(*lanes[0], lanes[0]->end());
    return is_done();
  }

 private:
  static void reach(Lane& lane, std::size_t position) {
    while (lane.done < position)
      if (const auto& item = lane.items[lane.done++]; item.other) reach(*item.other, item.position);
  }
};

bool Lane::is_ready() const {
  if (done == items.size()) return false;
  const Item& next = items[done];
  if (next.other) return next.other->position() >= next.position;
  return !next.graph || !next.graph->runs_for || (next.graph->runs_for == this && next.graph->is_done());
}

std::vector<Lane*> busy;           // of streams, with work
std::vector<SharedGraph> running;  // launched by some of them

void Lane::advance() {
  const Item next = items[done];
  if (next.graph && !next.graph->runs_for) {
    next.graph->rewind();
    next.graph->runs_for = this;
    running.push_back(next.graph);
    return;
  }
  ++done;
  if (next.work) next.work();
  if (!next.graph) return;
  next.graph->runs_for = nullptr;
  std::erase(running, next.graph);
}

// Does one ready item, chosen at random so that nothing can rely on the order. False if none is ready.
bool advance_one() {
  static std::uint64_t state = [] {
    const char* seed = std::getenv("LATHER_EMULATED_SEED");
    return seed ? std::strtoull(seed, nullptr, 10) : 1;
  }();
  static std::vector<Lane*> ready;
  ready.clear();
  std::ranges::copy_if(busy, std::back_inserter(ready), &Lane::is_ready);
  for (const auto& graph : running)
    for (const auto& lane : graph->lanes)
      if (lane->is_ready()) ready.push_back(lane.get());
  if (ready.empty()) return false;
  state = state * 6364136223846793005u + 1442695040888963407u;
  ready[(state >> 33) % ready.size()]->advance();
  return true;
}

struct Stream {
  Lane live;
  Lane* captured = nullptr;  // where its work goes meanwhile
  Lane& lane() { return captured ? *captured : live; }
};
struct Event {
  Lane* lane = nullptr;
  std::size_t position = 0;
};

// Streams and events are kept: other work may still refer to them.
std::vector<Stream*> streams;
SharedGraph capture;  // null: none in progress

Stream& of(cudaStream_t stream) { return *reinterpret_cast<Stream*>(stream); }
Event& of(cudaEvent_t event) { return *reinterpret_cast<Event*>(event); }

void push(Stream& stream, Lane::Item item) {
  if (!stream.captured && stream.live.items.empty()) busy.push_back(&stream.live);
  stream.lane().items.push_back(std::move(item));
}

// Until the host may go on; other lanes may or may not be further along by then.
void run_until(const Lane& lane, std::size_t position) {
  while (lane.position() < position)
    if (!advance_one()) std::abort();  // work that waits for itself
  for (Lane* each : busy) each->forget();
  std::erase_if(busy, [](const Lane* each) { return each->items.empty(); });
}
void run(const Stream& stream) { run_until(stream.live, stream.live.end()); }

}  // namespace

namespace lather::emulator {

int host_waits = 0;

bool is_captured(cudaStream_t stream) { return stream && of(stream).captured; }

// The default stream does not wait for others, nor they for it.
void enqueue(cudaStream_t stream, std::function<void()> work) {
  if (stream)
    push(of(stream), {std::move(work), nullptr, 0, nullptr});
  else
    work();
}

void enqueue_shared(cudaStream_t stream, std::function<void()> work) {
  enqueue(stream, std::move(work));
  if (is_captured(stream))
    capture->shared = true;
  else if (stream)
    run(of(stream));
}

void finish_all() {
  for (const Stream* stream : streams) run(*stream);
}

}  // namespace lather::emulator

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  streams.push_back(new Stream);
  *s = reinterpret_cast<cudaStream_t>(streams.back());
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  ++lather::emulator::host_waits;
  if (!s) return cudaSuccess;
  if (of(s).captured) return cudaErrorStreamCaptureUnsupported;
  run(of(s));
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  *e = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  if (s) of(e) = {&of(s).lane(), of(s).lane().end()};
  return cudaSuccess;
}
// A stream that waits for captured work is captured too, and captured work waits for no other.
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  const Event event = of(e);
  if (!event.lane) return cudaSuccess;
  if (!s) {
    run_until(*event.lane, event.position);
    return cudaSuccess;
  }
  const bool within = capture && capture->contains(event.lane);
  if (within && !of(s).captured) of(s).captured = capture->add();
  if (of(s).captured && !within) return cudaErrorStreamCaptureIsolation;
  push(of(s), {{}, event.lane, event.position, nullptr});
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  capture = std::make_shared<Graph>();
  of(s).captured = capture->add();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  for (Stream* stream : streams) stream->captured = nullptr;
  const SharedGraph captured = std::exchange(capture, nullptr);
  if (!captured->is_joined()) return cudaErrorStreamCaptureUnjoined;
  *graph = reinterpret_cast<cudaGraph_t>(new SharedGraph(captured));
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, std::size_t* count) {
  *count = 0;
  for (const auto& lane : (*reinterpret_cast<SharedGraph*>(graph))->lanes)
    for (const auto& item : lane->items) *count += item.work ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new SharedGraph(*reinterpret_cast<SharedGraph*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<SharedGraph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<SharedGraph*>(executable);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t s) {
  const SharedGraph graph = *reinterpret_cast<SharedGraph*>(executable);
  push(of(s), {{}, nullptr, 0, graph});
  if (graph->shared) run(of(s));
  return cudaSuccess;
}

}  // extern "C"
