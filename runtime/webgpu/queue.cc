#include "runtime/webgpu/queue.h"

#include <algorithm>
#include <cstring>

#include "runtime/clock.h"

namespace gossamer::runtime::webgpu {
namespace {

constexpr int64_t most_groups_in_x = 65535;
// A command buffer of more may take so long that the system thinks the GPU dead.
constexpr size_t most_launches = 1024;
// What is written lies in memory of the library's until it is submitted.
constexpr uint64_t most_written = uint64_t{64} << 20;
// A staging buffer of more goes after its read.
constexpr uint64_t most_kept = uint64_t{64} << 20;

constexpr uint64_t down(uint64_t bytes, uint64_t to) { return bytes / to * to; }
constexpr uint64_t up(uint64_t bytes, uint64_t to) { return down(bytes + to - 1, to); }

class GpuFence : public Fence {
 public:
  explicit GpuFence(std::shared_ptr<Gpu> gpu)
      : gpu_(std::move(gpu)), future_(gpu_->when_done(completion_)) {}
  bool passed() const override {
    gpu_->poll();
    return completion_.status() != 0;
  }
  Result<> wait() override {
    GS_TRY(gpu_->wait(future_, completion_.status()));
    return gpu_->check();
  }

 private:
  std::shared_ptr<Gpu> gpu_;
  const Completion completion_;
  Future future_;
};

}  // namespace

// Copies are of four bytes at a multiple of four.
Result<> GpuQueue::write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                         ir::DType /*storage*/) {
  GS_TRY(check_range(to, offset, bytes.size()));
  if (bytes.empty()) return {};
  // Writes come before what is submitted later.
  if (!launches_.empty() || !moves_.empty()) GS_TRY(flush());
  Memory& memory = *static_cast<GpuBuffer&>(to).memory();
  const size_t begin = down(offset, 4), end = offset + bytes.size(), whole = up(end, 4);
  if (begin == offset && whole == end) return write_whole_words(memory, offset, bytes);
  std::vector<std::byte> words(whole - begin);
  const std::span<std::byte> head(words.data(), offset - begin);
  if (!head.empty()) GS_TRY(read(to, begin, head));
  if (end < to.size()) {
    const size_t kept = std::min(whole, to.size()) - end;
    GS_TRY(read(to, end, {&words[end - begin], kept}));
  }
  std::ranges::copy(bytes, &words[offset - begin]);
  return write_whole_words(memory, begin, words);
}

Result<> GpuQueue::write_whole_words(Memory& to, uint64_t offset,
                                     std::span<const std::byte> bytes) {
  for (uint64_t at = 0; at < bytes.size(); at += most_written) {
    const auto part = bytes.subspan(at, std::min<uint64_t>(most_written, bytes.size() - at));
    if (written_ + part.size() > most_written) {
      gpu_->api().QueueSubmit(gpu_->queue(), 0, nullptr);
      GS_TRY(gpu_->finish());
      written_ = 0;
    }
    gpu_->api().QueueWriteBuffer(gpu_->queue(), to.buffer(), offset + at, part.data(), part.size());
    written_ += part.size();
  }
  return gpu_->check();
}

Result<> GpuQueue::copy(Buffer& to, const Buffer& from, size_t bytes, ir::DType /*storage*/) {
  GS_TRY(check_range(to, 0, bytes));
  GS_TRY(check_range(from, 0, bytes));
  if (bytes == 0) return {};
  if (!launches_.empty()) GS_TRY(flush());
  moves_.push_back({static_cast<GpuBuffer&>(to).memory(),
                    static_cast<const GpuBuffer&>(from).memory(), up(bytes, 4)});
  return {};
}

void GpuQueue::encode_moves(CommandEncoder encoder) {
  for (const Move& move : moves_)
    gpu_->api().CommandEncoderCopyBufferToBuffer(encoder, move.from->buffer(), 0, move.to->buffer(),
                                                 0, move.bytes);
}

