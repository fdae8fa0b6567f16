// Each primitive's effect on a small stage, as loop IR.
#include <gtest/gtest.h>

#include "autoschedule/test_stages.h"

namespace gossamer::schedule {
namespace {

using autoschedule::blocked;

TEST(Schedule, StartsAsALoopAnAxis) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(), "bind(i, grid)"),
            R"(
  grid i in 0..3 {
    for j in 0..10 {
      C[i, j] = A[i, j] * 2.0
    }
  }
)");
}

TEST(Split, TileStartsEarlyWithShift) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(),
                                "split(j, 4, shift) -> j.tile, lane; bind(i, grid)"),
            R"(
  grid i in 0..3 {
    for j.tile in 0..3 {
      for lane in 0..4 {
        C[i, min(j.tile * 4, 6) + lane] = A[i, min(j.tile * 4, 6) + lane] * 2.0
      }
    }
  }
)");
}

TEST(Split, GuardSkips) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(), "split(j, 4, guard); bind(i, grid)"),
            R"(
  grid i in 0..3 {
    for j.outer in 0..3 {
      for j.inner in 0..4 {
        if j.outer * 4 + j.inner < 10 {
          C[i, j.outer * 4 + j.inner] = A[i, j.outer * 4 + j.inner] * 2.0
        }
      }
    }
  }
)");
}

TEST(Split, MaskComputesAndDoesNotStore) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(), "split(j, 4, mask); bind(i, grid)"),
            R"(
  grid i in 0..3 {
    for j.outer in 0..3 {
      for j.inner in 0..4 {
        let result: f32 = A[i, min(j.outer * 4 + j.inner, 9)] * 2.0
        if j.outer * 4 + j.inner < 10 {
          C[i, j.outer * 4 + j.inner] = result
        }
      }
    }
  }
)");
  EXPECT_NE(autoschedule::loops(autoschedule::product(), "split(i, 4, mask); bind(i.outer, grid)")
                .find("of a map alone"),
            std::string::npos);
}

TEST(Split, ClampRepeatsTheLastIteration) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(ir::index(3), ir::var("n")),
                                "split(j, 4, clamp); bind(i, grid)"),
            R"(
  grid i in 0..3 {
    for j.outer in 0..(n + 3) // 4 {
      for j.inner in 0..4 {
        C[i, min(n - 1, j.outer * 4 + j.inner)] = A[i, min(n - 1, j.outer * 4 + j.inner)] * 2.0
      }
    }
  }
)");
}

TEST(Split, RoundUpGoesIntoPadding) {
  EXPECT_EQ(
      autoschedule::loops(autoschedule::twice(ir::index(3), ir::index(10), blocked),
                          "split(j, 4, round_up) -> j.tile, lane; vectorize(lane); bind(i, grid)"),
      R"(
  grid i in 0..3 {
    for j.tile in 0..3 {
      vectorized lane in 0..4 {
        C[i, j.tile * 4 + lane] = A[i, j.tile * 4 + lane] * 2.0
      }
    }
  }
)");
}

TEST(Split, SeveralFactorsWithoutATail) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(ir::index(3), ir::index(24)),
                                "split(j, 2, 4) -> j.tile, vec, lane; bind(i, grid)"),
            R"(
  grid i in 0..3 {
    for j.tile in 0..3 {
      for vec in 0..2 {
        for lane in 0..4 {
          C[i, j.tile * 8 + vec * 4 + lane] = A[i, j.tile * 8 + vec * 4 + lane] * 2.0
        }
      }
    }
  }
)");
}

TEST(Fuse, CountsInRowMajorOrder) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(),
                                "unit() -> item; fuse(i, j) -> ij; bind(item, grid)"),
            R"(
  grid item in 0..1 {
    for ij in 0..30 {
      C[ij // 10, ij % 10] = A[ij // 10, ij % 10] * 2.0
    }
  }
)");
}

TEST(Fuse, BoundLoopsAreDecodedOnce) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(), "fuse(i, j) -> item; bind(item, grid)"),
            R"(
  grid item in 0..30 {
    let i: index = item // 10
    let j: index = item % 10
    C[i, j] = A[i, j] * 2.0
  }
)");
}

