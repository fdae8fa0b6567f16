// The functions of EGL and OpenGL that the devices opengl and webgl call. Names and constants are
// those of OpenGL ES 3.1, which OpenGL 4.3 has, too.
#pragma once

#define EGL_EGLEXT_PROTOTYPES 1
#define EGL_NO_X11 1
#define MESA_EGL_NO_X11_HEADERS 1
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl31.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace gossamer::runtime::opengl {

// clang-format off: its lines differ from run to run
#define GS_EGL_FUNCTIONS(F) \
  F(eglGetProcAddress) \
  F(eglGetError) \
  F(eglQueryString) \
  F(eglGetDisplay) \
  F(eglInitialize) \
  F(eglBindAPI) \
  F(eglQueryAPI) \
  F(eglChooseConfig) \
  F(eglCreateContext) \
  F(eglDestroyContext) \
  F(eglMakeCurrent) \
  F(eglGetCurrentContext) \
  F(eglGetCurrentDisplay) \
  F(eglGetCurrentSurface)

#define GS_GL_FUNCTIONS(F) \
  F(glGetError) \
  F(glGetString) \
  F(glGetIntegerv) \
  F(glGetInteger64v) \
  F(glGenBuffers) \
  F(glDeleteBuffers) \
  F(glBindBuffer) \
  F(glBufferData) \
  F(glMapBufferRange) \
  F(glUnmapBuffer) \
  F(glCreateShader) \
  F(glDeleteShader) \
  F(glShaderSource) \
  F(glCompileShader) \
  F(glGetShaderiv) \
  F(glGetShaderInfoLog) \
  F(glCreateProgram) \
  F(glDeleteProgram) \
  F(glAttachShader) \
  F(glLinkProgram) \
  F(glGetProgramiv) \
  F(glGetProgramInfoLog) \
  F(glUseProgram) \
  F(glFenceSync) \
  F(glDeleteSync) \
  F(glClientWaitSync) \
  F(glFlush)

#define GS_GL_COMPUTE_FUNCTIONS(F) \
  F(glBindBufferBase) \
  F(glBufferSubData) \
  F(glCopyBufferSubData) \
  F(glUniform1iv) \
  F(glDispatchCompute) \
  F(glMemoryBarrier) \
  F(glGenQueries) \
  F(glDeleteQueries) \
  F(glBeginQuery) \
  F(glEndQuery) \
  F(glGetQueryObjectuiv)

#define GS_GL_FRAGMENT_FUNCTIONS(F) \
  F(glGenTextures) \
  F(glDeleteTextures) \
  F(glActiveTexture) \
  F(glBindTexture) \
  F(glTexImage2D) \
  F(glTexImage3D) \
  F(glTexSubImage2D) \
  F(glTexParameteri) \
  F(glGenFramebuffers) \
  F(glDeleteFramebuffers) \
  F(glBindFramebuffer) \
  F(glFramebufferTexture2D) \
  F(glFramebufferTextureLayer) \
  F(glCheckFramebufferStatus) \
  F(glDrawBuffers) \
  F(glReadPixels) \
  F(glGenVertexArrays) \
  F(glBindVertexArray) \
  F(glGetUniformLocation) \
  F(glUniform1i) \
  F(glDisable) \
  F(glViewport) \
  F(glDrawArrays)
// clang-format on

#define GS_MEMBER(name) decltype(&::name) name = nullptr;
struct Egl {
  GS_EGL_FUNCTIONS(GS_MEMBER)
};
struct Gl {
  GS_GL_FUNCTIONS(GS_MEMBER)
  GS_GL_COMPUTE_FUNCTIONS(GS_MEMBER)
  GS_GL_FRAGMENT_FUNCTIONS(GS_MEMBER)
};
#undef GS_MEMBER

// What kernels are: compute shaders over buffers, or fragment shaders that draw into textures.
enum class Form { compute, fragments };

// Loaded once a process; errors say what to install.
Result<const Egl*> egl();
// While a context is current, those of a form. Errors: the driver lacks one of them.
Result<Gl> gl(const Egl& egl, Form form);

// Whether a list of words separated by spaces has one.
bool has_word(const char* words, std::string_view word);

}  // namespace gossamer::runtime::opengl