Result<> GpuQueue::launch(const Executable& code, const LaunchArguments& arguments) {
  GS_TRY(check_launch(code, arguments));
  if (arguments.range == 0) return {};
  if (launches_.size() == most_launches) GS_TRY(flush());
  const int64_t x = std::min(arguments.range, most_groups_in_x);
  const int64_t y = (arguments.range + x - 1) / x;
  if (y > gpu_->limits().groups_of_dimension)
    return fail(cat("a launch of ", arguments.range, " workgroups is more than this device runs"));
  Launch launch{static_cast<const Pipelines&>(code).pipeline(arguments.kernel),
                memory_.size(),
                arguments.buffers.size(),
                0,
                static_cast<uint32_t>(x),
                static_cast<uint32_t>(y)};
  for (Buffer* buffer : arguments.buffers)
    memory_.push_back(static_cast<GpuBuffer*>(buffer)->memory());
  if (!arguments.scalars.empty()) {
    words_.resize(up(words_.size() * 4, gpu_->limits().uniform_alignment) / 4);
    launch.scalars = static_cast<uint32_t>(words_.size() * 4);
    for (const int64_t scalar : arguments.scalars) words_.push_back(static_cast<int32_t>(scalar));
    words_.resize(up(words_.size(), 4));
  }
  launches_.push_back(std::move(launch));
  return {};
}

// Of a run like the one before they are there already.
Result<Bound> GpuQueue::write_scalars() {
  if (words_.empty()) return Bound{};
  const uint64_t bytes = words_.size() * 4;
  if (!scalars_ || scalars_->bytes() < bytes) {
    GS_ASSIGN(scalars_, Memory::make(gpu_, std::max<uint64_t>(up(2 * bytes, 4096), 65536),
                                     usage_uniform | usage_copy_dst));
    written_words_.clear();
  }
  const bool same = written_words_.size() >= words_.size() &&
                    std::equal(words_.begin(), words_.end(), written_words_.begin());
  if (!same) {
    gpu_->api().QueueWriteBuffer(gpu_->queue(), scalars_->buffer(), 0, words_.data(), bytes);
    written_words_ = words_;
  }
  return scalars_->bound();
}

void GpuQueue::encode(ComputePass pass, const Launch& launch, const Bound& scalars,
                      ComputePipeline& current) {
  const Library& api = gpu_->api();
  bound_.clear();
  for (size_t at = 0; at < launch.count; ++at)
    bound_.push_back(memory_[launch.first + at]->bound());
  const BindGroup group =
      gpu_->bindings().of(api, gpu_->device(), *launch.pipeline, bound_, scalars);
  if (!group) return;  // the library has said why
  if (launch.pipeline->pipeline != current)
    api.ComputePassEncoderSetPipeline(pass, current = launch.pipeline->pipeline);
  const size_t offsets = launch.pipeline->scalar_bytes > 0 ? 1 : 0;
  api.ComputePassEncoderSetBindGroup(pass, 0, group, offsets, &launch.scalars);
  api.ComputePassEncoderDispatchWorkgroups(pass, launch.x, launch.y, 1);
}

Result<> GpuQueue::flush(std::span<const Copy> copies, DeviceBuffer staging) {
  if (timed_ && !launches_.empty()) GS_TRY(flush_timed());
  if (launches_.empty() && copies.empty() && moves_.empty()) return {};
  const Library& api = gpu_->api();
  GS_ASSIGN(const Bound scalars, write_scalars());
  const CommandEncoder encoder = api.DeviceCreateCommandEncoder(gpu_->device(), nullptr);
  encode_moves(encoder);
  if (!launches_.empty()) {
    const ComputePass pass = api.CommandEncoderBeginComputePass(encoder, nullptr);
    ComputePipeline current = nullptr;
    for (const Launch& launch : launches_) encode(pass, launch, scalars, current);
    api.ComputePassEncoderEnd(pass);
    api.ComputePassEncoderRelease(pass);
  }
  for (const Copy& copy : copies)
    api.CommandEncoderCopyBufferToBuffer(encoder, copy.from->buffer(), copy.offset, staging,
                                         copy.to, copy.bytes);
  return submit_commands(encoder);
}

