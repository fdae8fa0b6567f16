// A library of webgpu.h that fails as GOSSAMER_FAULT says, and is the one that it is linked with
// otherwise: who looks for a name here finds that one's where this file has none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "webgpu.h"

static int fault(const char* name) {
  const char* asked = getenv("GOSSAMER_FAULT");
  return asked && strcmp(asked, name) == 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static WGPUStringView text(const char* text) { return (WGPUStringView){text, strlen(text)}; }

static WGPUUncapturedErrorCallbackInfo error;
static WGPUDeviceLostCallbackInfo lost;

uint32_t wgpuGetVersion(void) {
  if (fault("old")) return 27u << 24 | 4 << 8;
  return ((uint32_t (*)(void))dlsym(RTLD_NEXT, "wgpuGetVersion"))();
}

WGPUFuture wgpuInstanceRequestAdapter(WGPUInstance instance,
                                      const WGPURequestAdapterOptions* options,
                                      WGPURequestAdapterCallbackInfo info) {
  if (!fault("no adapter")) return NEXT(wgpuInstanceRequestAdapter)(instance, options, info);
  info.callback(WGPURequestAdapterStatus_Unavailable, NULL, text("the test has\n  none"),
                info.userdata1, info.userdata2);
  return (WGPUFuture){0};
}

WGPUFuture wgpuAdapterRequestDevice(WGPUAdapter adapter, const WGPUDeviceDescriptor* descriptor,
                                    WGPURequestDeviceCallbackInfo info) {
  error = descriptor->uncapturedErrorCallbackInfo;
  lost = descriptor->deviceLostCallbackInfo;
  if (!fault("no device")) return NEXT(wgpuAdapterRequestDevice)(adapter, descriptor, info);
  info.callback(WGPURequestDeviceStatus_Error, NULL, text("the test gives none"), info.userdata1,
                info.userdata2);
  return (WGPUFuture){0};
}

WGPUBuffer wgpuDeviceCreateBuffer(WGPUDevice device, const WGPUBufferDescriptor* descriptor) {
  if (fault("no memory"))
    error.callback(&device, WGPUErrorType_OutOfMemory, text("the test has no memory"),
                   error.userdata1, error.userdata2);
  if (fault("no buffer")) return NULL;
  return NEXT(wgpuDeviceCreateBuffer)(device, descriptor);
}

WGPUCommandBuffer wgpuCommandEncoderFinish(WGPUCommandEncoder encoder,
                                           const WGPUCommandBufferDescriptor* descriptor) {
  if (fault("invalid"))
    error.callback(NULL, WGPUErrorType_Validation, text("the test refuses this"), error.userdata1,
                   error.userdata2);
  return NEXT(wgpuCommandEncoderFinish)(encoder, descriptor);
}

void wgpuQueueSubmit(WGPUQueue queue, size_t count, const WGPUCommandBuffer* commands) {
  NEXT(wgpuQueueSubmit)(queue, count, commands);
  if (fault("lost"))
    lost.callback(NULL, WGPUDeviceLostReason_Unknown, text("the test pulled it out"),
                  lost.userdata1, lost.userdata2);
}

WGPUFuture wgpuBufferMapAsync(WGPUBuffer buffer, WGPUMapMode mode, size_t offset, size_t size,
                              WGPUBufferMapCallbackInfo info) {
  if (fault("no map")) {
    info.callback(WGPUMapAsyncStatus_Error, text(""), info.userdata1, info.userdata2);
    return (WGPUFuture){0};
  }
  if (fault("silent")) return (WGPUFuture){0};
  return NEXT(wgpuBufferMapAsync)(buffer, mode, offset, size, info);
}
