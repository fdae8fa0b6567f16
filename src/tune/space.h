// The space that a search walks in: the arguments of the default point's calls that may change, and
// their values.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "records/choice.h"
#include "tune/features.h"

namespace gossamer::tune {

using Random = std::mt19937;

// Arguments of calls that change together.
struct Dimension {
  std::vector<schedule::Place> places;
  std::vector<std::string> values;
};

// All points that differ from the default one in these dimensions; those that no schedule has are
// among them. The group must outlive it.
class Space {
 public:
  Space(const stages::Group& group, const target::Capabilities& capabilities);

  const stages::Group& group() const { return group_; }
  const schedule::Point& start() const { return start_; }
  // What a model of costs sees of a point.
  std::vector<float> features(const schedule::Point& point) const { return features_.of(point); }

  // A point with one or two arguments of another value.
  schedule::Point mutate(const schedule::Point& point, Random& random) const;
  // Each argument from one of two.
  schedule::Point cross(const schedule::Point& one, const schedule::Point& other,
                        Random& random) const;
  schedule::Point any(Random& random) const;
  // Each once.
  std::vector<schedule::Point> all() const;
  // The default point, then legal ones, each once: all there are, or, of a large space, `most` from
  // all parts of it, the same ones every time.
  std::vector<schedule::Point> some_legal(size_t most) const;
  // Whether the compiler makes a kernel of it. Costs as much as scheduling does.
  bool legal(const schedule::Point& point) const;

 private:
  void of_rows();
  void of_tile();
  void add(std::vector<schedule::Place> places, std::vector<std::string> values);
  // The combination of values with this number, below `size_`. Several combinations may be the same
  // point.
  schedule::Point at(size_t place) const;

  const stages::Group& group_;
  const target::Capabilities& caps_;
  schedule::Point start_;
  Features features_;
  std::vector<Dimension> dimensions_;
  size_t size_ = 1;
};

}  // namespace gossamer::tune
