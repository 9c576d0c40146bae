// How attention by the matrix instruction is cut, and where its pieces meet. Heads of one group share keys
// and values, so a query and a head of the group together are one "row": row p is head p % sharing of query
// p / sharing. A unit is a tile of rows against a share of the cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {

inline constexpr int kFewRowsTile = 16;    // attention_split.cu: rows of a tile, of which there is one
inline constexpr int kSomeRowsTile = 64;   // attention_tile.cu: over short caches,
inline constexpr int kManyRowsTile = 128;  // and over long ones
inline constexpr int kKeysTile = 64, kFewKeysTile = 16;
inline constexpr int kMostSplits = 264;                         // two blocks on each of 132 processors
inline constexpr int kWideRowsTile = 128, kWideKeysTile = 128;  // attention_warpgroup.cu

struct AttendPlan {
  int rows = 0;    // T · sharing
  int height = 0;  // of a tile
  int tiles = 0;
  int splits = 0;
  int keys = 0;       // of a split, a multiple of the tile's
  bool wide = false;  // for attention_warpgroup.cu
  __host__ __device__ int unit(int group, int tile, int split) const {
    return (group * tiles + tile) * splits + split;
  }
};

// For one block on each of 132 processors: a cache is split so that all of them have one where units are few,
// and where the last ones would leave many idle.
__host__ __device__ inline AttendPlan wide_plan_of(int rows, int cache_rows, int groups) {
  constexpr int kProcessors = 132, kFewUnits = 120, kFewKeys = 1024, kMostSplits = 4;
  AttendPlan plan{.rows = rows, .height = kWideRowsTile, .wide = true};
  plan.tiles = (rows + kWideRowsTile - 1) / kWideRowsTile;
  const int units = plan.tiles * groups, possible = cache_rows / kFewKeys;
  int splits = units < kFewUnits ? kProcessors / units : 1;
  if (units > kFewUnits) {
    int busy = 0;  // processors in a hundred
    for (int s = 1; s <= kMostSplits; ++s) {
      const int waves = (units * s + kProcessors - 1) / kProcessors,
                share = 100 * units * s / (waves * kProcessors);
      if (share < busy + 5) continue;
      busy = share;
      splits = s;
    }
  }
  if (splits > possible) splits = possible > 1 ? possible : 1;
  plan.keys = ((cache_rows + splits - 1) / splits + kWideKeysTile - 1) / kWideKeysTile * kWideKeysTile;
  plan.splits = (cache_rows + plan.keys - 1) / plan.keys;
  return plan;
}

// From an item's own sizes alone, so that its bits do not depend on its neighbours. Wanted are two blocks on
// each of 132 processors: over a short cache by lower tiles, over a long one by splitting it.
__host__ __device__ inline AttendPlan plan_of(std::int64_t T, std::int64_t cache_rows, const Shape& shape) {
  constexpr int kEnoughUnits = 200, kWantedUnits = kMostSplits, kShortCache = 2048, kFewKeys = 128,
                kManyKeys = 512;
  AttendPlan plan;
  plan.rows = static_cast<int>(T * (shape.heads / shape.groups));
  const int groups = static_cast<int>(shape.groups), rows = static_cast<int>(cache_rows);
  const bool few = plan.rows <= kFewRowsTile;
  if (shape.warpgroups && shape.head_size == 128 && !few) return wide_plan_of(plan.rows, rows, groups);
  const bool whole = (plan.rows + kManyRowsTile - 1) / kManyRowsTile * groups >= kEnoughUnits;
  plan.height = few ? kFewRowsTile : whole || rows > kShortCache ? kManyRowsTile : kSomeRowsTile;
  plan.tiles = (plan.rows + plan.height - 1) / plan.height;
  const int units = plan.tiles * groups, least = few ? kFewKeys : kManyKeys;
  const int wanted = units >= kEnoughUnits ? 1 : (kWantedUnits + units - 1) / units;
  const int possible = (rows + least - 1) / least;
  const int splits = wanted < possible ? wanted : possible;
  const int tile = few ? kFewKeysTile : kKeysTile;
  plan.keys = ((rows + splits - 1) / splits + tile - 1) / tile * tile;
  plan.splits = (rows + plan.keys - 1) / plan.keys;
  return plan;
}

// A unit's part of AttendItem::partial: [height, e] sums that are not divided yet, then [height] of the
// largest score (in base 2) and of the sum of weights.
__host__ __device__ inline std::int64_t unit_floats(const AttendPlan& plan, std::int64_t e) {
  return static_cast<std::int64_t>(plan.height) * (e + 2);
}

// log2(e) / sqrt(head size): scores are made for exp2.
__device__ inline float score_scale(int e) { return 1.4426950408889634f / sqrtf(static_cast<float>(e)); }

// exp2(x − most) where nothing has been seen yet: zero.
__device__ inline float weight_of(float x, float most) {
  return power_of_two(x - (most == -INFINITY ? 0.0f : most));
}

// An element of a result as an operand of the product that follows.
__device__ inline void store_rounded(const Rounded& rounded, std::int64_t at, float x) {
  if (rounded.to == nullptr) return;
  const std::uint32_t both = rounded.dtype == DType::bf16 ? pack<bf16>(x, 0.0f) : pack<f16>(x, 0.0f);
  static_cast<std::uint16_t*>(rounded.to)[at] = static_cast<std::uint16_t>(both);
}
__device__ inline void store_rounded(const Rounded& rounded, std::int64_t at, float x, float y) {
  if (rounded.to == nullptr) return;
  static_cast<std::uint32_t*>(rounded.to)[at / 2] =
      rounded.dtype == DType::bf16 ? pack<bf16>(x, y) : pack<f16>(x, y);
}

void attend_tiles(Stream stream, const AttendItems& items);   // of many rows, all in tiles of one height
bool attend_wide(Stream stream, const AttendItems& items);    // of wide plans; false where the driver cannot
void attend_splits(Stream stream, const AttendItems& items);  // of few
void merge_splits(Stream stream, const AttendItems& items);   // where a plan has several

}  // namespace mplus::kernels::cuda
