#include "ops/nn/einsum.h"
#include "ops/elementwise.h"
#include "ops/shape_checks.h"

#include <algorithm>
#include <map>

namespace gossamer::ops {
namespace {

struct Terms {
  std::vector<std::string> inputs;
  std::string output;
  bool explicit_output = false;
};

// Axes of an ellipsis are named by digits, from the last one: "...": "10" for two axes.
Result<Terms> read_equation(const Builder& b) {
  std::string text;
  for (char c : b.text("equation")) {
    if (c != ' ') text += c;
  }
  Terms terms;
  size_t arrow = text.find("->");
  terms.explicit_output = arrow != std::string::npos;
  std::string left = text.substr(0, arrow);
  if (terms.explicit_output) terms.output = text.substr(arrow + 2);
  size_t start = 0;
  while (true) {
    size_t comma = left.find(',', start);
    terms.inputs.push_back(left.substr(start, comma == std::string::npos ? comma : comma - start));
    if (comma == std::string::npos) break;
    start = comma + 1;
  }
  if (static_cast<int>(terms.inputs.size()) != b.input_count()) {
    return b.error(
        cat("the equation has ", terms.inputs.size(), " terms for ", b.input_count(), " inputs"));
  }
  auto named = [](std::string term) {
    if (size_t dots = term.find("..."); dots != std::string::npos) term.erase(dots, 3);
    return std::ranges::all_of(
        term, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  };
  int most = -1;  // axes of every ellipsis
  auto expand = [](std::string& term, int axes) {
    size_t dots = term.find("...");
    if (dots == std::string::npos) return;
    std::string names;
    for (int i = axes; i-- > 0;) names += static_cast<char>('0' + i);
    term.replace(dots, 3, names);
  };
  for (size_t i = 0; i < terms.inputs.size(); ++i) {
    std::string& term = terms.inputs[i];
    int rank = b.input(static_cast<int>(i)).rank();
    bool dots = term.find("...") != std::string::npos;
    int hidden = rank - static_cast<int>(term.size()) + (dots ? 3 : 0);
    if (hidden < 0 || hidden > 9 || (!dots && hidden != 0)) {
      return b.error(cat("term \"", term, "\" does not fit an input of rank ", rank));
    }
    if (!named(term)) return b.error(cat("term \"", term, "\" has other names than letters"));
    if (dots && most >= 0 && hidden != most) {
      return b.error(cat("\"...\" is ", most, " axes of one input and ", hidden, " of another"));
    }
    expand(term, hidden);
    if (dots) most = hidden;
  }
  most = std::max(most, 0);
  if (terms.explicit_output) {
    if (!named(terms.output))
      return b.error(cat("output \"", terms.output, "\" has other names than letters"));
    expand(terms.output, most);
  } else {
    std::map<char, int> counts;
    for (const std::string& term : terms.inputs) {
      for (char c : term) ++counts[c];
    }
    for (int i = most; i-- > 0;) terms.output += static_cast<char>('0' + i);
    for (auto [name, count] : counts) {
      if (count == 1 && !(name >= '0' && name <= '9')) terms.output += name;
    }
  }
  return terms;
}

}  // namespace

Result<> einsum(Builder& b) {
  GS_TRY(same_types(b));
  GS_ASSIGN(Terms terms, read_equation(b));
  std::map<char, Expr> extents;
  std::string order;  // names as they first appear
  for (size_t i = 0; i < terms.inputs.size(); ++i) {
    const Tensor& x = b.input(static_cast<int>(i));
    for (size_t axis = 0; axis < terms.inputs[i].size(); ++axis) {
      char name = terms.inputs[i][axis];
      const Expr& extent = x.shape()[axis];
      auto [place, fresh] = extents.try_emplace(name, extent);
      if (fresh) order += name;
      if (fresh) continue;
      GS_ASSIGN(place->second,
                b.broadcast_extent(place->second, extent,
                                   cat("axis ", std::string(1, name), " has two extents")));
    }
  }
  Shape shape, summed;
  std::string summed_names;
  for (char name : terms.output) {
    if (std::ranges::count(terms.output, name) > 1)
      return b.error(cat("the output has axis ", std::string(1, name), " twice"));
    if (!extents.contains(name)) return b.error(cat("no input has axis ", std::string(1, name)));
    shape.push_back(extents[name]);
  }
  for (char name : order) {
    if (terms.output.find(name) != std::string::npos) continue;
    summed_names += name;
    summed.push_back(extents[name]);
  }
  DType dtype = b.input(0).dtype();
  Type type = summed.empty() ? Type(dtype) : Type(accumulator(dtype));
  auto term_at = [&](Point point, Point over) {
    std::map<char, Expr> at;
    for (size_t i = 0; i < point.size(); ++i) at[terms.output[i]] = point[i];
    for (size_t i = 0; i < over.size(); ++i) at[summed_names[i]] = over[i];
    Expr value;
    for (size_t i = 0; i < terms.inputs.size(); ++i) {
      const Tensor& x = b.input(static_cast<int>(i));
      std::vector<Expr> place;
      for (size_t axis = 0; axis < terms.inputs[i].size(); ++axis) {
        place.push_back(b.broadcast_place(x.shape()[axis], at[terms.inputs[i][axis]]));
      }
      Expr factor = ir::cast(type, x.at(place));
      value = value ? value * factor : factor;
    }
    return value;
  };
  if (summed.empty()) {
    b.output(0, b.compute("einsum", dtype, shape, [&](Point p) { return term_at(p, {}); }));
  } else {
    b.output(0, b.reduce("einsum", Builder::Join::sum, dtype, shape, summed, term_at));
  }
  return {};
}

}  // namespace gossamer::ops
