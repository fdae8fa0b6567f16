#include "gossamer/judge/kept_verdicts.h"

#include <rapidjson/document.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "api/files.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;
using JsonValue = rapidjson::Value;

// Variables that drivers, browsers and the run time read. Their values are part of each key.
constexpr std::string_view variables[] = {"GOSSAMER_", "ANGLE_", "CL_", "DRI_",  "EGL_", "GALLIUM_",
                                          "LD_",       "LIBGL_", "LP_", "MESA_", "MOZ_", "OCL",
                                          "POCL_",     "ST_",    "VK_", "WGPU"};

// Variables of test suites: they choose cases, and how many run at a time.
constexpr std::string_view of_suites[] = {
    "GOSSAMER_BASE=",  "GOSSAMER_BUILD=",    "GOSSAMER_JOBS=",         "GOSSAMER_SHARED=",
    "GOSSAMER_SMOKE=", "GOSSAMER_VERDICTS=", "GOSSAMER_VERDICTS_SEEN="};

std::string environment() {
  std::vector<std::string> lines;
  for (char** at = environ; *at; ++at) {
    const std::string_view line = *at;
    if (std::ranges::any_of(of_suites, [&](auto name) { return line.starts_with(name); })) continue;
    // Which display it is changes nothing.
    if (line.starts_with("DISPLAY=") || line.starts_with("WAYLAND_DISPLAY="))
      lines.emplace_back(line.substr(0, line.find('=')));
    if (std::ranges::any_of(variables, [&](auto prefix) { return line.starts_with(prefix); }))
      lines.emplace_back(line);
  }
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += cat(line, "\n");
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0) text += cat(limit.rlim_cur, " ");
  }
  return text;
}

const JsonValue* field(const JsonValue& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

std::string text_field(const JsonValue& object, const char* name) {
  const JsonValue* text = field(object, name);
  return text && text->IsString() ? text->GetString() : "";
}

// As identity.json has it: bytes and the time of the last change.
std::string state_of(const char* file) {
  struct stat status{};
  if (::stat(file, &status) != 0) return "absent";
  const auto nanoseconds = static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                           static_cast<int64_t>(status.st_mtim.tv_nsec);
  return cat(static_cast<int64_t>(status.st_size), " ", nanoseconds);
}

// A file or a variable that is not as it was when identity.json was written; "" where all are.
std::string changed(const JsonValue& identity, const JsonValue& part) {
  for (const JsonValue* owner : {&identity, &part}) {
    const JsonValue* files = field(*owner, "files");
    if (!files || !files->IsObject()) return "the list of files";
    for (const auto& [name, state] : files->GetObject())
      if (!state.IsString() || state_of(name.GetString()) != state.GetString())
        return name.GetString();
  }
  const JsonValue* values = field(identity, "environment");
  if (!values || !values->IsObject()) return "the environment";
  for (const auto& [name, value] : values->GetObject()) {
    const char* now = std::getenv(name.GetString());
    if (!value.IsString() || value.GetString() != std::string_view(now ? now : ""))
      return cat("$", name.GetString());
  }
  return {};
}

struct Identity {
  std::string compiler, judge, device, machine_code;  // hashes
};

Result<Identity> read_identity(const fs::path& folder, const std::string& device) {
  const fs::path path = folder / "identity.json";
  GS_ASSIGN(const std::string text, read_text(path));
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  const char* hint = "write it anew: node tools/check/verdicts.mjs";
  if (document.HasParseError()) return fail_at(path.string(), "is not JSON", hint);
  std::error_code error;
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  if (const std::string other = text_field(document, "program"); program != other)
    return fail_at(path.string(), cat("describes \"", other, "\", not ", program), hint);
  for (const char* name : {"native", "web"}) {
    const JsonValue* part = field(document, name);
    const JsonValue* devices = part ? field(*part, "devices") : nullptr;
    if (!devices || text_field(*devices, device.c_str()).empty()) continue;
    if (const std::string what = changed(document, *part); !what.empty())
      return fail_at(path.string(), cat("was written before ", what, " changed"), hint);
    Identity identity{text_field(document, "compiler"), text_field(document, "judge"),
                      text_field(*devices, device.c_str()), text_field(document, "machine_code")};
    if (identity.compiler.empty() || identity.judge.empty())
      return fail_at(path.string(), "lacks the hashes of the compiler and the judge", hint);
    return identity;
  }
  return fail_at(path.string(), cat("does not describe the device ", device), hint);
}

}  // namespace

Result<std::unique_ptr<KeptVerdicts>> KeptVerdicts::open(const fs::path& folder,
                                                         TestSetting setting) {
  GS_ASSIGN(const Identity identity, read_identity(folder, setting.device));
  GS_ASSIGN(VerdictStore store, VerdictStore::open(folder, setting.place));
  const bool takes_bitcode = setting.device == "cpu" && !identity.machine_code.empty();
  KeyBuilder run, files, package;
  for (const std::string& text :
       {identity.judge, identity.device, setting.place, setting.run, environment()})
    run.add(text);
  for (const std::string& text : {run.key(), identity.compiler, setting.compile}) files.add(text);
  package.add(run.key());
  // What makes machine code of bitcode, and for which processor.
  if (takes_bitcode) {
    for (const std::string& text : {identity.machine_code, setting.compile}) package.add(text);
  }
  std::unique_ptr<KeptVerdicts> kept(
      new KeptVerdicts(files.key(), package.key(), takes_bitcode, std::move(store)));
  if (const char* seen = std::getenv("GOSSAMER_VERDICTS_SEEN")) {
    kept->seen_.reset(std::fopen(seen, "a"));
    if (!kept->seen_) return fail_at(seen, cat("cannot be written: ", std::strerror(errno)));
    std::setvbuf(kept->seen_.get(), nullptr, _IOLBF, 0);  // processes may share the file
  }
  return kept;
}

std::string KeptVerdicts::files_key(const TestCase& test) const {
  KeyBuilder key;
  key.add("files");
  key.add(by_files_);
  return add_case_files(test, key) ? key.key() : "";
}

std::string KeptVerdicts::package_key(const package::Files& files,
                                      std::span<const ops::TensorData> feeds,
                                      const CaseContent& content, const ModelTraits& traits) const {
  KeyBuilder key;
  key.add("package");
  key.add(by_package_);
  add_run(files, feeds, content, traits, key);
  return key.key();
}

std::optional<Verdict> KeptVerdicts::find(const std::string& key, const std::string& name) const {
  auto found = store_.find(key);
  if (!found) return std::nullopt;
  Verdict verdict = std::move(found->verdict);
  verdict.name = name;
  verdict.kept = true;
  if (found->package_key != key) verdict.package_key = found->package_key;
  return verdict;
}

void KeptVerdicts::keep(const std::string& files_key, const Verdict& verdict) {
  if (verdict.status != Verdict::pass) return;
  Verdict kept = verdict;
  kept.kept = false;
  const std::string& package = verdict.package_key;
  if (seen_ && !package.empty()) std::fprintf(seen_.get(), "%s\n", package.c_str());
  store_.add(files_key, package.empty() ? files_key : package, kept);
  store_.add(package, package, kept);
}

}  // namespace gossamer::command