TEST(Fuse, WholeLoopsOfATileAreDecodedInside) {
  EXPECT_EQ(autoschedule::loops(
                autoschedule::twice(),
                "fuse(i, j) -> ij; split(ij, 4, shift) -> ij.tile, row; fuse(ij.tile) -> item; "
                "bind(item, grid)"),
            R"(
  grid item in 0..8 {
    for row in 0..4 {
      C[(min(item * 4, 26) + row) // 10, (min(item * 4, 26) + row) % 10] = A[(min(item * 4, 26) + row) // 10, (min(item * 4, 26) + row) % 10] * 2.0
    }
  }
)");
}

TEST(Unit, MakesAPointALaunch) {
  EXPECT_EQ(autoschedule::loops(autoschedule::total(4),
                                "unit() -> item; accumulate(k); bind(item, grid)"),
            R"(
  grid item in 0..1 {
    alloc acc: f32[1, 1]
    acc[0, 0] = 0.0
    for k in 0..4 {
      acc[0, 0] = acc[0, 0] + A[k]
    }
    C[] = acc[0, 0]
  }
)");
}

TEST(Reorder, OnThePlacesAmongThem) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(),
                                "split(j, 5) -> a, b; reorder(b, i); bind(b, grid)"),
            R"(
  grid b in 0..5 {
    for a in 0..2 {
      for i in 0..3 {
        C[i, b + a * 5] = A[i, b + a * 5] * 2.0
      }
    }
  }
)");
}

TEST(Unroll, KeepsTheLoopForThePass) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(ir::index(3), ir::index(2)),
                                "unroll(j); bind(i, grid)"),
            R"(
  grid i in 0..3 {
    unrolled j in 0..2 {
      C[i, j] = A[i, j] * 2.0
    }
  }
)");
}

TEST(Vectorize, KeepsTheLoopForThePass) {
  EXPECT_EQ(autoschedule::loops(autoschedule::twice(ir::index(3), ir::index(4)),
                                "vectorize(j); bind(i, grid)"),
            R"(
  grid i in 0..3 {
    vectorized j in 0..4 {
      C[i, j] = A[i, j] * 2.0
    }
  }
)");
}

TEST(Bind, GroupIsGuardedByTheGridsSplit) {
  EXPECT_EQ(autoschedule::loops(
                autoschedule::twice(),
                "fuse(i, j) -> item; split(item, 16, guard) -> item, invocation; bind(item, "
                "grid); bind(invocation, group)",
                target::capabilities_of(TargetKind::webgpu)),
            R"(
  grid item in 0..2 {
    group invocation in 0..16 {
      if item * 16 + invocation < 30 {
        let i: index = (item * 16 + invocation) // 10
        let j: index = (item * 16 + invocation) % 10
        C[i, j] = A[i, j] * 2.0
      }
    }
  }
)");
}

TEST(Accumulate, AroundAWalk) {
  EXPECT_EQ(autoschedule::loops(autoschedule::product(), "accumulate(k); bind(i, grid)"),
            R"(
  grid i in 0..6 {
    for j in 0..8 {
      alloc acc: f32[1, 1]
      acc[0, 0] = 0.0
      for k in 0..10 {
        acc[0, 0] = fma(A[i, k], B[k, j], acc[0, 0])
      }
      C[i, j] = acc[0, 0]
    }
  }
)");
}

TEST(Accumulate, ARegisterTile) {
  EXPECT_EQ(autoschedule::loops(
                autoschedule::product(),
                "split(i, 2) -> i.tile, row; split(j, 4) -> j.tile, lane; reorder(j.tile, k, "
                "row, lane); accumulate(k); unroll(row); vectorize(lane); bind(i.tile, grid)"),
            R"(
  grid i.tile in 0..3 {
    for j.tile in 0..2 {
      alloc acc: f32[2, 4]
      unrolled row in 0..2 {
        vectorized lane in 0..4 {
          acc[row, lane] = 0.0
        }
      }
      for k in 0..10 {
        unrolled row in 0..2 {
          vectorized lane in 0..4 {
            acc[row, lane] = fma(A[i.tile * 2 + row, k], B[k, j.tile * 4 + lane], acc[row, lane])
          }
        }
      }
      unrolled row in 0..2 {
        vectorized lane in 0..4 {
          C[i.tile * 2 + row, j.tile * 4 + lane] = acc[row, lane]
        }
      }
    }
  }
)");
}

TEST(Accumulate, AroundLoopsOfTheOutput) {
  EXPECT_EQ(autoschedule::loops(
                autoschedule::product(),
                "split(j, 4) -> j.tile, lane; reorder(j.tile, k, lane); accumulate(j.tile); "
                "vectorize(lane); bind(i, grid)"),
            R"(
  grid i in 0..6 {
    alloc acc: f32[1, 8]
    for j.tile in 0..2 {
      vectorized lane in 0..4 {
        acc[0, j.tile * 4 + lane] = 0.0
      }
    }
    for j.tile in 0..2 {
      for k in 0..10 {
        vectorized lane in 0..4 {
          acc[0, j.tile * 4 + lane] = fma(A[i, k], B[k, j.tile * 4 + lane], acc[0, j.tile * 4 + lane])
        }
      }
    }
    for j.tile in 0..2 {
      vectorized lane in 0..4 {
        C[i, j.tile * 4 + lane] = acc[0, j.tile * 4 + lane]
      }
    }
  }
)");
}

