#include "runtime/opengl/device.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/compiled.h"
#include "runtime/opengl/fence.h"
#include "runtime/opengl/program.h"
#include "runtime/opengl/staging.h"
#include "runtime/shader_sources.h"

namespace gossamer::runtime {
namespace {

using namespace opengl;  // NOLINT(google-build-using-namespace): this is its face
using SharedContext = std::shared_ptr<Context>;

constexpr int64_t most_groups_in_x = 65535;
// What kernels have at most unless they are compiled for less (target::Capabilities).
constexpr int usual_blocks = 8, usual_invocations = 256;

struct GlLimits {
  int blocks, invocations;
};
// While it is current.
GlLimits limits_of(const Context& context) {
  return {context.number(GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS),
          context.number(GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS)};
}

class GlBuffer : public Buffer {
 public:
  GlBuffer(SharedContext context, GLuint name, size_t size)
      : context_(std::move(context)), name_(name), size_(size) {}
  ~GlBuffer() override {
    const auto attached = context_->attach();
    context_->gl().glDeleteBuffers(1, &name_);
  }
  size_t size() const override { return size_; }
  GLuint name() const { return name_; }

 private:
  SharedContext context_;
  GLuint name_;
  size_t size_;
};

constexpr GLenum time_elapsed = 0x88BF;  // GL_TIME_ELAPSED of OpenGL 3.3

class GlQueue : public Queue {
 public:
  explicit GlQueue(const SharedContext& context)
      : context_(context),
        gl_(context->gl()),
        staging_(context, GL_COPY_WRITE_BUFFER),
        upload_(context, GL_COPY_READ_BUFFER) {}
  ~GlQueue() override { GlQueue::time_launches(false); }
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType /*storage*/) override {
    GS_TRY(check_range(to, offset, bytes.size()));
    if (bytes.empty()) return {};
    const auto attached = context_->attach();
    gl_.glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    const auto size = static_cast<GLsizeiptr>(bytes.size());
    const auto at = static_cast<GLintptr>(offset);
    // NVIDIA's driver (580) lets glBufferSubData overtake launches that read what lies there,
    // copies it does not.
    if (launched_) upload_.fill(bytes);
    gl_.glBindBuffer(GL_COPY_WRITE_BUFFER, static_cast<GlBuffer&>(to).name());
    if (launched_)
      gl_.glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, at, size);
    else
      gl_.glBufferSubData(GL_COPY_WRITE_BUFFER, at, size, bytes.data());
    return {};
  }
  Result<> read(std::span<const ReadArguments> reads) override {
    std::vector<Staging::Part> parts;
    size_t end = 0;
    for (const auto& [from, offset, bytes, storage] : reads) {
      GS_TRY(check_range(*from, offset, bytes.size()));
      parts.push_back({end, bytes});
      end += bytes.size();
    }
    if (end == 0) return {};
    const auto attached = context_->attach();
    staging_.bind(end);
    gl_.glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    for (size_t at = 0; at < reads.size(); ++at) {
      if (reads[at].bytes.empty()) continue;
      gl_.glBindBuffer(GL_COPY_READ_BUFFER, static_cast<const GlBuffer*>(reads[at].from)->name());
      gl_.glCopyBufferSubData(
          GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, static_cast<GLintptr>(reads[at].offset),
          static_cast<GLintptr>(parts[at].at), static_cast<GLsizeiptr>(reads[at].bytes.size()));
    }
    GS_TRY(staging_.read(end, parts));
    launched_ = false;  // that waited for all of them
    return {};
  }
  Result<> copy(Buffer& to, const Buffer& from, size_t bytes, ir::DType /*storage*/) override {
    GS_TRY(check_range(to, 0, bytes));
    GS_TRY(check_range(from, 0, bytes));
    if (bytes == 0) return {};
    const auto attached = context_->attach();
    gl_.glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    gl_.glBindBuffer(GL_COPY_READ_BUFFER, static_cast<const GlBuffer&>(from).name());
    gl_.glBindBuffer(GL_COPY_WRITE_BUFFER, static_cast<GlBuffer&>(to).name());
    gl_.glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, 0,
                            static_cast<GLsizeiptr>(bytes));
    return {};
  }
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override {
    GS_TRY(check_launch(code, arguments));
    if (arguments.range == 0) return {};
    const auto attached = context_->attach();
    gl_.glUseProgram(static_cast<const Programs&>(code).program(arguments.kernel));
    for (GLuint at = 0; at < arguments.buffers.size(); ++at)
      gl_.glBindBufferBase(GL_SHADER_STORAGE_BUFFER, at,
                           static_cast<GlBuffer*>(arguments.buffers[at])->name());
    words_.clear();
    for (const int64_t scalar : arguments.scalars) words_.push_back(static_cast<GLint>(scalar));
    if (!words_.empty()) gl_.glUniform1iv(0, static_cast<GLsizei>(words_.size()), words_.data());
    const int64_t x = std::min(arguments.range, most_groups_in_x);
    if (timed_) gl_.glBeginQuery(time_elapsed, queries_.emplace_back(make_query()));
    gl_.glDispatchCompute(static_cast<GLuint>(x),
                          static_cast<GLuint>((arguments.range + x - 1) / x), 1);
    if (timed_) gl_.glEndQuery(time_elapsed);
    launched_ = true;
    gl_.glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT);
    return {};
  }
  Result<std::unique_ptr<Fence>> submit() override {
    const auto attached = context_->attach();
    return make_fence(context_);
  }
  // OpenGL ES has such queries by an extension, drivers in software time something else.
  bool time_launches(bool on) override {
    timed_ = on && !context_->es() && !context_->software();
    if (!queries_.empty()) {
      const auto attached = context_->attach();
      gl_.glDeleteQueries(static_cast<GLsizei>(queries_.size()), queries_.data());
      queries_.clear();
    }
    return timed_;
  }
  Result<std::vector<double>> take_times() override {
    const auto attached = context_->attach();
    std::vector<double> times;
    for (const GLuint query : queries_) {
      GLuint nanoseconds = 0;  // of which the largest is 4.3 s
      gl_.glGetQueryObjectuiv(query, GL_QUERY_RESULT, &nanoseconds);
      times.push_back(nanoseconds / 1e6);
    }
    time_launches(true);
    return times;
  }

 private:
  GLuint make_query() const {
    GLuint query = 0;
    gl_.glGenQueries(1, &query);
    return query;
  }

  SharedContext context_;
  const Gl& gl_;
  Staging staging_;  // what is read
  Staging upload_;   // what is written behind launches
  bool launched_ = false, timed_ = false;
  std::vector<GLuint> queries_;  // of launches that are timed
  std::vector<GLint> words_;
};