Result<> GpuQueue::submit_commands(CommandEncoder encoder) {
  const auto done = submit(encoder);
  moves_.clear();
  launches_.clear();
  memory_.clear();
  words_.clear();
  written_ = 0;
  return done;
}

Result<> GpuQueue::submit(CommandEncoder encoder) {
  const Library& api = gpu_->api();
  const CommandBuffer commands = api.CommandEncoderFinish(encoder, nullptr);
  api.CommandEncoderRelease(encoder);
  // Commands that the library refuses may not be submitted.
  const auto accepted = gpu_->check();
  if (accepted) api.QueueSubmit(gpu_->queue(), 1, &commands);
  if (commands) api.CommandBufferRelease(commands);
  GS_TRY(accepted);
  return gpu_->check();
}

Result<> GpuQueue::map(DeviceBuffer staging, uint64_t bytes, const std::byte*& mapped) {
  const Library& api = gpu_->api();
  const Completion completion;
  const Future future = api.BufferMapAsync(staging, map_read, 0, bytes, completion.callback());
  GS_TRY(gpu_->check());
  GS_TRY(gpu_->wait(future, completion.status()));
  GS_TRY(gpu_->check());
  if (completion.status() == succeeded)
    mapped = static_cast<const std::byte*>(api.BufferGetConstMappedRange(staging, 0, bytes));
  return mapped ? Result<>() : fail("the GPU's memory could not be read");
}

Result<> GpuQueue::read(std::span<const ReadArguments> reads) {
  for (const auto& [from, offset, bytes, storage] : reads)
    GS_TRY(check_range(*from, offset, bytes.size()));
  // As much at once as a buffer holds.
  while (!reads.empty()) {
    size_t count = 0;
    uint64_t sum = 0;
    for (; count < reads.size(); ++count) {
      const uint64_t bytes = up(reads[count].bytes.size() + 4, 8);
      if (count > 0 && sum + bytes > gpu_->limits().buffer) break;
      sum += bytes;
    }
    GS_TRY(read_together(reads.first(count), sum));
    reads = reads.subspan(count);
  }
  return {};
}

Result<> GpuQueue::read_together(std::span<const ReadArguments> reads, uint64_t bytes) {
  std::vector<Copy> copies;
  uint64_t end = 0;
  for (const auto& [from, offset, to, storage] : reads) {
    if (to.empty()) continue;
    const uint64_t begin = down(offset, 4), length = up(offset + to.size(), 4) - begin;
    copies.push_back({static_cast<const GpuBuffer*>(from)->memory(), begin, length, end});
    end = up(end + length, 8);
  }
  if (copies.empty()) return {};
  if (!staging_ || staging_->bytes() < end) {
    staging_ = nullptr;
    GS_ASSIGN(staging_, Memory::make(gpu_, up(bytes, 65536), usage_map_read | usage_copy_dst));
  }
  GS_TRY(flush(copies, staging_->buffer()));
  const std::byte* mapped = nullptr;
  GS_TRY(map(staging_->buffer(), end, mapped));
  auto copy = copies.begin();
  for (const auto& [from, offset, to, storage] : reads) {
    if (to.empty()) continue;
    std::memcpy(to.data(), mapped + copy->to + (offset - copy->offset), to.size());
    ++copy;
  }
  gpu_->api().BufferUnmap(staging_->buffer());
  if (staging_->bytes() > most_kept) staging_ = nullptr;
  return {};
}

Result<std::unique_ptr<Fence>> GpuQueue::submit() {
  GS_TRY(flush());
  return std::make_unique<GpuFence>(gpu_);
}

bool GpuQueue::time_launches(bool on) {
  timed_ = on && gpu_->has(feature_timestamps);
  awake_ = false;
  times_.clear();
  return timed_;
}