TEST(Rfactor, JoinsLanes) {
  EXPECT_EQ(autoschedule::loops(autoschedule::total(8),
                                "split(k, 4) -> k.block, lane; rfactor(lane); accumulate(k.block); "
                                "vectorize(lane); unit() -> item; bind(item, grid)"),
            R"(
  grid item in 0..1 {
    alloc acc: f32[1, 4]
    vectorized lane in 0..4 {
      acc[0, lane] = 0.0
    }
    for k.block in 0..2 {
      vectorized lane in 0..4 {
        acc[0, lane] = acc[0, lane] + A[k.block * 4 + lane]
      }
    }
    let parts0: f32x4 = acc[0, ramp(0, 1, 4)]
    let total0: f32 = lane(parts0, 0) + lane(parts0, 1)
    let total0_1: f32 = total0 + lane(parts0, 2)
    let total0_2: f32 = total0_1 + lane(parts0, 3)
    C[] = total0_2
  }
)");
}

TEST(Peel, WalksWhatIsLeftOver) {
  EXPECT_EQ(autoschedule::loops(
                autoschedule::product(),
                "split(k, 4, guard) -> k.block, k; accumulate(k.block); peel(k.block) -> k'; "
                "unroll(k'); bind(i, grid)"),
            R"(
  grid i in 0..6 {
    for j in 0..8 {
      alloc acc: f32[1, 1]
      acc[0, 0] = 0.0
      for k.block in 0..2 {
        for k in 0..4 {
          acc[0, 0] = fma(A[i, k.block * 4 + k], B[k.block * 4 + k, j], acc[0, 0])
        }
      }
      unrolled k_1 in 0..2 {
        acc[0, 0] = fma(A[i, k_1 + 8], B[k_1 + 8, j], acc[0, 0])
      }
      C[i, j] = acc[0, 0]
    }
  }
)");
}

TEST(Peel, CountsInTheRunWhatIsLeftOver) {
  EXPECT_EQ(
      autoschedule::loops(
          autoschedule::product(ir::index(6), ir::min(ir::var("n"), ir::index(99)), ir::index(8)),
          "split(k, 4, guard) -> k.block, k; accumulate(k.block); peel(k.block) -> k'; "
          "bind(i, grid)"),
      R"(
  grid i in 0..6 {
    for j in 0..8 {
      alloc acc: f32[1, 1]
      acc[0, 0] = 0.0
      for k.block in 0..min(n, 99) // 4 {
        for k in 0..4 {
          acc[0, 0] = fma(A[i, k.block * 4 + k], B[k.block * 4 + k, j], acc[0, 0])
        }
      }
      for k_1 in 0..min(n, 99) % 4 {
        acc[0, 0] = fma(A[i, min(n, 99) // 4 * 4 + k_1], B[min(n, 99) // 4 * 4 + k_1, j], acc[0, 0])
      }
      C[i, j] = acc[0, 0]
    }
  }
)");
}

// Nine rows are two tiles of five, three rows are one of three.
TEST(Split, ClampedRowsAreSharedOutEvenly) {
  const std::string text =
      autoschedule::loops(autoschedule::product(ir::var("n"), ir::index(4), ir::index(8)),
                          "split(i, 6, clamp) -> i.tile, row; split(j, 4) -> j.tile, lane; "
                          "reorder(j.tile, k, row, lane); accumulate(k); unroll(k); unroll(row); "
                          "vectorize(lane); fuse(i.tile, j.tile) -> item; bind(item, grid)");
  size_t at = 0;
  for (const std::string_view part :
       {"if (n + 5) // 6 * 5 < n", "alloc acc: f32[6, 4]", "unrolled k in",
        "A[min(n - 6, i.tile * 6) + row, k]", "if (n + 5) // 6 * 4 < n", "alloc acc_1: f32[5, 4]",
        "for k in", "A[min(n - 5, i.tile * 5) + row, k]", "if (n + 5) // 6 * 3 < n",
        "alloc acc_2: f32[4, 4]", "if (n + 5) // 6 * 2 < n", "alloc acc_3: f32[3, 4]",
        "if (n + 5) // 6 < n", "alloc acc_4: f32[2, 4]", "} else {", "alloc acc_5: f32[1, 4]"}) {
    const size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in" << text;
    at = found;
  }
}

TEST(Split, ClampedRowsShiftInARunThatHasEnough) {
  EXPECT_EQ(autoschedule::loops(
                autoschedule::product(ir::var("n"), ir::index(4), ir::index(8)),
                "split(i, 2, clamp) -> i.tile, row; split(j, 4) -> j.tile, lane; "
                "reorder(j.tile, k, row, lane); accumulate(k); unroll(row); vectorize(lane); "
                "fuse(i.tile, j.tile) -> item; bind(item, grid)"),
            R"(
  grid item in 0..(n + 1) // 2 * 2 {
    let i.tile: index = item // 2
    let j.tile: index = item % 2
    if (n + 1) // 2 < n {
      alloc acc: f32[2, 4]
      unrolled row in 0..2 {
        vectorized lane in 0..4 {
          acc[row, lane] = 0.0
        }
      }
      for k in 0..4 {
        unrolled row in 0..2 {
          vectorized lane in 0..4 {
            acc[row, lane] = fma(A[min(n - 2, i.tile * 2) + row, k], B[k, j.tile * 4 + lane], acc[row, lane])
          }
        }
      }
      unrolled row in 0..2 {
        vectorized lane in 0..4 {
          C[min(n - 2, i.tile * 2) + row, j.tile * 4 + lane] = acc[row, lane]
        }
      }
    } else {
      alloc acc_1: f32[1, 4]
      vectorized lane in 0..4 {
        acc_1[0, lane] = 0.0
      }
      for k in 0..4 {
        vectorized lane in 0..4 {
          acc_1[0, lane] = fma(A[min(n - 1, i.tile), k], B[k, j.tile * 4 + lane], acc_1[0, lane])
        }
      }
      vectorized lane in 0..4 {
        C[min(n - 1, i.tile), j.tile * 4 + lane] = acc_1[0, lane]
      }
    }
  }
)");
}

