// gossamer targets: what a package can be made for, and what schedules know of each target.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdio>

#include "gossamer/commands/commands.h"
#include "target/capabilities.h"

#ifdef GOSSAMER_LLVM
#include "codegen/llvm/emit.h"
#endif

namespace gossamer::command {
namespace {

struct TargetRow {
  TargetKind kind;
  const char* runs_on;
};
constexpr TargetRow rows[] = {
#define GS_TARGET(name, memory, pages, side, ending, runs_on) {TargetKind::name, runs_on},
#include "base/targets.def"
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
      std::printf("%-7s %s%s%s\n", std::string(name_of(row.kind)).c_str(), row.runs_on,
                  note.empty() ? "" : "; ", note.c_str());
    }
    return 0;
  }
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  writer.StartArray();
  for (const TargetRow& row : rows) {
    const auto capabilities = target::capabilities_of(row.kind);
    writer.StartObject();
    writer.Key("name");
    writer.String(std::string(name_of(row.kind)));
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
