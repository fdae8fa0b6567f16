// A library that implements webgpu.h (wgpu-native, Dawn), found when it is needed.
#pragma once

#include <string>
#include <type_traits>

#include "base/result.h"
#include "runtime/webgpu/api.h"

namespace gossamer::runtime::webgpu {

// clang-format off: its lines differ from run to run
#define GS_WEBGPU_FUNCTIONS(F) \
  F(CreateInstance, Instance(const InstanceDescriptor*)) \
  F(InstanceRequestAdapter, Future(Instance, const RequestAdapterOptions*, RequestAdapterCallback)) \
  F(InstanceWaitAny, Enum(Instance, size_t, FutureWaitInfo*, uint64_t)) \
  F(InstanceProcessEvents, void(Instance)) \
  F(InstanceRelease, void(Instance)) \
  F(AdapterGetInfo, Enum(Adapter, AdapterInfo*)) \
  F(AdapterInfoFreeMembers, void(AdapterInfo)) \
  F(AdapterGetLimits, Enum(Adapter, DeviceLimits*)) \
  F(AdapterHasFeature, Bool(Adapter, Enum)) \
  F(AdapterRequestDevice, Future(Adapter, const DeviceDescriptor*, RequestDeviceCallback)) \
  F(AdapterRelease, void(Adapter)) \
  F(DeviceGetLimits, Enum(DeviceHandle, DeviceLimits*)) \
  F(DeviceGetQueue, QueueHandle(DeviceHandle)) \
  F(DeviceHasFeature, Bool(DeviceHandle, Enum)) \
  F(DeviceCreateBindGroup, BindGroup(DeviceHandle, const BindGroupDescriptor*)) \
  F(DeviceCreateBindGroupLayout, BindGroupLayout(DeviceHandle, const BindGroupLayoutDescriptor*)) \
  F(DeviceCreateBuffer, DeviceBuffer(DeviceHandle, const BufferDescriptor*)) \
  F(DeviceCreateCommandEncoder, CommandEncoder(DeviceHandle, const LabelDescriptor*)) \
  F(DeviceCreateComputePipeline, ComputePipeline(DeviceHandle, const ComputePipelineDescriptor*)) \
  F(DeviceCreatePipelineLayout, PipelineLayout(DeviceHandle, const PipelineLayoutDescriptor*)) \
  F(DeviceCreateQuerySet, QuerySet(DeviceHandle, const QuerySetDescriptor*)) \
  F(DeviceCreateShaderModule, ShaderModule(DeviceHandle, const ShaderModuleDescriptor*)) \
  F(DeviceDestroy, void(DeviceHandle)) \
  F(DeviceRelease, void(DeviceHandle)) \
  F(QueueOnSubmittedWorkDone, Future(QueueHandle, WorkDoneCallback)) \
  F(QueueSubmit, void(QueueHandle, size_t, const CommandBuffer*)) \
  F(QueueWriteBuffer, void(QueueHandle, DeviceBuffer, uint64_t, const void*, size_t)) \
  F(QueueRelease, void(QueueHandle)) \
  F(BufferMapAsync, Future(DeviceBuffer, Flags, size_t, size_t, BufferMapCallback)) \
  F(BufferGetConstMappedRange, const void*(DeviceBuffer, size_t, size_t)) \
  F(BufferUnmap, void(DeviceBuffer)) \
  F(BufferDestroy, void(DeviceBuffer)) \
  F(BufferRelease, void(DeviceBuffer)) \
  F(BindGroupRelease, void(BindGroup)) \
  F(BindGroupLayoutRelease, void(BindGroupLayout)) \
  F(PipelineLayoutRelease, void(PipelineLayout)) \
  F(ShaderModuleRelease, void(ShaderModule)) \
  F(ComputePipelineRelease, void(ComputePipeline)) \
  F(CommandEncoderBeginComputePass, ComputePass(CommandEncoder, const ComputePassDescriptor*)) \
  F(CommandEncoderCopyBufferToBuffer, void(CommandEncoder, DeviceBuffer, uint64_t, DeviceBuffer, uint64_t, uint64_t)) \
  F(CommandEncoderResolveQuerySet, void(CommandEncoder, QuerySet, uint32_t, uint32_t, DeviceBuffer, uint64_t)) \
  F(CommandEncoderFinish, CommandBuffer(CommandEncoder, const LabelDescriptor*)) \
  F(CommandEncoderRelease, void(CommandEncoder)) \
  F(CommandBufferRelease, void(CommandBuffer)) \
  F(ComputePassEncoderSetPipeline, void(ComputePass, ComputePipeline)) \
  F(ComputePassEncoderSetBindGroup, void(ComputePass, uint32_t, BindGroup, size_t, const uint32_t*)) \
  F(ComputePassEncoderDispatchWorkgroups, void(ComputePass, uint32_t, uint32_t, uint32_t)) \
  F(ComputePassEncoderEnd, void(ComputePass)) \
  F(ComputePassEncoderRelease, void(ComputePass)) \
  F(QuerySetRelease, void(QuerySet))
// wgpu-native's own, such as how it waits; null in others.
#define GS_WGPU_NATIVE_FUNCTIONS(F) \
  F(GetVersion, uint32_t()) \
  F(DevicePoll, Bool(DeviceHandle, Bool, const uint64_t*)) \
  F(QueueGetTimestampPeriod, float(QueueHandle)) \
  F(DeviceCreateShaderModuleTrusted, ShaderModule(DeviceHandle, const ShaderModuleDescriptor*, Flags))
// clang-format on

struct Library {
#define GS_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  GS_WEBGPU_FUNCTIONS(GS_MEMBER)
  GS_WGPU_NATIVE_FUNCTIONS(GS_MEMBER)
#undef GS_MEMBER
  std::string about;  // "wgpu-native 29.0.1.1"
};

// Loaded once a process: what GOSSAMER_WEBGPU_LIBRARY names, else wgpu-native or Dawn by the names
// that they have. Errors say what to install: there is none, or it is of an older webgpu.h.
Result<const Library*> library();

}  // namespace gossamer::runtime::webgpu
