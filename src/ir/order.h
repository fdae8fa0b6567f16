// A total order of expressions that never looks at an address, so that output does not depend on
// the machine.
#pragma once

#include <unordered_map>

#include "ir/node_map.h"

namespace gossamer::ir {

// By the depth of the innermost loop whose variable occurs, then by structure; variables and
// buffers by name, those of one name by first appearance.
class Order {
 public:
  void set_depth(const VarNode* var, int depth);
  int depth_of(const Expr&);
  int compare(const Expr& a, const Expr& b);  // < 0, 0, > 0

 private:
  int compare_nodes(const Node* a, const Node* b);
  int number_of(const Node* node);

  NodeMap<int> var_depths_;
  NodeMap<int> depths_;
  std::unordered_map<const Node*, int> numbers_;
};

}  // namespace gossamer::ir
