// What the device calls of webgpu.h, and nothing else of it: names without the prefix WGPU, members
// and values as in the header that its authors call stable (webgpu-native/webgpu-headers, 22
// September 2025; https://webgpu-native.github.io/webgpu-headers). A library brings no header that
// fits all libraries, and none is needed to build. tests/webgpu_native compares sizes and places
// with the header of the library that is tested.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gossamer::runtime::webgpu {

using Adapter = struct AdapterImpl*;
using BindGroup = struct BindGroupImpl*;
using BindGroupLayout = struct BindGroupLayoutImpl*;
using DeviceBuffer = struct BufferImpl*;
using CommandBuffer = struct CommandBufferImpl*;
using CommandEncoder = struct CommandEncoderImpl*;
using ComputePass = struct ComputePassEncoderImpl*;
using ComputePipeline = struct ComputePipelineImpl*;
using DeviceHandle = struct DeviceImpl*;
using Instance = struct InstanceImpl*;
using PipelineLayout = struct PipelineLayoutImpl*;
using QuerySet = struct QuerySetImpl*;
using QueueHandle = struct QueueImpl*;
using ShaderModule = struct ShaderModuleImpl*;

using Bool = uint32_t;
using Enum = uint32_t;
using Flags = uint64_t;

constexpr uint64_t undefined_u64 = ~uint64_t{0};
constexpr uint32_t undefined_u32 = ~uint32_t{0};

constexpr Flags usage_map_read = 0x1, usage_copy_src = 0x4, usage_copy_dst = 0x8,
                usage_uniform = 0x40, usage_storage = 0x80, usage_query_resolve = 0x200;
constexpr Flags map_read = 0x1, stage_compute = 0x4;
// ShaderRuntimeChecks of wgpu-native. Without the one that counts the rounds of each loop, which
// browsers do not count on Vulkan either.
constexpr Flags checks_of_bounds = 0x1;
constexpr Enum allow_process_events = 2, allow_spontaneous = 3;  // CallbackMode
constexpr Enum succeeded = 1;            // Success of every ...Status that is asked for
constexpr Enum error_out_of_memory = 3;  // ErrorType
constexpr Enum adapter_is_cpu = 3;       // AdapterType
constexpr Enum backend_d3d12 = 4, backend_metal = 5, backend_vulkan = 6;  // BackendType
constexpr Enum level_core = 2, high_performance = 2;  // FeatureLevel, PowerPreference
constexpr Enum feature_timestamps = 0x9, feature_f16 = 0xB, feature_subgroups = 0x12;
constexpr Enum instance_waits = 1;  // InstanceFeatureName_TimedWaitAny
constexpr Enum binding_uniform = 2, binding_storage = 3, binding_read_only = 4;
constexpr Enum query_timestamp = 2;
constexpr Enum shader_source_wgsl = 2;  // SType

// Without a length it ends with a zero; nothing at all where there is no data.
struct StringView {
  const char* data = nullptr;
  size_t length = SIZE_MAX;
};

struct Chained {
  Chained* next = nullptr;
  Enum type = 0;
};

struct Future {
  uint64_t id = 0;
};
struct FutureWaitInfo {
  Future future;
  Bool completed = 0;
};

// Every callback ends with the two pointers that it was given with.
template <class... Arguments>
struct CallbackInfo {
  using Callback = void (*)(Arguments..., void* first, void* second);
  Chained* next = nullptr;
  Enum mode = 0;
  Callback callback = nullptr;
  void* first = nullptr;
  void* second = nullptr;
};
using RequestAdapterCallback = CallbackInfo<Enum, Adapter, StringView>;
using RequestDeviceCallback = CallbackInfo<Enum, DeviceHandle, StringView>;
using BufferMapCallback = CallbackInfo<Enum, StringView>;
using WorkDoneCallback = CallbackInfo<Enum, StringView>;
using DeviceLostCallback = CallbackInfo<const DeviceHandle*, Enum, StringView>;

struct UncapturedErrorCallback {
  Chained* next = nullptr;
  void (*callback)(const DeviceHandle*, Enum, StringView, void*, void*) = nullptr;
  void* first = nullptr;
  void* second = nullptr;
};

struct InstanceDescriptor {
  Chained* next = nullptr;
  size_t feature_count = 0;
  const Enum* features = nullptr;
  const void* limits = nullptr;
};

// wgpu-native's own (wgpu.h); what it reads behind these is 0 for its defaults, with room for later
// versions' members.
struct NativeInstanceExtras {
  Chained chain = {nullptr, 0x00030004};
  Flags backends = 0x1 | 0x4 | 0x8;  // Vulkan, Metal, D3D12: not OpenGL, which is no whole WebGPU
  Flags flags = 0;
  uint64_t others[30] = {};
};

struct RequestAdapterOptions {
  Chained* next = nullptr;
  Enum feature_level = level_core;
  Enum power_preference = high_performance;
  Bool fallback = 0;
  Enum backend = 0;
  const void* surface = nullptr;
};

struct AdapterInfo {
  Chained* next = nullptr;
  StringView vendor, architecture, device, description;
  Enum backend = 0, type = 0;
  uint32_t vendor_id = 0, device_id = 0;
  uint32_t subgroup_min = 0, subgroup_max = 0;
};

