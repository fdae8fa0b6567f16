#include "runtime/opengl/device.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/opengl/context.h"
#include "runtime/shader_sources.h"

namespace gossamer::runtime {
namespace {

using opengl::Context;
using opengl::Gl;
using Shared = std::shared_ptr<Context>;

constexpr int64_t most_groups_in_x = 65535;

class GlBuffer : public Buffer {
 public:
  GlBuffer(Shared context, GLuint name, size_t size)
      : context_(std::move(context)), name_(name), size_(size) {}
  ~GlBuffer() override {
    const auto attached = context_->attach();
    context_->gl().glDeleteBuffers(1, &name_);
  }
  size_t size() const override { return size_; }
  GLuint name() const { return name_; }

 private:
  Shared context_;
  GLuint name_;
  size_t size_;
};

class Program {
 public:
  Program(Shared context, GLuint name) : context_(std::move(context)), name_(name) {}
  Program(Program&& other) noexcept
      : context_(other.context_), name_(std::exchange(other.name_, 0)) {}
  Program& operator=(Program&&) = delete;
  ~Program() {
    const auto attached = context_->attach();
    if (name_) context_->gl().glDeleteProgram(name_);
  }
  GLuint name() const { return name_; }

 private:
  Shared context_;
  GLuint name_;
};

class GlExecutable : public Executable {
 public:
  GlExecutable(std::vector<KernelEntry> kernels, std::vector<Program> programs)
      : kernels_(std::move(kernels)), programs_(std::move(programs)) {}
  std::span<const KernelEntry> kernels() const override { return kernels_; }
  GLuint program(int kernel) const { return programs_[static_cast<size_t>(kernel)].name(); }
  Result<> plan(int segment, std::span<const int64_t>, std::span<double>) const override {
    return fail(cat("the code has no segment ", segment, " of a plan"));
  }

 private:
  std::vector<KernelEntry> kernels_;
  std::vector<Program> programs_;
};

class GlFence : public Fence {
 public:
  GlFence(Shared context, GLsync sync) : context_(std::move(context)), sync_(sync) {}
  ~GlFence() override {
    const auto attached = context_->attach();
    context_->gl().glDeleteSync(sync_);
  }
  bool passed() const override {
    const auto attached = context_->attach();
    const GLenum status = context_->gl().glClientWaitSync(sync_, 0, 0);
    return status == GL_ALREADY_SIGNALED || status == GL_CONDITION_SATISFIED;
  }
  Result<> wait() override {
    const auto attached = context_->attach();
    constexpr GLuint64 second = 1'000'000'000;
    GLenum status = GL_TIMEOUT_EXPIRED;
    while (status == GL_TIMEOUT_EXPIRED)
      status = context_->gl().glClientWaitSync(sync_, GL_SYNC_FLUSH_COMMANDS_BIT, second);
    if (status == GL_WAIT_FAILED) return fail("the OpenGL driver lost its device");
    return {};
  }

