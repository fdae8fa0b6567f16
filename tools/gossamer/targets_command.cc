// gossamer targets: what a package can be made for, and what schedules know of each target.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdio>

#include "gossamer/commands.h"
#include "schedule/capabilities.h"

#ifdef GOSSAMER_LLVM
#include "codegen/llvm/emit.h"
#endif

namespace gossamer::command {
namespace {

using schedule::TargetKind;

struct TargetRow {
  TargetKind kind;
  const char* runs_on;
};
constexpr TargetRow rows[] = {
    {TargetKind::webgpu,
     "browsers with WebGPU, or this machine's GPU by wgpu-native or Dawn; WGSL compute shaders"},
    {TargetKind::webgl,
     "browsers with WebGL 2, or this machine's GPU by OpenGL ES 3.0 or OpenGL 3.3; GLSL ES 3.00 "
     "fragment shaders"},
    {TargetKind::wasm, "browsers and Node, or this machine by wasmtime; WebAssembly with SIMD"},
    {TargetKind::cpu, "this machine; native code through LLVM"},
    {TargetKind::opencl, "this machine's GPU; OpenCL 1.2 or newer"},
    {TargetKind::opengl, "this machine's GPU, without a window; OpenGL 4.3 or ES 3.1 through EGL"},
};

std::string note_of(TargetKind kind) {
  if (kind != TargetKind::cpu) return {};
#ifdef GOSSAMER_LLVM
  return cat("native is ", codegen::llvm_::host_cpu());
#else
  return "not in this build: it was configured with GOSSAMER_LLVM=OFF";
#endif
}

int print_targets(bool json) {
  if (!json) {
    for (const TargetRow& row : rows) {
      const std::string note = note_of(row.kind);
      std::printf("%-7s %s%s%s\n", std::string(schedule::name_of(row.kind)).c_str(), row.runs_on,
                  note.empty() ? "" : "; ", note.c_str());
    }
    return 0;
  }
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  writer.StartArray();
  for (const TargetRow& row : rows) {
    const auto capabilities = schedule::capabilities_of(row.kind);
    writer.StartObject();
    writer.Key("name");
    writer.String(std::string(schedule::name_of(row.kind)));
    writer.Key("runs_on");
    writer.String(row.runs_on);
    writer.Key("note");
    writer.String(note_of(row.kind));
    writer.Key("vector_lanes");
    writer.Int(capabilities.vector_lanes);
    writer.Key("vector_registers");
    writer.Int(capabilities.vector_registers);
    writer.Key("texture_memory");
    writer.Bool(capabilities.texture_memory);
    writer.EndObject();
  }
  writer.EndArray();
  std::printf("%s\n", text.GetString());
  return 0;
}

}  // namespace

void add_targets(CommandLine& app, Chosen& chosen) {
  auto json = std::make_shared<bool>(false);
  const Command command = app.add_command("targets", "List the targets");
  command.add_flag("--json", *json, "Machine-readable output");
  command.chosen([json, &chosen] { chosen.run = [json] { return print_targets(*json); }; });
}

}  // namespace gossamer::command
