#include "library/oci.h"

#include <algorithm>
#include <cstring>

#include "package/sha256.h"

namespace gossamer::library {
namespace {

using Bytes = std::vector<std::byte>;

Bytes as_bytes(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// Number as ustar has it: octal digits that fill the field but for its last byte.
void put_octal(char* field, size_t room, uint64_t number) {
  for (size_t at = room - 1; at-- > 0; number /= 8) field[at] = static_cast<char>('0' + number % 8);
}

// An archive of one file, for everybody to read and run, by nobody in particular and of no date.
Bytes tar_of(const std::string& name, std::span<const std::byte> content) {
  constexpr size_t block = 512;
  char header[block] = {};
  std::memcpy(header, name.data(), std::min<size_t>(name.size(), 100));
  put_octal(header + 100, 8, 0755);
  put_octal(header + 108, 8, 0);
  put_octal(header + 116, 8, 0);
  put_octal(header + 124, 12, content.size());
  put_octal(header + 136, 12, 0);
  std::memset(header + 148, ' ', 8);  // the sum's own place, while it is made
  header[156] = '0';                  // a file
  std::memcpy(header + 257, "ustar\00000", 8);
  uint64_t sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  put_octal(header + 148, 7, sum);
  header[154] = '\0';
  Bytes tar = as_bytes({header, block});
  tar.insert(tar.end(), content.begin(), content.end());
  // Whole blocks, and two empty ones at the end.
  tar.resize((tar.size() + block - 1) / block * block + 2 * block);
  return tar;
}

}  // namespace

package::Files oci_image(const std::string& name, std::span<const std::byte> program) {
  package::Files files;
  // The descriptor of a blob, which becomes a file.
  const auto blob = [&](std::string_view type, Bytes bytes) {
    const std::string sum = package::sha256(bytes);
    const std::string descriptor =
        cat("\"mediaType\":\"application/vnd.oci.image.", type, "\",\"digest\":\"sha256:", sum,
            "\",\"size\":", bytes.size());
    files.push_back({"blobs/sha256/" + sum, std::move(bytes)});
    return descriptor;
  };
  const std::string file = name + ".wasm";
  Bytes tar = tar_of(file, program);
  const std::string unpacked = package::sha256(tar);
  const std::string layer = blob("layer.v1.tar", std::move(tar));
  // `name` is an identifier: nothing in it wants escaping.
  const std::string config = blob(
      "config.v1+json",
      as_bytes(cat(R"({"architecture":"wasm","os":"wasip1","config":{"Entrypoint":["/)", file,
                   R"("]},"rootfs":{"type":"layers","diff_ids":["sha256:)", unpacked, R"("]}})")));
  const std::string manifest = blob(
      "manifest.v1+json",
      as_bytes(cat(
          R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{)",
          config, R"(},"layers":[{)", layer, "}]}")));
  files.push_back(
      {"index.json",
       as_bytes(cat(
           R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{)",
           manifest,
           R"(,"platform":{"architecture":"wasm","os":"wasip1"},"annotations":{"org.opencontainers.image.ref.name":")",
           name, R"(:latest","io.containerd.image.name":"localhost/)", name, R"(:latest"}}]})"))});
  files.push_back({"oci-layout", as_bytes(R"({"imageLayoutVersion":"1.0.0"})")});
  return files;
}

}  // namespace gossamer::library
