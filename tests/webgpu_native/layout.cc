// What runtime/webgpu/api.h says of webgpu.h is what a library's own header says: compiled, not
// run.
#include "runtime/webgpu/api.h"

#include <cstddef>

#include "webgpu.h"

namespace ours = gossamer::runtime::webgpu;

#define SAME(mine, theirs) \
  static_assert(sizeof(ours::mine) == sizeof(theirs) && alignof(ours::mine) == alignof(theirs))
#define AT(mine, member, theirs, name) \
  static_assert(offsetof(ours::mine, member) == offsetof(theirs, name))
#define VALUE(mine, theirs) static_assert(ours::mine == theirs)

SAME(StringView, WGPUStringView);
SAME(Chained, WGPUChainedStruct);
SAME(Future, WGPUFuture);
SAME(FutureWaitInfo, WGPUFutureWaitInfo);
AT(FutureWaitInfo, completed, WGPUFutureWaitInfo, completed);
SAME(RequestAdapterCallback, WGPURequestAdapterCallbackInfo);
AT(RequestAdapterCallback, callback, WGPURequestAdapterCallbackInfo, callback);
AT(RequestAdapterCallback, first, WGPURequestAdapterCallbackInfo, userdata1);
SAME(RequestDeviceCallback, WGPURequestDeviceCallbackInfo);
SAME(BufferMapCallback, WGPUBufferMapCallbackInfo);
SAME(WorkDoneCallback, WGPUQueueWorkDoneCallbackInfo);
SAME(DeviceLostCallback, WGPUDeviceLostCallbackInfo);
SAME(UncapturedErrorCallback, WGPUUncapturedErrorCallbackInfo);
AT(UncapturedErrorCallback, first, WGPUUncapturedErrorCallbackInfo, userdata1);
SAME(InstanceDescriptor, WGPUInstanceDescriptor);
AT(InstanceDescriptor, features, WGPUInstanceDescriptor, requiredFeatures);
SAME(RequestAdapterOptions, WGPURequestAdapterOptions);
AT(RequestAdapterOptions, power_preference, WGPURequestAdapterOptions, powerPreference);
AT(RequestAdapterOptions, backend, WGPURequestAdapterOptions, backendType);
SAME(AdapterInfo, WGPUAdapterInfo);
AT(AdapterInfo, description, WGPUAdapterInfo, description);
AT(AdapterInfo, type, WGPUAdapterInfo, adapterType);
SAME(DeviceLimits, WGPULimits);
AT(DeviceLimits, storage_buffers, WGPULimits, maxStorageBuffersPerShaderStage);
AT(DeviceLimits, storage_binding, WGPULimits, maxStorageBufferBindingSize);
AT(DeviceLimits, uniform_alignment, WGPULimits, minUniformBufferOffsetAlignment);
AT(DeviceLimits, buffer, WGPULimits, maxBufferSize);
AT(DeviceLimits, group_bytes, WGPULimits, maxComputeWorkgroupStorageSize);
AT(DeviceLimits, group_invocations, WGPULimits, maxComputeInvocationsPerWorkgroup);
AT(DeviceLimits, group_x, WGPULimits, maxComputeWorkgroupSizeX);
AT(DeviceLimits, groups_of_dimension, WGPULimits, maxComputeWorkgroupsPerDimension);
SAME(QueueDescriptor, WGPUQueueDescriptor);
SAME(DeviceDescriptor, WGPUDeviceDescriptor);
AT(DeviceDescriptor, features, WGPUDeviceDescriptor, requiredFeatures);
AT(DeviceDescriptor, limits, WGPUDeviceDescriptor, requiredLimits);
AT(DeviceDescriptor, lost, WGPUDeviceDescriptor, deviceLostCallbackInfo);
AT(DeviceDescriptor, error, WGPUDeviceDescriptor, uncapturedErrorCallbackInfo);
SAME(BufferDescriptor, WGPUBufferDescriptor);
AT(BufferDescriptor, usage, WGPUBufferDescriptor, usage);
AT(BufferDescriptor, size, WGPUBufferDescriptor, size);
SAME(BufferBindingLayout, WGPUBufferBindingLayout);
AT(BufferBindingLayout, has_dynamic_offset, WGPUBufferBindingLayout, hasDynamicOffset);
SAME(SamplerBindingLayout, WGPUSamplerBindingLayout);
SAME(TextureBindingLayout, WGPUTextureBindingLayout);
SAME(StorageTextureBindingLayout, WGPUStorageTextureBindingLayout);
SAME(BindGroupLayoutEntry, WGPUBindGroupLayoutEntry);
AT(BindGroupLayoutEntry, visibility, WGPUBindGroupLayoutEntry, visibility);
AT(BindGroupLayoutEntry, buffer, WGPUBindGroupLayoutEntry, buffer);
SAME(BindGroupLayoutDescriptor, WGPUBindGroupLayoutDescriptor);
AT(BindGroupLayoutDescriptor, entries, WGPUBindGroupLayoutDescriptor, entries);
SAME(BindGroupEntry, WGPUBindGroupEntry);
AT(BindGroupEntry, buffer, WGPUBindGroupEntry, buffer);
AT(BindGroupEntry, size, WGPUBindGroupEntry, size);
SAME(BindGroupDescriptor, WGPUBindGroupDescriptor);
AT(BindGroupDescriptor, entries, WGPUBindGroupDescriptor, entries);
SAME(PipelineLayoutDescriptor, WGPUPipelineLayoutDescriptor);
AT(PipelineLayoutDescriptor, layouts, WGPUPipelineLayoutDescriptor, bindGroupLayouts);
SAME(ShaderSourceWgsl, WGPUShaderSourceWGSL);
AT(ShaderSourceWgsl, code, WGPUShaderSourceWGSL, code);
SAME(ShaderModuleDescriptor, WGPUShaderModuleDescriptor);
SAME(ComputeState, WGPUComputeState);
AT(ComputeState, entry, WGPUComputeState, entryPoint);
SAME(ComputePipelineDescriptor, WGPUComputePipelineDescriptor);
AT(ComputePipelineDescriptor, compute, WGPUComputePipelineDescriptor, compute);
SAME(PassTimestampWrites, WGPUPassTimestampWrites);
AT(PassTimestampWrites, begin, WGPUPassTimestampWrites, beginningOfPassWriteIndex);
SAME(ComputePassDescriptor, WGPUComputePassDescriptor);
AT(ComputePassDescriptor, timestamps, WGPUComputePassDescriptor, timestampWrites);
SAME(QuerySetDescriptor, WGPUQuerySetDescriptor);
AT(QuerySetDescriptor, count, WGPUQuerySetDescriptor, count);
SAME(LabelDescriptor, WGPUCommandEncoderDescriptor);
SAME(LabelDescriptor, WGPUCommandBufferDescriptor);