class GlDevice : public Device {
 public:
  explicit GlDevice(const SharedContext& context)
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
    std::vector<std::shared_ptr<Program>> programs;
    for (size_t at = 0; at < kernels.size(); ++at) {
      GS_TRY(check_limits(kernels[at]));
      GS_ASSIGN(auto program, compiled_.get(sources[at], [&] { return build(sources[at]); }));
      programs.push_back(std::move(program));
    }
    return std::make_unique<Programs>(kernels, std::move(programs));
  }
  Queue& queue() override { return queue_; }

 private:
  Result<> check_limits(const KernelEntry& entry) const {
    const auto [blocks, invocations] = limits_of(*context_);
    if (entry.group_size <= invocations && entry.buffers <= blocks) return {};
    return fail(cat("a kernel has ", entry.buffers, " buffers and groups of ", entry.group_size,
                    " invocations, this device takes ", blocks, " and ", invocations),
                "compile the model with --limits es31");
  }
  Result<std::shared_ptr<Program>> build(const std::string& source) const {
    const Shader shader =
        make_shader(context_, GL_COMPUTE_SHADER,
                    {context_->es() ? "#version 310 es\n" : "#version 430\n", source});
    const Shader* const parts[] = {&shader};
    GS_ASSIGN(Program program, link(context_, parts));
    return std::make_shared<Program>(std::move(program));
  }
  SharedContext context_;
  const Gl& gl_;
  Compiled<Program> compiled_;
  GlQueue queue_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_opengl_device() {
  GS_ASSIGN(const SharedContext context, Context::create(Form::compute));
  return std::make_unique<GlDevice>(context);
}

std::string opengl_limits(int blocks, int invocations) {
  return blocks < usual_blocks || invocations < usual_invocations ? "es31" : "";
}

std::string opengl_limits() {
  const auto context = Context::create(Form::compute);
  if (!context) return "";
  const auto attached = (*context)->attach();
  const auto [blocks, invocations] = limits_of(**context);
  return opengl_limits(blocks, invocations);
}

}  // namespace gossamer::runtime
