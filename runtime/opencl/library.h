// The functions of OpenCL that the device calls, from the loader's library.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace gossamer::runtime::opencl {

// clang-format off: its lines differ from run to run
#define GS_OPENCL_FUNCTIONS(F) \
  F(clGetPlatformIDs) \
  F(clGetPlatformInfo) \
  F(clGetDeviceIDs) \
  F(clGetDeviceInfo) \
  F(clCreateContext) \
  F(clReleaseContext) \
  F(clCreateCommandQueue) \
  F(clReleaseCommandQueue) \
  F(clCreateBuffer) \
  F(clReleaseMemObject) \
  F(clEnqueueWriteBuffer) \
  F(clEnqueueReadBuffer) \
  F(clEnqueueCopyBuffer) \
  F(clCreateProgramWithSource) \
  F(clBuildProgram) \
  F(clGetProgramBuildInfo) \
  F(clReleaseProgram) \
  F(clCreateKernel) \
  F(clReleaseKernel) \
  F(clGetKernelWorkGroupInfo) \
  F(clSetKernelArg) \
  F(clEnqueueNDRangeKernel) \
  F(clEnqueueMarkerWithWaitList) \
  F(clFlush) \
  F(clFinish) \
  F(clWaitForEvents) \
  F(clGetEventInfo) \
  F(clGetEventProfilingInfo) \
  F(clReleaseEvent)
// clang-format on

struct Library {
#define GS_MEMBER(name) decltype(&::name) name = nullptr;
  GS_OPENCL_FUNCTIONS(GS_MEMBER)
#undef GS_MEMBER
};

// Loaded once a process; errors say what to install.
Result<const Library*> library();

// "clFlush: CL_OUT_OF_RESOURCES" for what the call "clFlush(...)" gave.
std::string error_text(std::string_view call, cl_int code);

}  // namespace gossamer::runtime::opencl
