#include "gossamer/commands/page.h"

#include <algorithm>
#include <filesystem>

#include "api/files.h"
#include "gossamer/devices/child_process.h"

namespace gossamer::command {

namespace fs = std::filesystem;

namespace {

constexpr const char* page_folder = "runtime/dist/page";

Result<fs::path> built_page() {
  auto found = find_web_file(page_folder);
  if (!found) return fail("the web run time is not built", "run `npm run build` in web/");
  return found;
}

std::string escaped(const std::string& text) {
  std::string html;
  for (char letter : text) {
    switch (letter) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += letter;
    }
  }
  return html;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void fill_in(std::string& html, const PageOptions& options) {
  replace_all(html, "{{NAME}}", escaped(options.name.empty() ? "Model" : options.name));
  replace_all(html, "{{MODEL}}", options.several ? "index.json" : "manifest.json");
  replace_all(html, "{{LABELS}}", options.labels.empty() ? "" : "labels.txt");
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? std::to_integer<uint32_t>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? letters[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

bool page_is_built() { return built_page().has_value(); }

Result<> add_page(package::Files& files, const PageOptions& options) {
  GS_ASSIGN(const fs::path folder, built_page());
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file() && entry.path().filename() != "single.html")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    GS_ASSIGN(Bytes bytes, read_file(path));
    if (path.extension() == ".html") {
      std::string html(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      fill_in(html, options);
      bytes = bytes_of(html);
    }
    files.push_back({path.filename().string(), std::move(bytes)});
  }
  if (!options.labels.empty()) files.push_back({"labels.txt", bytes_of(options.labels)});
  return {};
}

Result<std::string> single_page(const package::Files& files, const PageOptions& options) {
  GS_ASSIGN(const fs::path folder, built_page());
  GS_ASSIGN(std::string html, read_text(folder / "single.html"));
  fill_in(html, options);
  std::string elements;
  const auto add = [&](const std::string& name, std::span<const std::byte> bytes) {
    elements += cat("<script type=\"application/octet-stream\" data-file=\"", escaped(name), "\">",
                    base64(bytes), "</script>\n");
  };
  for (const package::File& file : files) add(file.name, file.bytes);
  if (!options.labels.empty()) add("labels.txt", bytes_of(options.labels));
  const std::string mark = "<!--FILES-->";
  const size_t at = html.find(mark);
  if (at == std::string::npos) return fail("the built single.html has no place for files");
  html.replace(at, mark.size(), elements);
  return html;
}

}  // namespace gossamer::command