struct DeviceLimits {
  Chained* next = nullptr;
  uint32_t texture_1d = undefined_u32, texture_2d = undefined_u32, texture_3d = undefined_u32;
  uint32_t texture_layers = undefined_u32;
  uint32_t bind_groups = undefined_u32, bind_groups_and_vertex_buffers = undefined_u32;
  uint32_t bindings_of_group = undefined_u32;
  uint32_t dynamic_uniform_buffers = undefined_u32, dynamic_storage_buffers = undefined_u32;
  uint32_t sampled_textures = undefined_u32, samplers = undefined_u32;
  uint32_t storage_buffers = undefined_u32, storage_textures = undefined_u32;
  uint32_t uniform_buffers = undefined_u32;
  uint64_t uniform_binding = undefined_u64, storage_binding = undefined_u64;  // bytes
  uint32_t uniform_alignment = undefined_u32, storage_alignment = undefined_u32;
  uint32_t vertex_buffers = undefined_u32;
  uint64_t buffer = undefined_u64;  // bytes
  uint32_t vertex_attributes = undefined_u32, vertex_stride = undefined_u32;
  uint32_t inter_stage_variables = undefined_u32;
  uint32_t color_attachments = undefined_u32, color_bytes = undefined_u32;
  uint32_t group_bytes = undefined_u32, group_invocations = undefined_u32;
  uint32_t group_x = undefined_u32, group_y = undefined_u32, group_z = undefined_u32;
  uint32_t groups_of_dimension = undefined_u32;
  uint32_t immediate_bytes = undefined_u32;
};

// Dawn's own.
struct DawnToggles {
  Chained chain = {nullptr, 0x0005000A};
  size_t enabled_count = 0;
  const char* const* enabled = nullptr;
  size_t disabled_count = 0;
  const char* const* disabled = nullptr;
};

struct QueueDescriptor {
  Chained* next = nullptr;
  StringView label;
};

struct DeviceDescriptor {
  Chained* next = nullptr;
  StringView label;
  size_t feature_count = 0;
  const Enum* features = nullptr;
  const DeviceLimits* limits = nullptr;
  QueueDescriptor queue;
  DeviceLostCallback lost;
  UncapturedErrorCallback error;
};

struct BufferDescriptor {
  Chained* next = nullptr;
  StringView label;
  Flags usage = 0;
  uint64_t size = 0;
  Bool mapped = 0;
};

struct BufferBindingLayout {
  Chained* next = nullptr;
  Enum type = 0;
  Bool has_dynamic_offset = 0;
  uint64_t min_size = 0;
};
// Their first value says that there is no such binding.
struct SamplerBindingLayout {
  Chained* next = nullptr;
  Enum type = 0;
};
struct TextureBindingLayout {
  Chained* next = nullptr;
  Enum sample_type = 0, view_dimension = 0;
  Bool multisampled = 0;
};
struct StorageTextureBindingLayout {
  Chained* next = nullptr;
  Enum access = 0, format = 0, view_dimension = 0;
};

struct BindGroupLayoutEntry {
  Chained* next = nullptr;
  uint32_t binding = 0;
  Flags visibility = stage_compute;
  uint32_t array_size = 0;
  BufferBindingLayout buffer;
  SamplerBindingLayout sampler;
  TextureBindingLayout texture;
  StorageTextureBindingLayout storage_texture;
};
struct BindGroupLayoutDescriptor {
  Chained* next = nullptr;
  StringView label;
  size_t entry_count = 0;
  const BindGroupLayoutEntry* entries = nullptr;
};

struct BindGroupEntry {
  Chained* next = nullptr;
  uint32_t binding = 0;
  DeviceBuffer buffer = nullptr;
  uint64_t offset = 0;
  uint64_t size = undefined_u64;  // all of it
  const void* sampler = nullptr;
  const void* texture = nullptr;
};
struct BindGroupDescriptor {
  Chained* next = nullptr;
  StringView label;
  BindGroupLayout layout = nullptr;
  size_t entry_count = 0;
  const BindGroupEntry* entries = nullptr;
};

struct PipelineLayoutDescriptor {
  Chained* next = nullptr;
  StringView label;
  size_t layout_count = 0;
  const BindGroupLayout* layouts = nullptr;
  uint32_t immediate_size = 0;
};

struct ShaderSourceWgsl {
  Chained chain = {nullptr, shader_source_wgsl};
  StringView code;
};
struct ShaderModuleDescriptor {
  Chained* next = nullptr;
  StringView label;
};

struct ComputeState {
  Chained* next = nullptr;
  ShaderModule module = nullptr;
  StringView entry;
  size_t constant_count = 0;
  const void* constants = nullptr;
};
struct ComputePipelineDescriptor {
  Chained* next = nullptr;
  StringView label;
  PipelineLayout layout = nullptr;
  ComputeState compute;
};

struct PassTimestampWrites {
  Chained* next = nullptr;
  QuerySet queries = nullptr;
  uint32_t begin = 0, end = 0;
};
struct ComputePassDescriptor {
  Chained* next = nullptr;
  StringView label;
  const PassTimestampWrites* timestamps = nullptr;
};

struct QuerySetDescriptor {
  Chained* next = nullptr;
  StringView label;
  Enum type = query_timestamp;
  uint32_t count = 0;
};

// Of command encoders, command buffers.
struct LabelDescriptor {
  Chained* next = nullptr;
  StringView label;
};

}  // namespace gossamer::runtime::webgpu