 private:
  Shared context_;
  GLsync sync_;
};

// Nothing, or what the driver has noted since it was last asked.
Result<> check_errors(const Gl& gl) {
  const GLenum code = gl.glGetError();
  if (code == GL_NO_ERROR) return {};
  while (gl.glGetError() != GL_NO_ERROR) {
  }
  if (code == GL_OUT_OF_MEMORY) return fail("the OpenGL driver is out of memory");
  return fail(cat("the OpenGL driver says error ", code));
}

class GlQueue : public Queue {
 public:
  explicit GlQueue(Shared context) : context_(std::move(context)), gl_(context_->gl()) {}
  ~GlQueue() override {
    const auto attached = context_->attach();
    gl_.glDeleteBuffers(1, &staging_);
  }
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes) override {
    GS_TRY(check_range(to, offset, bytes.size()));
    if (bytes.empty()) return {};
    const auto attached = context_->attach();
    gl_.glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    gl_.glBindBuffer(GL_COPY_WRITE_BUFFER, static_cast<GlBuffer&>(to).name());
    gl_.glBufferSubData(GL_COPY_WRITE_BUFFER, static_cast<GLintptr>(offset),
                        static_cast<GLsizeiptr>(bytes.size()), bytes.data());
    return {};
  }
  Result<> read(std::span<const ReadArguments> reads) override {
    for (const auto& [from, offset, bytes] : reads) {
      GS_TRY(check_range(*from, offset, bytes.size()));
      if (!bytes.empty()) GS_TRY(read_one(static_cast<const GlBuffer&>(*from), offset, bytes));
    }
    return {};
  }
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override {
    GS_TRY(check_launch(code, arguments));
    if (arguments.range == 0) return {};
    const auto attached = context_->attach();
    gl_.glUseProgram(static_cast<const GlExecutable&>(code).program(arguments.kernel));
    for (GLuint at = 0; at < arguments.buffers.size(); ++at)
      gl_.glBindBufferBase(GL_SHADER_STORAGE_BUFFER, at,
                           static_cast<GlBuffer*>(arguments.buffers[at])->name());
    words_.clear();
    for (const int64_t scalar : arguments.scalars) words_.push_back(static_cast<GLint>(scalar));
    if (!words_.empty()) gl_.glUniform1iv(0, static_cast<GLsizei>(words_.size()), words_.data());
    const int64_t x = std::min(arguments.range, most_groups_in_x);
    gl_.glDispatchCompute(static_cast<GLuint>(x),
                          static_cast<GLuint>((arguments.range + x - 1) / x), 1);
    gl_.glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT);
    return {};
  }
  Result<std::unique_ptr<Fence>> submit() override {
    const auto attached = context_->attach();
    GS_TRY(check_errors(gl_));
    const GLsync sync = gl_.glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    if (!sync) return fail("the OpenGL driver lost its device");
    gl_.glFlush();
    return std::make_unique<GlFence>(context_, sync);
  }

 private:
  // Through a buffer of its own: drivers move one that is mapped to the host's memory.
  Result<> read_one(const GlBuffer& from, size_t offset, std::span<std::byte> bytes) {
    const auto attached = context_->attach();
    const auto size = static_cast<GLsizeiptr>(bytes.size());
    if (!staging_) gl_.glGenBuffers(1, &staging_);
    gl_.glBindBuffer(GL_COPY_WRITE_BUFFER, staging_);
    if (staging_size_ < bytes.size()) {
      gl_.glBufferData(GL_COPY_WRITE_BUFFER, size, nullptr, GL_STREAM_READ);
      staging_size_ = bytes.size();
    }
    gl_.glBindBuffer(GL_COPY_READ_BUFFER, from.name());
    gl_.glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    gl_.glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER,
                            static_cast<GLintptr>(offset), 0, size);
    const void* const mapped = gl_.glMapBufferRange(GL_COPY_WRITE_BUFFER, 0, size, GL_MAP_READ_BIT);
    if (!mapped) {
      GS_TRY(check_errors(gl_));
      return fail("the OpenGL driver does not let its memory be read");
    }
    std::memcpy(bytes.data(), mapped, bytes.size());
    gl_.glUnmapBuffer(GL_COPY_WRITE_BUFFER);
    return check_errors(gl_);
  }

  Shared context_;
  const Gl& gl_;
  GLuint staging_ = 0;
  size_t staging_size_ = 0;
  std::vector<GLint> words_;
};

