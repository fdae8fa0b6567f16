#include "fingerprints/package_texts.h"

#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "api/files.h"
#include "compiler/compile.h"
#include "fingerprints/module_text.h"
#include "package/write.h"
#include "shipped/shipped.h"

namespace gossamer::fingerprints {
namespace {

constexpr size_t package_digits = 12, part_digits = 10;
constexpr size_t longest_name = 24;  // characters of a kernel's first stage

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return words;
}

struct Settings {
  compiler::Options compile;
  std::string device_class;
};

// Words are options of the command line without dashes, processors ("haswell") and classes of
// devices whose shipped records are used ("nvidia").
Result<> apply(const std::string& word, Settings& settings) {
  compiler::Options& compile = settings.compile;
  const auto is_one_of = [&](auto... names) { return ((word == names) || ...); };
  if (word == "f16")
    compile.f16 = true;
  else if (word == "state")
    compile.state = true;
  else if (word == "no-winograd")
    compile.winograd = false;
  else if (word == "no-relaxed-simd")
    compile.relaxed_simd = false;
  else if (word == "side-cpu")
    compile.native_side = true;
  else if (is_one_of("mobile", "es31"))
    compile.limits = word;
  else if (is_one_of("hardware", "software"))
    compile.adapters = word;
  else if (is_one_of("x86-64-v2", "haswell", "skylake-avx512"))
    compile.cpu = word;
  else if (std::ranges::find(shipped::device_classes(), word) != shipped::device_classes().end())
    settings.device_class = word;
  else
    return fail_at(cat("option \"", word, "\""), "is unknown",
                   "add it to apply() in tests/fingerprints/package_texts.cc");
  return {};
}

Result<Settings> settings_of(const Job& job) {
  Settings settings;
  compiler::Options& compile = settings.compile;
  compile.target = job.target == "c" ? "cpu" : job.target;
  compile.name = job.name;
  compile.cpu = "haswell";
  compile.ir = true;
  for (const std::string& word : job.options) GS_TRY(apply(word, settings));
  // As `gossamer compile --emit c` does: C is for any machine.
  if (job.target == "c") {
    compile.code = compiler::CodeForm::c;
    settings.device_class = shipped::no_class;
  } else if (job.target == "cpu" && !compile.state) {
    compile.code = compiler::CodeForm::bitcode;
  }
  return settings;
}

std::string_view text_of(const package::File& file) {
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

std::string hash_of(std::string_view text, size_t digits) {
  return package::content_hash(std::as_bytes(std::span(text))).substr(0, digits);
}

// Shortens a list of stages: "softmax.max + softmax.exp + softmax.sum" becomes "softmax.max+2".
std::string short_name(std::string_view name) {
  constexpr std::string_view joins = " + ";
  size_t more = 0;
  for (size_t at = name.find(joins); at != std::string_view::npos; at = name.find(joins, at + 1))
    ++more;
  name = name.substr(0, name.find(joins));
  std::string result;
  for (const char letter : name) {
    const bool kept = std::isalnum(static_cast<unsigned char>(letter)) ||
                      std::string_view("._-").find(letter) != std::string_view::npos;
    result += kept ? letter : '_';
  }
  if (result.size() > longest_name)
    result.replace(longest_name / 2, result.size() - longest_name, "..");
  return more > 0 ? cat(result, "+", more) : result;
}

// Leaves out sizes and hashes of files, which change whenever a file does.
std::string print_manifest(rapidjson::Document& manifest) {
  for (auto& file : manifest["files"].GetArray())
    for (const char* key : {"bytes", "xxh3", "sha256", "pieces"}) file.RemoveMember(key);
  rapidjson::StringBuffer text;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(text);
  json.SetIndent(' ', 1);
  json.SetFormatOptions(rapidjson::kFormatSingleLineArray);
  manifest.Accept(json);
  // Objects in arrays begin on lines of their own.
  std::string result(text.GetString(), text.GetSize());
  for (size_t at = result.find("}, {"); at != std::string::npos; at = result.find("}, {", at + 4))
    result.replace(at, 4, "},\n{");
  return result;
}

// The functions in the package's code, by file.
Result<std::map<std::string, Functions>> functions_of(const package::Files& files) {
  std::map<std::string, Functions> all;
  for (const package::File& file : files) {
    if (file.name.ends_with(".wasm")) {
      GS_ASSIGN(all[file.name], wasm_functions(file.bytes));
    } else if (file.name == "kernels.bc") {
      GS_ASSIGN(all[file.name], llvm_functions(file.bytes));
    } else if (file.name == "kernels.c") {
      all[file.name] = c_functions(text_of(file));
    }
  }
  return all;
}

// Moves the code of a kernel out of `functions`; functions of the plan remain there.
Part take_kernel(const compiler::KernelReport& kernel, const std::string& entry, bool side,
                 std::map<std::string, Functions>& functions) {
  if (!kernel.code.empty()) return {kernel.name, kernel.code, {}};
  const auto take = [&](const char* file) -> std::string {
    const auto inside = functions.find(file);
    if (inside == functions.end()) return {};
    const auto function = inside->second.extract(entry);
    return function ? std::move(function.mapped()) : std::string();
  };
  std::string text = side ? take("side.wasm") : take("kernels.wasm");
  if (!side) text += take("kernels.bc") + take("kernels.c");
  if (const std::string relaxed = side ? "" : take("kernels.relaxed.wasm"); relaxed != text)
    text += relaxed.empty() ? "" : cat("# with relaxed SIMD\n", relaxed);
  if (const std::string dots = side ? "" : take("kernels.dots.wasm");
      text.find("dot_i16x8") != std::string::npos)
    text += dots.empty() ? "" : cat("# with relaxed SIMD's dots\n", dots);
  return text.empty() ? Part{kernel.name, kernel.ir, {}} : Part{kernel.name, text, {}, kernel.ir};
}

// Native code depends on LLVM's version, and the manifest has the hashes of native code.
bool is_portable(const package::File& file) {
  return !file.name.ends_with(".so") && file.name != "kernels.bc" && file.name != "manifest.json";
}

}  // namespace

Result<Job> parse_job(std::string_view line) {
  std::array<std::string, 5> fields;
  size_t count = 0;
  for (; count < fields.size(); ++count) {
    const size_t end = std::min(line.find('\t'), line.size());
    fields[count] = line.substr(0, end);
    line.remove_prefix(std::min(line.size(), end + 1));
  }
  if (fields[3].empty())
    return fail(cat("job \"", fields[0], "\" has no target"),
                "a job is PACKAGE, MODEL, NAME, TARGET and OPTION,OPTION, separated by tabs");
  return Job{fields[0], fields[1], fields[2], fields[3], split(fields[4], ',')};
}

Result<Fingerprint> fingerprint_of(const Job& job) {
  GS_ASSIGN(Settings settings, settings_of(job));
  GS_ASSIGN(const Bytes model, read_file(job.model));
  records::Records records;
  GS_TRY(shipped::add_to(records, settings.compile, settings.device_class));
  settings.compile.records = &records;
  compiler::Report report;
  GS_ASSIGN(const package::Files files, compiler::compile(model, settings.compile, &report));
  GS_ASSIGN(auto functions, functions_of(files));

  rapidjson::Document manifest;
  const std::string_view json = text_of(files.front());
  if (manifest.Parse(json.data(), json.size()).HasParseError())
    return fail("the package's manifest is not JSON");
  Fingerprint result;
  const auto add = [&](Part part) {
    part.name = short_name(part.name);
    part.hash = hash_of(part.text, part_digits);
    result.parts.push_back(std::move(part));
  };
  add({"manifest", print_manifest(manifest), {}});
  const auto& kernels = manifest["kernels"].GetArray();
  for (rapidjson::SizeType at = 0; at < kernels.Size(); ++at)
    add(take_kernel(report.kernels[at], kernels[at]["entry"].GetString(),
                    kernels[at].HasMember("device"), functions));
  // Packages for wasm have the plan in both modules; merging keeps one.
  std::map<std::string, std::string> others;
  for (auto& [file, left] : functions) others.merge(left);
  for (auto& [name, text] : others) add({name, std::move(text), {}});

  std::string all;
  for (const Part& part : result.parts) all += cat(part.name, " ", part.hash, "\n");
  for (const package::File& file : files) {
    if (!is_portable(file)) continue;
    const std::string hash = package::content_hash(file.bytes);
    all += cat(file.name, " ", hash, "\n");
    if (file.name.ends_with(".safetensors"))
      result.parts.push_back({"weights", {}, hash.substr(0, part_digits)});
  }
  result.hash = hash_of(all, package_digits);
  return result;
}

}  // namespace gossamer::fingerprints
