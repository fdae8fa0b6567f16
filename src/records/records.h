// Records of good points: each of a kernel and a class of machines. Kernels that have none may take
// one of a kernel near theirs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "records/choice.h"
#include "records/layout_records.h"

namespace gossamer::records {

// By what kernels are near each other: the same structure, and extents that differ little.
struct Likeness {
  std::string structure;         // hashed: layouts, types and stages, without their numbers
  std::vector<int64_t> extents;  // of the points, the reductions and the inputs; 0: not known
};
Likeness likeness_of(const stages::Group& group);

// The sum of the extents' ratios, as logarithms to base 2. None: another structure, an extent by
// more than twice the other, or a sum of more than 4.
std::optional<double> distance(const Likeness& one, const Likeness& other);

class Records : public PointSource {
 public:
  struct Record {
    std::string key, machine;              // key_of, class_of
    std::optional<schedule::Point> point;  // none: the default one is the best known
    std::string name = {};                 // of the kernel, to say whose point another one took
    Likeness likeness = {};                // without a structure, no other kernel takes it
    std::string shipped = {};  // the class of devices that it came with; empty: the user's own
  };

  // The last one of a key and class counts, of the user's own and of those that came with the
  // compiler alike.
  void add(Record record);
  void add(std::string key, std::string machine, const schedule::Point& point);
  void add(Records others);
  // Of layouts, too, the last one of a key and class counts, and the user's come first.
  void add(LayoutRecord record);
  // Kernels take records of their own alone.
  void set_exact() { exact_ = true; }
  size_t size() const { return own_.size() + shipped_.size(); }
  bool has_layouts() const { return !own_layouts_.empty() || !shipped_layouts_.empty(); }

  // Its own, then those of kernels near it, the nearest first; the user's before those that came
  // with the compiler. Up to one whose default point is the best known.
  std::vector<Candidate> points_of(const stages::Group& group,
                                   const target::Capabilities& capabilities) const override;
  const schedule::Point* find(const std::string& key, const std::string& machine) const override;
  std::optional<int> axis_of(const stages::Stage& stage, const target::Capabilities& capabilities,
                             int rule) const override;
  std::optional<int> tile_of(const stages::Stage& stage, const target::Capabilities& capabilities,
                             int rule) const override;

 private:
  std::optional<int> recorded(const stages::Stage& stage, const target::Capabilities& capabilities,
                              StageChoice::Of of) const;
  using Place = std::pair<std::string, std::string>;  // key, class
  // Adds those of `records`; false where the default point is the best known.
  bool add_points(const std::map<Place, Record>& records, const stages::Group& group,
                  const Place& place, std::vector<Candidate>& candidates) const;

  std::map<Place, Record> own_, shipped_;
  std::map<Place, LayoutRecord> own_layouts_, shipped_layouts_;
  bool exact_ = false;
};

}  // namespace gossamer::records