TEST(Peel, MasksLanesOfPartialResults) {
  EXPECT_EQ(autoschedule::loops(
                autoschedule::total(10),
                "split(k, 4, guard) -> k.block, lane; rfactor(lane); accumulate(k.block); "
                "peel(k.block); vectorize(lane); unit() -> item; bind(item, grid)"),
            R"(
  grid item in 0..1 {
    alloc acc: f32[1, 4]
    vectorized lane in 0..4 {
      acc[0, lane] = 0.0
    }
    for k.block in 0..2 {
      vectorized lane in 0..4 {
        acc[0, lane] = acc[0, lane] + A[k.block * 4 + lane]
      }
    }
    vectorized lane in 0..4 {
      acc[0, lane] = acc[0, lane] + select(lane < 2, A[lane + 8], 0.0)
    }
    let parts0: f32x4 = acc[0, ramp(0, 1, 4)]
    let total0: f32 = lane(parts0, 0) + lane(parts0, 1)
    let total0_1: f32 = total0 + lane(parts0, 2)
    let total0_2: f32 = total0_1 + lane(parts0, 3)
    C[] = total0_2
  }
)");
}

TEST(Peel, LeavesGuardsAsMasksOtherwise) {
  EXPECT_EQ(
      autoschedule::loops(autoschedule::total(10),
                          "split(k, 4, guard) -> k.block, k; accumulate(k.block); unit() -> item; "
                          "bind(item, grid)"),
      R"(
  grid item in 0..1 {
    alloc acc: f32[1, 1]
    acc[0, 0] = 0.0
    for k.block in 0..3 {
      for k in 0..4 {
        acc[0, 0] = acc[0, 0] + select(k.block * 4 + k < 10, A[k.block * 4 + k], 0.0)
      }
    }
    C[] = acc[0, 0]
  }
)");
}

// A scale that stays the same in a block is multiplied by the block's sum, not by each term.
TEST(Accumulate, BlocksOfAScale) {
  EXPECT_EQ(autoschedule::loops(
                autoschedule::decoded_product(ir::index(2), ir::index(64), ir::index(8), false),
                "split(k, 32) -> k.block, k; reorder(i, j, k.block, k); accumulate(k.block); "
                "fuse(i, j) -> item; bind(item, grid)"),
            R"(
  grid item in 0..16 {
    let i: index = item // 8
    let j: index = item % 8
    alloc acc: f32[1, 1]
    acc[0, 0] = 0.0
    alloc acc.part: f32[1, 1] {
      for k.block in 0..2 {
        acc.part[0, 0] = 0.0
        for k in 0..32 {
          acc.part[0, 0] = fma(A[i, k.block * 32 + k], f32(B[k.block * 32 + k, j]), acc.part[0, 0])
        }
        acc[0, 0] = fma(acc.part[0, 0], S[j, k.block], acc[0, 0])
      }
    }
    C[i, j] = acc[0, 0]
  }
)");
}

}  // namespace
}  // namespace gossamer::schedule