class GlDevice : public Device {
 public:
  explicit GlDevice(const Shared& context)
      : context_(context), gl_(context->gl()), queue_(context) {}
  std::string_view name() const override { return "opengl"; }
  std::string description() const override {
    return cat("opengl, ", context_->renderer(), ", ", context_->version());
  }
  bool hardware() const override { return !context_->software(); }
  std::shared_ptr<void> attach() override { return context_->attach(); }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    const auto attached = attach();
    GLint64 most = 0;
    gl_.glGetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &most);
    if (bytes > std::numeric_limits<size_t>::max() - 16 || bytes > static_cast<uint64_t>(most))
      return fail(cat("needs ", bytes, " bytes, this device gives at most ", most, " at once"));
    // Whole vectors, and never nothing.
    const size_t whole = std::max<size_t>((bytes + 15) / 16 * 16, 16);
    GLuint name = 0;
    gl_.glGenBuffers(1, &name);
    auto buffer = std::make_unique<GlBuffer>(context_, name, bytes);
    gl_.glBindBuffer(GL_COPY_WRITE_BUFFER, name);
    gl_.glBufferData(GL_COPY_WRITE_BUFFER, static_cast<GLsizeiptr>(whole), nullptr,
                     GL_DYNAMIC_COPY);
    GS_TRY(check_errors(gl_));
    return buffer;
  }
  Result<std::unique_ptr<Executable>> load(std::span<const std::byte> code,
                                           std::span<const KernelEntry> kernels,
                                           int plan_segments) override {
    if (plan_segments > 0) return fail("shaders have no plan: it is the side's");
    const auto attached = attach();
    GS_ASSIGN(const std::vector<std::string> sources, shader_sources(code, kernels));
    std::vector<Program> programs;
    for (size_t at = 0; at < kernels.size(); ++at) {
      GS_TRY(check_limits(kernels[at]));
      GS_ASSIGN(const GLuint program, build(sources[at]));
      programs.emplace_back(context_, program);
    }
    return std::make_unique<GlExecutable>(std::vector<KernelEntry>(kernels.begin(), kernels.end()),
                                          std::move(programs));
  }
  Queue& queue() override { return queue_; }

 private:
  int number(GLenum what) const {
    GLint value = 0;
    gl_.glGetIntegerv(what, &value);
    return value;
  }
  Result<> check_limits(const KernelEntry& entry) const {
    const int invocations = number(GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS);
    const int blocks = number(GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS);
    if (entry.group_size <= invocations && entry.buffers <= blocks) return {};
    return fail(cat("a kernel has ", entry.buffers, " buffers and groups of ", entry.group_size,
                    " invocations, this device takes ", blocks, " and ", invocations),
                "compile the model with --limits es31");
  }
  Result<GLuint> build(const std::string& source) const {
    const char* const version = context_->es() ? "#version 310 es\n" : "#version 430\n";
    const char* const parts[] = {version, source.c_str()};
    const GLuint shader = gl_.glCreateShader(GL_COMPUTE_SHADER);
    gl_.glShaderSource(shader, 2, parts, nullptr);
    gl_.glCompileShader(shader);
    const GLuint program = gl_.glCreateProgram();
    gl_.glAttachShader(program, shader);
    gl_.glLinkProgram(program);
    GLint linked = 0, compiled = 0;
    gl_.glGetProgramiv(program, GL_LINK_STATUS, &linked);
    gl_.glGetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
    std::string log(4096, '\0');
    GLsizei length = 0;
    if (!compiled) {
      gl_.glGetShaderInfoLog(shader, static_cast<GLsizei>(log.size()), &length, log.data());
    } else if (!linked) {
      gl_.glGetProgramInfoLog(program, static_cast<GLsizei>(log.size()), &length, log.data());
    }
    gl_.glDeleteShader(shader);
    if (linked) return program;
    gl_.glDeleteProgram(program);
    log.resize(static_cast<size_t>(std::max(length, 0)));
    return fail(cat("the driver's compiler refuses a kernel: ", log));
  }

  Shared context_;
  const Gl& gl_;
  GlQueue queue_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_opengl_device() {
  GS_ASSIGN(const Shared context, Context::create());
  return std::make_unique<GlDevice>(context);
}

}  // namespace gossamer::runtime
