#include "base/target.h"

#include <algorithm>
#include <array>

namespace gossamer {
namespace {

constexpr auto rows = std::to_array<Target>({
#define GS_TARGET(name, memory, pages, side, ending, runs_on) \
  {TargetKind::name, #name, TargetMemory::memory, pages, TargetKind::side, ending},
#include "base/targets.def"
});

}  // namespace

std::span<const Target> all_targets() { return rows; }

const Target& target_of(TargetKind kind) { return rows[static_cast<size_t>(kind)]; }

Result<TargetKind> target_named(std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Target::name);
  if (found != rows.end()) return found->kind;
  std::string known;
  for (const Target& row : rows) known += cat(known.empty() ? "" : ", ", row.name);
  return fail_at(cat("target \"", name, "\""), "there is no such target",
                 cat("`gossamer targets` lists them: ", known));
}

std::vector<std::string> target_names(std::vector<std::string> more) {
  std::vector<std::string> names;
  for (const Target& row : rows) names.emplace_back(row.name);
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

}  // namespace gossamer
