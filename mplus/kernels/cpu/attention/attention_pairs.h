// The lanes of a panel of attention: neighbouring (query, head) pairs of one group.
#pragma once

#include "mplus/kernels/cpu/simd/simd.h"
#include "mplus/kernels/cpu/table.h"

namespace mplus::kernels::MPLUS_ISA {

struct PanelPairs {
  const AttendJob& job;
  std::int64_t group;
  std::int64_t first;  // pair of lane 0, pair = t * (H/G) + head within the group
  std::int64_t count;  // lanes in use; those behind repeat the last

  PanelPairs(const AttendJob& of, std::int64_t in_group, std::int64_t panel, std::int64_t lanes)
      : job(of),
        group(in_group),
        first(panel * lanes),
        count(min_of(lanes, of.T * (of.heads / of.groups) - panel * lanes)) {}

  std::int64_t sharing() const { return job.heads / job.groups; }
  // Cache rows that a lane sees.
  std::int64_t visible(std::int64_t lane) const {
    return job.rows - job.T + 1 + (first + min_of(lane, count - 1)) / sharing();
  }
  // Of a pair's head in q and out of the job.
  std::int64_t offset(std::int64_t lane) const {
    const std::int64_t pair = first + min_of(lane, count - 1);
    return (pair / sharing()) * job.heads * job.head_size +
           (group * sharing() + pair % sharing()) * job.head_size;
  }
};

}  // namespace mplus::kernels::MPLUS_ISA