VALUE(usage_map_read, WGPUBufferUsage_MapRead);
VALUE(usage_copy_src, WGPUBufferUsage_CopySrc);
VALUE(usage_copy_dst, WGPUBufferUsage_CopyDst);
VALUE(usage_uniform, WGPUBufferUsage_Uniform);
VALUE(usage_storage, WGPUBufferUsage_Storage);
VALUE(usage_query_resolve, WGPUBufferUsage_QueryResolve);
VALUE(map_read, WGPUMapMode_Read);
VALUE(stage_compute, WGPUShaderStage_Compute);
VALUE(allow_process_events, WGPUCallbackMode_AllowProcessEvents);
VALUE(allow_spontaneous, WGPUCallbackMode_AllowSpontaneous);
VALUE(succeeded, WGPUStatus_Success);
VALUE(succeeded, WGPUMapAsyncStatus_Success);
VALUE(succeeded, WGPURequestAdapterStatus_Success);
VALUE(succeeded, WGPURequestDeviceStatus_Success);
VALUE(error_out_of_memory, WGPUErrorType_OutOfMemory);
VALUE(adapter_is_cpu, WGPUAdapterType_CPU);
VALUE(backend_d3d12, WGPUBackendType_D3D12);
VALUE(backend_metal, WGPUBackendType_Metal);
VALUE(backend_vulkan, WGPUBackendType_Vulkan);
VALUE(level_core, WGPUFeatureLevel_Core);
VALUE(high_performance, WGPUPowerPreference_HighPerformance);
VALUE(feature_timestamps, WGPUFeatureName_TimestampQuery);
VALUE(feature_f16, WGPUFeatureName_ShaderF16);
VALUE(feature_subgroups, WGPUFeatureName_Subgroups);
VALUE(instance_waits, WGPUInstanceFeatureName_TimedWaitAny);
VALUE(binding_uniform, WGPUBufferBindingType_Uniform);
VALUE(binding_storage, WGPUBufferBindingType_Storage);
VALUE(binding_read_only, WGPUBufferBindingType_ReadOnlyStorage);
VALUE(query_timestamp, WGPUQueryType_Timestamp);
VALUE(shader_source_wgsl, WGPUSType_ShaderSourceWGSL);
