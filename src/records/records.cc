#include "records/records.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ir/build.h"

namespace gossamer::records {
namespace {

using schedule::Point;
using stages::Group;
using stages::Member;
using target::Capabilities;

constexpr double most_of_one = 1, most_in_all = 4;  // of extents' ratios, log2
constexpr size_t most_candidates = 4;               // that are tried for a kernel

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Numbers as "#", but those that are parts of names and types.
std::string without_numbers(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
    if (!digit || (at > 0 && is_letter(text[at - 1]))) {
      plain += text[at];
      continue;
    }
    while (at + 1 < text.size() && (is_letter(text[at + 1]) || text[at + 1] == '.')) ++at;
    plain += '#';
  }
  return plain;
}

void add_extents(const std::vector<ir::Expr>& extents, std::vector<int64_t>& all) {
  for (const ir::Expr& extent : extents) all.push_back(ir::as_int(extent).value_or(0));
}

}  // namespace

Likeness likeness_of(const Group& group) {
  const GroupText text = text_of(group);
  Likeness likeness{hash_of(text.layouts + without_numbers(text.stages)), {}};
  add_extents(group.last().extents, likeness.extents);
  for (const Member& member : group.members)
    add_extents(member.stage.reduce_extents, likeness.extents);
  for (const ir::Buffer& input : inputs_of(group)) add_extents(input->shape, likeness.extents);
  return likeness;
}

std::optional<double> distance(const Likeness& one, const Likeness& other) {
  if (one.structure.empty() || one.structure != other.structure ||
      one.extents.size() != other.extents.size())
    return std::nullopt;
  double sum = 0;
  for (size_t at = 0; at < one.extents.size(); ++at) {
    const int64_t mine = one.extents[at], theirs = other.extents[at];
    if (mine == theirs) continue;
    if (mine <= 0 || theirs <= 0) return std::nullopt;
    const double ratio = std::abs(std::log2(double(mine) / double(theirs)));
    if (ratio > most_of_one) return std::nullopt;
    sum += ratio;
  }
  if (sum > most_in_all) return std::nullopt;
  return sum;
}

void Records::add(Record record) {
  Place place{record.key, record.machine};
  auto& records = record.shipped.empty() ? own_ : shipped_;
  records.insert_or_assign(std::move(place), std::move(record));
}

void Records::add(Records others) {
  for (auto* records : {&others.own_, &others.shipped_})
    for (auto& [place, record] : *records) add(std::move(record));
  for (auto* layouts : {&others.own_layouts_, &others.shipped_layouts_})
    for (auto& [place, record] : *layouts) add(std::move(record));
}

void Records::add(LayoutRecord record) {
  Place place{record.key, record.machine};
  auto& layouts = record.shipped.empty() ? own_layouts_ : shipped_layouts_;
  layouts.insert_or_assign(std::move(place), std::move(record));
}

void Records::add(std::string key, std::string machine, const Point& point) {
  add(Record{std::move(key), std::move(machine), point});
}

const Point* Records::find(const std::string& key, const std::string& machine) const {
  for (const auto* records : {&own_, &shipped_}) {
    if (const auto found = records->find({key, machine}); found != records->end())
      return found->second.point ? &*found->second.point : nullptr;
  }
  return nullptr;
}

bool Records::add_points(const std::map<Place, Record>& records, const Group& group,
                         const Place& place, std::vector<Candidate>& candidates) const {
  if (const auto own = records.find(place); own != records.end()) {
    const Record& record = own->second;
    if (!record.point) return false;
    candidates.push_back({*record.point, "", record.shipped});
  }
  if (exact_ || records.empty()) return true;
  const Likeness likeness = likeness_of(group);
  std::vector<std::pair<double, const Record*>> near;
  for (const auto& [other, record] : records) {
    if (other.second != place.second || other.first == place.first) continue;
    if (const auto far = distance(likeness, record.likeness)) near.emplace_back(*far, &record);
  }
  std::ranges::sort(near, {}, [](const auto& one) {
    return std::pair<double, std::string_view>(one.first, one.second->key);
  });
  for (const auto& [far, record] : near) {
    if (!record->point) return false;
    if (candidates.size() >= most_candidates) break;
    candidates.push_back(
        {*record->point, record->name.empty() ? record->key : record->name, record->shipped});
  }
  return true;
}

std::vector<PointSource::Candidate> Records::points_of(const Group& group,
                                                       const Capabilities& capabilities) const {
  const Place place{key_of(group), class_of(capabilities)};
  std::vector<Candidate> candidates;
  if (add_points(own_, group, place, candidates)) add_points(shipped_, group, place, candidates);
  return candidates;
}

std::optional<int> Records::axis_of(const stages::Stage& stage, const Capabilities& capabilities,
                                    int /*rule*/) const {
  return recorded(stage, capabilities, StageChoice::Of::layout);
}

std::optional<int> Records::tile_of(const stages::Stage& stage, const Capabilities& capabilities,
                                    int /*rule*/) const {
  return recorded(stage, capabilities, StageChoice::Of::algorithm);
}

std::optional<int> Records::recorded(const stages::Stage& stage, const Capabilities& capabilities,
                                     StageChoice::Of of) const {
  if (!has_layouts()) return std::nullopt;
  const Place place{choice_key_of(stage, of), class_of(capabilities)};
  for (const auto* layouts : {&own_layouts_, &shipped_layouts_}) {
    const auto found = layouts->find(place);
    if (found == layouts->end()) continue;
    const std::optional<StageChoice>& choice = found->second.choice;
    return choice && choice->of == of ? std::optional(choice->value) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace gossamer::records
