#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "package/package.h"
#include "package/sha256.h"
#include "package/write.h"

namespace gossamer::package {
namespace {

File file_of(std::string name, const rapidjson::StringBuffer& text) {
  File file;
  file.name = std::move(name);
  file.bytes.resize(text.GetSize());
  std::memcpy(file.bytes.data(), text.GetString(), text.GetSize());
  return file;
}

bool texture(const Texture& texture) { return texture.width > 0; }
bool texture(const Slot& slot) { return texture(slot.texture); }
bool linear(const Slot& slot) { return !texture(slot); }

// Writes the fields of manifest.def.
class Writer {
 public:
  explicit Writer(rapidjson::StringBuffer& text) : json_(text) {}

#define GS_WRITTEN_always true
#define GS_WRITTEN_lenient(absent) true
#define GS_WRITTEN_unless(absent) (value != (absent))
#define GS_WRITTEN_some (!is_none(value))
#define GS_WRITTEN_when(condition) condition(record)
#define F(type, name, presence, doc) R(type, name, name, presence, doc)
#define R(type, key, name, presence, doc) \
  if (const auto& value = record.name; GS_WRITTEN_##presence) field(#key, value);
#define P(type, key, a, b, presence, doc) \
  json_.Key(#key);                        \
  write_both(record.a, record.b);
#define X(type, key, presence, doc) \
  if (const auto& value = key; GS_WRITTEN_##presence) field(#key, value);
#define M(Type, name, initial)
#define GS_RECORD(Name, ROWS)              \
  void fields(const Name& record) { ROWS } \
  void write(const Name& record) {         \
    json_.StartObject();                   \
    fields(record);                        \
    json_.EndObject();                     \
  }
#define GS_STEP(kind, key, ROWS)
#define GS_MANIFEST(ROWS)                                                               \
  void manifest(const Module& record, std::string_view format, int version,             \
                const std::vector<FileEntry>& files, const std::optional<Plan>& plan) { \
    json_.StartObject();                                                                \
    ROWS json_.EndObject();                                                             \
  }
#include "package/manifest.def"

#define GS_RECORD(Name, ROWS)
#define GS_STEP(step, key, ROWS) \
  case Step::Kind::step:         \
    ROWS break;
#define GS_MANIFEST(ROWS)
  void write(const Step& record) {
    json_.StartObject();
    switch (record.kind) {
#include "package/manifest.def"
    }
    json_.EndObject();
  }
#undef F
#undef R
#undef P
#undef X
#undef M

  template <class T>
  void write(const std::vector<T>& list) {
    json_.StartArray();
    for (const T& one : list) write(one);
    json_.EndArray();
  }

 private:
  void write(std::string_view value) {
    json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  template <class T>
  static bool is_none(const std::vector<T>& list) {
    return list.empty();
  }
  template <class T>
  static bool is_none(const std::optional<T>& one) {
    return !one;
  }
  template <class T>
  void field(const char* key, const T& value) {
    json_.Key(key);
    write(value);
  }
  void field(const char* /*key*/, const Texture& flat) { fields(flat); }
  void write(bool value) { json_.Bool(value); }
  void write(int value) { json_.Int(value); }
  void write(int64_t value) { json_.Int64(value); }
  void write(ir::DType value) { write(ir::name_of(value)); }
  void write(TargetKind value) { write(name_of(value)); }
  void write(const std::string& value) { write(std::string_view(value)); }
  void write(const Number& number) {
    if (!number.planned) return write(number.value);
    json_.StartObject();
    field("plan", number.value);
    json_.EndObject();
  }
  template <class T>
  void write(const std::optional<T>& one) {
    write(*one);
  }
  template <class T, class U>
  void write(const std::pair<T, U>& both) {
    write_both(both.first, both.second);
  }
  template <class T>
  void write_both(int first, const T& second) {
    json_.StartArray();
    write(first);
    write(second);
    json_.EndArray();
  }
  void write_both(const std::vector<Number>& shape, const std::vector<std::string>& symbols) {
    json_.StartArray();
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (axis < symbols.size() && !symbols[axis].empty())
        write(symbols[axis]);
      else
        write(shape[axis]);
    }
    json_.EndArray();
  }

  rapidjson::Writer<rapidjson::StringBuffer> json_;
};

}  // namespace

File file_of_view(std::string name, std::span<const std::byte> bytes) {
  return {.name = std::move(name),
          .bytes = {},
          .size = bytes.size(),
          .parts = {{.length = bytes.size(), .view = bytes}}};
}

void File::each(const std::function<void(std::span<const std::byte>)>& on_bytes) const {
  if (parts.empty()) return on_bytes(bytes);
  size_t at = 0;
  for (const FilePart& part : parts) {
    GS_CHECK(part.range.file.empty(), "only the caller has these bytes");
    if (part.view.empty()) {
      on_bytes(std::span(bytes).subspan(at, part.length));
      at += part.length;
    } else {
      on_bytes(part.view);
    }
  }
}

std::string hash_text(uint64_t xxh3) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int at = 15; at >= 0; --at, xxh3 >>= 4) text[static_cast<size_t>(at)] = digits[xxh3 & 15];
  return text;
}

std::string content_hash(std::span<const std::byte> bytes) {
  return hash_text(XXH3_64bits(bytes.data(), bytes.size()));
}

File write_kernel_sources(Module& module) {
  std::map<std::string_view, int> numbers;
  std::vector<std::string_view> order;
  for (KernelInfo& kernel : module.kernels) {
    if (kernel.source.empty()) continue;
    const auto [found, is_new] = numbers.emplace(kernel.source, static_cast<int>(order.size()));
    if (is_new) order.push_back(kernel.source);
    kernel.code = found->second;
  }
  rapidjson::StringBuffer text;
  Writer(text).write(order);
  return file_of("kernels.json", text);
}

File write_manifest(const Module& module, const Files& files) {
  std::vector<FileEntry> entries;
  for (const File& file : files) {
    entries.push_back({file.name, static_cast<int64_t>(file.length()),
                       file.xxh3.empty() ? content_hash(file.bytes) : file.xxh3,
                       file.sha256.empty() ? sha256(file.bytes) : file.sha256, file.pieces,
                       file.above});
  }
  const bool one_file =
      std::ranges::none_of(files, &File::above) &&
      std::ranges::all_of(module.weights, [](const Weight& weight) { return weight.file < 0; });
  const bool grows =
      std::ranges::any_of(module.dims, [](const Dim& dim) { return dim.output >= 0; });
  std::optional<Plan> plan;
  if (module.plan_values > 0) plan = {module.plan_values, module.plan_segments};
  rapidjson::StringBuffer text;
  Writer(text).manifest(module, "gossamer-package",
                        grows      ? format_version
                        : one_file ? oldest_version
                                   : 3,
                        entries, plan);
  return file_of("manifest.json", text);
}

}  // namespace gossamer::package
