#include "gguf/file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/strings.h"
#include "ops/block_formats.h"

namespace gossamer::gguf {
namespace {

constexpr std::string_view magic = "GGUF";
constexpr const char* copied = "check that it was copied or downloaded completely";
constexpr const char* damaged = "the file is damaged";
constexpr uint64_t most_alignment = 1 << 20, most_dims = 4;

// ggml's numbers of types, for messages too.
constexpr std::array<std::pair<int32_t, std::string_view>, 33> names = {{
    {0, "F32"},     {1, "F16"},    {2, "Q4_0"},     {3, "Q4_1"},    {6, "Q5_0"},     {7, "Q5_1"},
    {8, "Q8_0"},    {9, "Q8_1"},   {10, "Q2_K"},    {11, "Q3_K"},   {12, "Q4_K"},    {13, "Q5_K"},
    {14, "Q6_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},   {23, "IQ4_XS"}, {24, "I8"},      {25, "I16"},
    {26, "I32"},    {27, "I64"},   {28, "F64"},     {29, "IQ1_M"},  {30, "BF16"},    {34, "TQ1_0"},
    {35, "TQ2_0"},  {39, "MXFP4"}, {40, "NVFP4"},
}};

// Numbers and bytes of a block of a type that is read; {0, 0} for others.
std::pair<uint64_t, uint64_t> block_of(int32_t type) {
  if (type == 0) return {1, 4};
  if (type == 1 || type == 30) return {1, 2};
  const ops::BlockFormat* format = ops::block_format(int64_t{type});
  return format ? std::pair<uint64_t, uint64_t>(format->numbers, format->bytes)
                : std::pair<uint64_t, uint64_t>();
}

uint64_t size_of(Kind kind) {
  switch (kind) {
    case Kind::u8:
    case Kind::i8:
    case Kind::boolean:
      return 1;
    case Kind::u16:
    case Kind::i16:
      return 2;
    case Kind::u32:
    case Kind::i32:
    case Kind::f32:
      return 4;
    case Kind::u64:
    case Kind::i64:
    case Kind::f64:
      return 8;
    default:
      return 0;
  }
}

std::string quoted(std::string_view name) { return cat("\"", one_line(name.substr(0, 80)), "\""); }

class Reader {
 public:
  Reader(Bytes bytes, uint64_t size) : bytes_(bytes), size_(size) {}

  Result<File> file();

 private:
  uint64_t left() const { return bytes_.size() - at_; }

  Result<Bytes> take(uint64_t count, std::string_view what) {
    if (count > left())
      return fail(cat("the GGUF file is cut: ", what, " at byte ", at_, " takes ", count,
                      " bytes, the file has ", bytes_.size()),
                  copied);
    const Bytes taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  template <class T>
  Result<T> number(std::string_view what) {
    GS_ASSIGN(const Bytes taken, take(sizeof(T), what));
    T value;
    std::memcpy(&value, taken.data(), sizeof(T));
    return value;
  }

  Result<std::string_view> text(std::string_view what) {
    GS_ASSIGN(const auto length, number<uint64_t>(what));
    GS_ASSIGN(const Bytes taken, take(length, what));
    return std::string_view(reinterpret_cast<const char*>(taken.data()), taken.size());
  }

  // How many there are of parts that take `least` bytes each at least.
  Result<uint64_t> count(std::string_view what, uint64_t least) {
    GS_ASSIGN(const auto count, number<uint64_t>(what));
    if (count > left() / least)
      return fail(cat("the GGUF file has ", bytes_.size(), " bytes and says that it has ", count,
                      " ", what),
                  bytes_.size() < size_ ? damaged : copied);
    return count;
  }

  Result<Kind> kind(const std::string& of) {
    GS_ASSIGN(const auto kind, number<uint32_t>(of));
    if (kind > std::to_underlying(Kind::f64))
      return fail(cat("the value of ", of, " has the unknown type ", kind), damaged);
    return static_cast<Kind>(kind);
  }

  Result<Value> value(const std::string& of);
  Result<> read_values(File& file);
  Result<> read_tensors(File& file, uint64_t count);
  Result<Tensor> tensor();
  Result<> place(const std::string& name, Tensor& tensor, uint64_t data) const;

  Bytes bytes_;
  uint64_t size_, at_ = 0;
};

Result<Value> Reader::value(const std::string& of) {
  Value value;
  GS_ASSIGN(value.kind, kind(of));
  if (value.kind == Kind::string) {
    GS_ASSIGN(const auto string, text(of));
    value.bytes = std::as_bytes(std::span(string));
    return value;
  }
  if (value.kind != Kind::array) {
    GS_ASSIGN(value.bytes, take(size_of(value.kind), of));
    return value;
  }
  GS_ASSIGN(value.element, kind(of));
  if (value.element == Kind::array)
    return fail(cat("the value of ", of, " is a list of lists"), damaged);
  const bool strings = value.element == Kind::string;
  GS_ASSIGN(value.count, count(cat("values of ", of), strings ? 8 : size_of(value.element)));
  const uint64_t begin = at_;
  if (strings) {
    for (uint64_t i = 0; i < value.count; ++i) GS_TRY(text(of));
  } else {
    at_ += value.count * size_of(value.element);
  }
  value.bytes = bytes_.subspan(begin, at_ - begin);
  return value;
}

Result<> Reader::read_values(File& file) {
  GS_ASSIGN(const uint64_t pairs, count("values", 13));
  for (uint64_t i = 0; i < pairs; ++i) {
    GS_ASSIGN(const auto key, text("a key"));
    GS_ASSIGN(const Value one, value(quoted(key)));
    if (!file.metadata.emplace(key, one).second)
      return fail(cat("the value of ", quoted(key), " is given twice"), damaged);
  }
  return {};
}

Result<Tensor> Reader::tensor() {
  Tensor tensor;
  GS_ASSIGN(tensor.name, text("the name of a tensor"));
  const std::string name = cat("tensor ", quoted(tensor.name));
  GS_ASSIGN(const auto rank, number<uint32_t>(name));
  if (rank > most_dims) return fail(cat(name, " has ", rank, " dimensions"), damaged);
  for (uint32_t i = 0; i < rank; ++i) {
    GS_ASSIGN(const auto extent, number<uint64_t>(name));
    if (extent == 0 || extent > uint64_t{1} << 40)
      return fail(cat(name, " has a dimension of ", extent), damaged);
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(extent));
  }
  GS_ASSIGN(tensor.type, number<int32_t>(name));
  GS_ASSIGN(tensor.offset, number<uint64_t>(name));
  return tensor;
}

// From offset to range.
Result<> Reader::place(const std::string& name, Tensor& tensor, uint64_t data) const {
  const auto [numbers, bytes] = block_of(tensor.type);
  if (numbers == 0)
    return fail_at(
        name, cat("has the type ", type_name(tensor.type), ", which is not supported"),
        "use a file in F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K or Q6_K: "
        "llama-quantize of llama.cpp writes them");
  const auto columns = tensor.shape.empty() ? 1 : static_cast<uint64_t>(tensor.shape.back());
  if (columns % numbers != 0)
    return fail_at(name,
                   cat("has rows of ", columns, " numbers, ", type_name(tensor.type),
                       " has blocks of ", numbers),
                   damaged);
  uint64_t length = columns / numbers * bytes;
  for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) {
    const auto extent = static_cast<uint64_t>(tensor.shape[i]);
    if (length > size_ / extent) return fail_at(name, "is larger than the file", copied);
    length *= extent;
  }
  if (tensor.offset > size_ - data || length > size_ - data - tensor.offset)
    return fail_at(name,
                   cat("ends at byte ", data + tensor.offset + length, ", the file has ", size_),
                   copied);
  tensor.offset += data;
  tensor.length = length;
  return {};
}

Result<> Reader::read_tensors(File& file, uint64_t count) {
  std::vector<Tensor> tensors;
  for (uint64_t i = 0; i < count; ++i) {
    GS_ASSIGN(tensors.emplace_back(), tensor());
  }
  const auto alignment = file.integer("general.alignment").value_or(32);
  if (alignment < 1 || std::cmp_greater(alignment, most_alignment) ||
      (alignment & (alignment - 1)) != 0)
    return fail(cat("\"general.alignment\" is ", alignment, ", not a power of two"), damaged);
  const auto unit = static_cast<uint64_t>(alignment);
  file.data = (at_ + unit - 1) / unit * unit;
  if (count > 0 && file.data > size_)
    return fail(
        cat("the GGUF file is cut: its tensors begin at byte ", file.data, ", it has ", size_),
        copied);
  for (Tensor& one : tensors) {
    const std::string name = cat("tensor ", quoted(one.name));
    if (one.offset % unit != 0)
      return fail_at(
          name, cat("begins at byte ", one.offset, " of the data, not at a multiple of ", unit),
          damaged);
    GS_TRY(place(name, one, file.data));
    if (!file.tensors.emplace(one.name, one).second)
      return fail_at(name, "is in the file twice", damaged);
  }
  return {};
}

Result<File> Reader::file() {
  File file;
  if (!is_gguf(bytes_))
    return fail("the file is not a GGUF file", "give the .gguf file of a model");
  at_ = magic.size();
  GS_ASSIGN(file.version, number<uint32_t>("the version"));
  if (file.version != 0 && (file.version & 0xffff) == 0)
    return fail("the GGUF file is for big-endian machines",
                "convert it for little-endian ones: gguf_convert_endian.py of llama.cpp does it");
  if (file.version < 2 || file.version > 3)
    return fail(cat("the GGUF file has version ", file.version, "; 2 and 3 are supported"),
                "convert the model again with a current llama.cpp");
  // A tensor has a name, a rank, a type and an offset.
  GS_ASSIGN(const uint64_t tensors, count("tensors", 24));
  GS_TRY(read_values(file));
  GS_TRY(read_tensors(file, tensors));
  return file;
}

// Numbers of a value: one, or those of an array.
template <class T>
bool read_numbers(const Value& value, std::vector<T>& numbers) {
  const Kind kind = value.kind == Kind::array ? value.element : value.kind;
  const auto all = [&]<class Stored>(Stored) {
    for (uint64_t i = 0; i < value.count; ++i) {
      Stored one;
      std::memcpy(&one, value.bytes.data() + i * sizeof(Stored), sizeof(Stored));
      numbers.push_back(static_cast<T>(one));
    }
    return true;
  };
  switch (kind) {
    case Kind::u8:
    case Kind::boolean:
      return all(uint8_t{});
    case Kind::i8:
      return all(int8_t{});
    case Kind::u16:
      return all(uint16_t{});
    case Kind::i16:
      return all(int16_t{});
    case Kind::u32:
      return all(uint32_t{});
    case Kind::i32:
      return all(int32_t{});
    case Kind::u64:
      return all(uint64_t{});
    case Kind::i64:
      return all(int64_t{});
    case Kind::f32:
      return std::is_floating_point_v<T> && all(float{});
    case Kind::f64:
      return std::is_floating_point_v<T> && all(double{});
    default:
      return false;
  }
}

template <class T>
std::optional<std::vector<T>> numbers_of(const File& file, std::string_view key) {
  const auto found = file.metadata.find(key);
  std::vector<T> numbers;
  if (found == file.metadata.end() || !read_numbers(found->second, numbers)) return std::nullopt;
  return numbers;
}

template <class T>
std::optional<T> number_of(const File& file, std::string_view key) {
  const auto found = file.metadata.find(key);
  std::vector<T> numbers;
  if (found == file.metadata.end() || found->second.kind == Kind::array ||
      !read_numbers(found->second, numbers))
    return std::nullopt;
  return numbers[0];
}

}  // namespace

std::optional<std::string_view> File::text(std::string_view key) const {
  const auto found = metadata.find(key);
  if (found == metadata.end() || found->second.kind != Kind::string) return std::nullopt;
  const Bytes bytes = found->second.bytes;
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<int64_t> File::integer(std::string_view key) const {
  return number_of<int64_t>(*this, key);
}
std::optional<double> File::number(std::string_view key) const {
  return number_of<double>(*this, key);
}
std::optional<bool> File::boolean(std::string_view key) const {
  const auto found = metadata.find(key);
  if (found == metadata.end() || found->second.kind != Kind::boolean) return std::nullopt;
  return found->second.bytes[0] != std::byte{0};
}
std::optional<std::vector<int64_t>> File::integers(std::string_view key) const {
  return numbers_of<int64_t>(*this, key);
}
std::optional<std::vector<double>> File::numbers(std::string_view key) const {
  return numbers_of<double>(*this, key);
}

bool File::strings(std::string_view key, const std::function<void(std::string_view)>& each) const {
  const auto found = metadata.find(key);
  if (found == metadata.end() || found->second.kind != Kind::array ||
      found->second.element != Kind::string)
    return false;
  Bytes rest = found->second.bytes;
  for (uint64_t i = 0; i < found->second.count; ++i) {
    uint64_t length = 0;  // parse() has checked it
    std::memcpy(&length, rest.data(), sizeof(length));
    rest = rest.subspan(sizeof(length));
    const auto size = static_cast<size_t>(length);
    each({reinterpret_cast<const char*>(rest.data()), size});
    rest = rest.subspan(size);
  }
  return true;
}

bool is_gguf(Bytes bytes) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

std::string type_name(int32_t type) {
  const auto found = std::ranges::find(names, type, &std::pair<int32_t, std::string_view>::first);
  return found == names.end() ? cat(type) : std::string(found->second);
}

Result<File> parse(Bytes bytes, uint64_t size) { return Reader(bytes, size).file(); }

}  // namespace gossamer::gguf
