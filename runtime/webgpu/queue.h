// Launches, gathered and submitted together: one command buffer a run, as in the page.
#pragma once

#include <memory>
#include <vector>

#include "runtime/webgpu/memory.h"
#include "runtime/webgpu/pipelines.h"

namespace gossamer::runtime::webgpu {

class GpuQueue : public runtime::Queue {
 public:
  explicit GpuQueue(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType storage) override;
  using Queue::read;
  Result<> read(std::span<const ReadArguments> reads) override;
  Result<> copy(Buffer& to, const Buffer& from, size_t bytes, ir::DType storage) override;
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override;
  Result<std::unique_ptr<Fence>> submit() override;
  bool time_launches(bool on) override;
  Result<std::vector<double>> take_times() override;

 private:
  struct Launch {
    std::shared_ptr<const Pipeline> pipeline;
    size_t first, count;  // of memory_
    uint32_t scalars;     // where they begin, in bytes
    uint32_t x, y;
  };
  struct Copy {
    std::shared_ptr<Memory> from;
    uint64_t offset, bytes, to;
  };

  struct Move {
    std::shared_ptr<Memory> to, from;
    uint64_t bytes;
  };

  void encode_moves(CommandEncoder encoder);
  // Everything that waits, then copies into `staging`.
  Result<> flush(std::span<const Copy> copies = {}, DeviceBuffer staging = nullptr);
  Result<Bound> write_scalars();
  void encode(ComputePass pass, const Launch& launch, const Bound& scalars,
              ComputePipeline& current);
  // Ends and submits them; the launches that waited are in them.
  Result<> submit_commands(CommandEncoder encoder);
  Result<> submit(CommandEncoder encoder);
  Result<> flush_timed();
  // Keeps the GPU busy until its clocks are up.
  Result<> wake();
  Result<> read_together(std::span<const ReadArguments> reads, uint64_t bytes);
  Result<> map(DeviceBuffer staging, uint64_t bytes, const std::byte*& mapped);
  Result<> write_whole_words(Memory& to, uint64_t offset, std::span<const std::byte> bytes);

  std::shared_ptr<Gpu> gpu_;
  std::vector<Move> moves_;  // before the launches
  std::vector<Launch> launches_;
  std::vector<std::shared_ptr<Memory>> memory_;  // of the launches
  std::vector<Bound> bound_;
  std::vector<int32_t> words_, written_words_;  // all launches' scalars; those that the device has
  std::shared_ptr<Memory> scalars_, staging_;
  uint64_t written_ = 0;  // bytes since the last submission
  bool timed_ = false, awake_ = false;
  std::vector<double> times_;
};

}  // namespace gossamer::runtime::webgpu