Result<std::vector<double>> GpuQueue::take_times() {
  GS_TRY(flush());
  return std::exchange(times_, {});
}

// After the host's work between two runs a GPU is idle, and its first kernels run at a fraction of
// its clocks: on an NVIDIA H200 five times slower.
Result<> GpuQueue::wake() {
  constexpr double enough_ms = 250;
  constexpr uint64_t bytes = uint64_t{16} << 20;
  constexpr int copies = 64;
  if (std::exchange(awake_, true) || gpu_->software()) return {};
  GS_ASSIGN(const auto from, Memory::make(gpu_, bytes, usage_copy_src | usage_copy_dst));
  GS_ASSIGN(const auto to, Memory::make(gpu_, bytes, usage_copy_src | usage_copy_dst));
  const Clock::time_point begin = Clock::now();
  while (milliseconds_since(begin) < enough_ms) {
    const CommandEncoder encoder = gpu_->api().DeviceCreateCommandEncoder(gpu_->device(), nullptr);
    for (int i = 0; i < copies; ++i)
      gpu_->api().CommandEncoderCopyBufferToBuffer(encoder, from->buffer(), 0, to->buffer(), 0,
                                                   bytes);
    GS_TRY(submit(encoder));
    GS_TRY(gpu_->finish());
  }
  return {};
}

// A pass a launch, with a timestamp at both ends.
Result<> GpuQueue::flush_timed() {
  GS_TRY(wake());
  const Library& api = gpu_->api();
  const auto count = static_cast<uint32_t>(2 * launches_.size());
  const uint64_t bytes = uint64_t{8} * count;
  GS_ASSIGN(const Bound scalars, write_scalars());
  GS_ASSIGN(const auto results, Memory::make(gpu_, bytes, usage_query_resolve | usage_copy_src));
  GS_ASSIGN(const auto staging, Memory::make(gpu_, bytes, usage_map_read | usage_copy_dst));
  QuerySetDescriptor descriptor;
  descriptor.count = count;
  const QuerySet queries = api.DeviceCreateQuerySet(gpu_->device(), &descriptor);
  const CommandEncoder encoder = api.DeviceCreateCommandEncoder(gpu_->device(), nullptr);
  encode_moves(encoder);
  for (size_t at = 0; at < launches_.size(); ++at) {
    const auto begin = static_cast<uint32_t>(2 * at);
    const PassTimestampWrites timestamps{nullptr, queries, begin, begin + 1};
    const ComputePassDescriptor timed{nullptr, {}, &timestamps};
    const ComputePass pass = api.CommandEncoderBeginComputePass(encoder, &timed);
    ComputePipeline current = nullptr;
    encode(pass, launches_[at], scalars, current);
    api.ComputePassEncoderEnd(pass);
    api.ComputePassEncoderRelease(pass);
  }
  api.CommandEncoderResolveQuerySet(encoder, queries, 0, count, results->buffer(), 0);
  api.CommandEncoderCopyBufferToBuffer(encoder, results->buffer(), 0, staging->buffer(), 0, bytes);
  const auto accepted = submit_commands(encoder);
  const std::byte* mapped = nullptr;
  const auto done = accepted ? map(staging->buffer(), bytes, mapped) : accepted;
  if (mapped) {
    // wgpu-native gives ticks.
    const double unit =
        api.QueueGetTimestampPeriod ? api.QueueGetTimestampPeriod(gpu_->queue()) : 1.0;
    std::vector<uint64_t> stamps(count);
    std::memcpy(stamps.data(), mapped, bytes);
    for (size_t at = 0; at < count; at += 2)
      times_.push_back(
          std::max(0.0, static_cast<double>(static_cast<int64_t>(stamps[at + 1] - stamps[at]))) *
          unit / 1e6);
    api.BufferUnmap(staging->buffer());
  }
  api.QuerySetRelease(queries);
  return done;
}

}  // namespace gossamer::runtime::webgpu
