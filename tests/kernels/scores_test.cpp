// What a search does with scores, and how the rows it finds get into a cache, on every backend this program
// has: against a plain statement of each.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "mplus/core/numbers/row_format.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/retrieval/best_scores.h"
#include "mplus/kernels/retrieval/chunk_sums.h"
#include "mplus/kernels/retrieval/retrieval.h"
#include "mplus/kernels/rows/choose.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/kernels/rows/tokens.h"
#include "mplus/kernels/rows/transfer.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

class ScoresTest : public testing::TestWithParam<Device> {
 protected:
  Tensor room(DType type, std::initializer_list<std::int64_t> shape) {
    const Tensor sized(nullptr, type, shape);
    buffers_.push_back(
        queue_.backend().allocate(std::max<std::size_t>(8, row_bytes(type, sized.elements()))));
    return buffers_.back().tensor(type, shape);
  }
  template <class T>
  Tensor put(const std::vector<T>& values, DType type) {
    const auto n = static_cast<std::int64_t>(values.size() * sizeof(T) / row_bytes(type, 1));
    const Tensor there = room(type, {n});
    put(there, values.data());
    return there;
  }
  void put(const Tensor& there, const void* values) {
    const std::size_t size = row_bytes(there.dtype, there.elements());
    if (queue_.device().is_cpu()) {
      if (size > 0) std::memcpy(there.data, values, size);
    } else {
      ConstTensor here = there;
      here.data = values;
      here.device = {};
      copy(queue_, there, here);
    }
  }
  template <class T>
  std::vector<T> back(const ConstTensor& x) {
    std::vector<T> values(index(x.elements()));
    const std::size_t size = row_bytes(x.dtype, x.elements());
    if (queue_.device().is_cpu()) {
      if (size > 0) std::memcpy(values.data(), x.data, size);
    } else {
      copy(queue_, Tensor(values.data(), x.dtype, {x.elements()}), x.as_shape({x.elements()}));
      queue_.wait();
    }
    return values;
  }
  void forget() {
    queue_.wait();
    buffers_.clear();
  }

  ThreadPool pool_{3};
  Queue queue_{pool_, Numerics::exact, GetParam()};
  std::vector<Buffer> buffers_;
};

INSTANTIATE_TEST_SUITE_P(Backend, ScoresTest, testing::ValuesIn(test::devices()), test::device_name);

struct StorePart {
  std::vector<float> scores;
  std::vector<std::int64_t> births;
  std::int64_t first = 0, oldest_birth = kNoBirth, oldest_number = 0;

  bool is_there(std::size_t row) const {
    if (births[row] == kNoBirth || std::isnan(scores[row])) return false;
    return std::pair(births[row], first + static_cast<std::int64_t>(row)) >=
           std::pair(oldest_birth, oldest_number);
  }
};

// Rows of few chunks and of chunks that nobody asks for; some are gone, some score alike, some not at all.
StorePart random_part(Random& random, std::int64_t n, std::int64_t births) {
  StorePart part;
  part.first = static_cast<std::int64_t>(random.bits() % 50);
  for (std::int64_t r = 0; r < n; ++r) {
    part.births.push_back(static_cast<std::int64_t>(random.bits() % index(births + 20)) - 10);
    part.scores.push_back(random.bits() % 3 == 0 ? 0.25f : std::abs(random.value()));
    if (random.bits() % 11 == 0) part.births.back() = kNoBirth;
    if (random.bits() % 13 == 0) part.scores.back() = std::numeric_limits<float>::quiet_NaN();
  }
  if (random.bits() % 2 == 0 && n > 0) {
    part.oldest_birth = part.births[index(n / 2)];
    part.oldest_number = part.first + n / 3;
  }
  return part;
}

TEST_P(ScoresTest, ChunksAreSumsOfTheirBestRows) {
  Random random(17);
  for (const std::int64_t top : {0, 1, 3, 100})
    for (const std::int64_t chunks : {0, 1, 7, 40}) {
      const ChunkRule rule{.K = 6, .chunks = chunks, .top = top};
      std::vector<std::vector<StorePart>> parts(3);
      std::vector<std::vector<ScorePart>> placed(3);
      std::vector<ChunkSums> layers;
      for (std::size_t l = 0; l < parts.size(); ++l) {
        for (const std::int64_t n : {0, 1, 33, 700})
          if (l != 1 || n > 0) parts[l].push_back(random_part(random, n, rule.K * chunks));
        if (l == 2) parts[l].clear();
        for (const StorePart& part : parts[l])
          placed[l].push_back({put(part.scores, DType::f32), put(part.births, DType::i64), part.first,
                               part.oldest_birth, part.oldest_number});
        layers.push_back({placed[l], room(DType::i64, {chunks}), room(DType::i64, {chunks + 1})});
      }
      chunk_sums(queue_, layers, rule);
      for (std::size_t l = 0; l < parts.size(); ++l) {
        std::vector<std::vector<std::int64_t>> units(index(chunks) + 1);
        for (std::size_t p = 0; p < parts[l].size(); ++p) {
          const std::vector<float> marked = back<float>(placed[l][p].scores);
          const StorePart& part = parts[l][p];
          for (std::size_t r = 0; r < part.scores.size(); ++r) {
            ASSERT_EQ(std::isnan(marked[r]), !part.is_there(r)) << "row " << r;
            if (!part.is_there(r)) continue;
            const std::int64_t chunk = part.births[r] < 0 ? chunks : std::min(chunks, part.births[r] / 6);
            units[index(chunk)].push_back(score_units(part.scores[r]));
          }
        }
        const auto sums = back<std::int64_t>(layers[l].sums), rows = back<std::int64_t>(layers[l].rows);
        ASSERT_EQ(rows[index(chunks)], std::ssize(units[index(chunks)]));
        for (std::int64_t c = 0; c < chunks; ++c) {
          auto& best = units[index(c)];
          std::sort(best.rbegin(), best.rend());
          if (top > 0 && std::ssize(best) > top) best.resize(index(top));
          ASSERT_EQ(rows[index(c)], std::ssize(best)) << "layer " << l << ", chunk " << c << ", top " << top;
          ASSERT_EQ(sums[index(c)], std::accumulate(best.begin(), best.end(), std::int64_t{0}))
              << "layer " << l << ", chunk " << c << ", top " << top;
        }
      }
      forget();
    }
}

TEST_P(ScoresTest, TheBestAreAllThatAreNoLessThanTheLast) {
  Random random(5);
  for (const std::int64_t n : {0, 1, 31, 32, 1000, 20011})
    for (const std::int64_t wanted : {1, 2, 33, 500, 30000})
      for (const bool alike : {false, true}) {
        std::vector<float> scores;
        for (std::int64_t i = 0; i < n; ++i) {
          scores.push_back(alike ? 0.5f + 0.125f * static_cast<float>(random.bits() % 3) : random.value());
          if (random.bits() % 9 == 0) scores.back() = std::numeric_limits<float>::quiet_NaN();
        }
        std::vector<float> sorted;
        for (const float s : scores)
          if (!std::isnan(s)) sorted.push_back(s);
        std::sort(sorted.rbegin(), sorted.rend());
        const float least = std::ssize(sorted) < wanted ? -2.0f : sorted[index(wanted - 1)];
        std::map<std::int32_t, float> best;
        for (std::size_t i = 0; i < scores.size(); ++i)
          if (scores[i] >= least) best[static_cast<std::int32_t>(i)] = scores[i];
        const std::int64_t size = wanted + 3;  // fewer than there are, where many are alike
        const BestScores out{room(DType::i32, {size}), room(DType::f32, {size}), room(DType::i64, {1})};
        best_scores(queue_, out, put(scores, DType::f32), wanted);
        ASSERT_EQ(back<std::int64_t>(out.count)[0], std::ssize(best)) << n << ", " << wanted;
        const auto places = back<std::int32_t>(out.places);
        const auto values = back<float>(out.values);
        std::map<std::int32_t, float> found;
        for (std::int64_t i = 0; i < std::min(size, std::ssize(best)); ++i)
          found[places[index(i)]] = values[index(i)];
        ASSERT_EQ(std::ssize(found), std::min(size, std::ssize(best)));
        for (const auto& [place, value] : found) {
          ASSERT_TRUE(best.contains(place)) << place << " of " << n;
          ASSERT_EQ(best[place], value);
        }
        forget();
      }
}

// Logits of several kinds: like a model's, with equals, all the same, falling over many orders, with
// -infinity and NaN.
std::vector<float> some_logits(Random& random, std::int64_t n, int kind) {
  std::vector<float> x(index(n));
  for (float& v : x) {
    v = random.value(4) + random.value(4) + random.value(4) + random.value(4);
    if (kind == 1) v = std::round(v);
    if (kind == 2) v = -1.5f;
    if (kind == 3) v = -std::abs(v) * std::exp2(random.value(20));
    if (kind == 4 && random.bits() % 3 == 0) v = -std::numeric_limits<float>::infinity();
    if (kind == 4 && random.bits() % 5 == 0) v = std::numeric_limits<float>::quiet_NaN();
  }
  if (kind == 4) x[index(n / 2)] = 3;
  return x;
}

Choice some_choice(Random& random, std::int64_t vocab, int round) {
  Choice choice{.temperature = round % 7 == 0    ? 0.0f
                               : round % 3 == 0  ? 0.2f
                               : round % 11 == 0 ? 50.0f
                                                 : 1.0f};
  if (round % 2 == 1) choice.top_k = 1 + random.bits() % (round % 4 == 1 ? 50 : vocab + 2);
  if (round % 5 < 3) choice.top_p = static_cast<float>(random.bits() % 1000 + 1) / 1001;
  if (round % 6 == 0) choice.min_p = 0.02f;
  choice.chance = std::uint64_t{random.bits()} << 32 | random.bits();
  return choice;
}

// The very token that the host takes, on every device, whatever stands in the other rows.
TEST_P(ScoresTest, TokensAreChosenAsOnTheHost) {
  Random random(8);
  ChoiceRoom choice_room;
  for (const auto& [rows, vocab] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {7, 2}, {40, 33}, {40, 1000}, {80, 4097}, {16, 49152}, {16, 128256}}) {
    std::vector<float> x;
    std::vector<Choice> choices;
    std::vector<std::vector<LogitEdit>> edits(index(rows));
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::vector<float> row = some_logits(random, vocab, static_cast<int>(r % 5));
      x.insert(x.end(), row.begin(), row.end());
      choices.push_back(some_choice(random, vocab, static_cast<int>(r)));
      for (std::int64_t id = 0; r % 3 == 2 && id < vocab; id += 1 + random.bits() % vocab)
        edits[index(r)].push_back(
            {.id = static_cast<std::int32_t>(id), .penalty = 1.3f, .more = random.value(2)});
      choices.back().edits = edits[index(r)];
    }
    const Tensor out = room(DType::i64, {rows});
    choose(queue_, out, put(x, DType::f32).as_shape({rows, vocab}), choices);
    const auto found = back<std::int64_t>(out);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::span<float> row(x.data() + r * vocab, index(vocab));
      const Choice& choice = choices[index(r)];
      edit(row, choice.edits);
      ASSERT_EQ(found[index(r)], mplus::choose(row, choice, choice_room))
          << "row " << r << " of " << vocab << ", temperature " << choice.temperature << ", top-k "
          << choice.top_k << ", top-p " << choice.top_p;
    }
    forget();
  }
}

// A score has the bits it has when its block is scored alone.
TEST_P(ScoresTest, LayersAreScoredTogetherAsAlone) {
  const std::int64_t width = 64, T = 5;
  Random random(3);
  std::vector<Tensor> q;
  std::vector<std::vector<KeyBlock>> blocks(4);
  std::vector<QueryKeys> layers;
  for (std::size_t l = 0; l < blocks.size(); ++l) {
    q.push_back(put(random.values(T * width), DType::f32).as_shape({T, width}));
    for (const std::int64_t n : {1, 200, 0, 5000}) {
      if (l == 2) break;
      blocks[l].push_back(
          {put(random.values(n * width), DType::f32).as_shape({n, width}), room(DType::f32, {n})});
    }
    layers.push_back({q[l], blocks[l]});
  }
  retrieval_scores(queue_, layers);
  for (const QueryKeys& layer : layers)
    for (const KeyBlock& block : layer.blocks) {
      const Tensor alone = room(DType::f32, {block.keys.size(0)});
      retrieval_scores(queue_, alone, layer.q, block.keys);
      EXPECT_EQ(back<float>(block.scores), back<float>(alone));
    }
}

class GatherTest : public ScoresTest {
 protected:
  KvCache cache(std::int64_t capacity, const KvShape& shape) {
    const auto empty = [&] {
      const Tensor x = room(DType::f32, {shape.groups, capacity, shape.head_size});
      fill(queue_, x, 0.0f);
      return x;
    };
    return {empty(), empty(), 2};
  }
};
INSTANTIATE_TEST_SUITE_P(Backend, GatherTest, testing::ValuesIn(test::devices()), test::device_name);

// Small rows, some on the device and some on the host, become what expanding them first would have made.
TEST_P(GatherTest, SmallRowsAreExpanded) {
  Random random(21);
  for (const auto& [groups, e] : {std::pair{2, 6}, {2, 32}, {3, 40}, {1, 2}, {4, 64}, {1, 62}})
    for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
      const KvShape shape{groups, groups, e};
      const std::int64_t kv = groups * e, n = 37, rows = 9;
      const auto size = static_cast<std::int64_t>(small_vector_bytes(format, kv));
      RopeTable angles(random.values(e / 2));
      angles.reserve(queue_, 64);
      std::vector<std::vector<std::byte>> stored;  // keys and values of two blocks
      std::vector<std::vector<float>> values;
      for (int i = 0; i < 4; ++i) {
        std::vector<float> made = random.values(rows * kv, 3.0f);
        std::vector<std::byte>& bytes = stored.emplace_back(index(rows * size));
        for (std::int64_t r = 0; r < rows; ++r) {
          make_small_vector(&bytes[index(r * size)], format, &made[index(r * kv)], kv);
          expand_small_vector(&made[index(r * kv)], format, &bytes[index(r * size)], kv);
        }
        values.push_back(std::move(made));
      }
      const auto here = [&](int i) { return ConstTensor(stored[index(i)].data(), DType::i8, {rows, size}); };
      const auto there = [&](int i) {
        return ConstTensor(put(stored[index(i)], DType::i8).as_shape({rows, size}));
      };
      const std::vector<RowBlock> blocks{{here(0), here(1), format}, {there(2), there(3), format}};
      std::vector<RowPlace> places;
      std::vector<float> k, v;
      for (std::int64_t r = 0; r < n; ++r) {
        const RowPlace place{random.bits() % 2, static_cast<std::int64_t>(random.bits() % 9)};
        places.push_back(place);
        const auto add = [&](std::vector<float>& to, const std::vector<float>& from) {
          to.insert(to.end(), from.begin() + place.row * kv, from.begin() + (place.row + 1) * kv);
        };
        add(k, values[2 * place.block]);
        add(v, values[2 * place.block + 1]);
      }
      KvCache found = cache(50, shape), wanted = cache(50, shape);
      gather_rows(queue_, found, shape, RowGather{blocks, places}, angles);
      append_rows(queue_, wanted, shape,
                  {ConstTensor(k.data(), DType::f32, {n, kv}), ConstTensor(v.data(), DType::f32, {n, kv})},
                  angles);
      EXPECT_EQ(found.rows, 2 + n);
      EXPECT_EQ(back<float>(found.keys), back<float>(wanted.keys)) << kv << " " << row_format_name(format);
      EXPECT_EQ(back<float>(found.values), back<float>(wanted.values)) << kv;
      forget();
    }
}

TEST_P(GatherTest, RowsByTheirNumbers) {
  const KvShape shape{4, 2, 6};
  const std::int64_t kv = 12, rows = 23;
  Random random(4);
  RopeTable angles({1.0f, 0.3f, 0.02f});
  angles.reserve(queue_, 64);
  const std::vector<float> k = random.values(rows * kv), v = random.values(rows * kv);
  const RowBlock here{{k.data(), DType::f32, {rows, kv}}, {v.data(), DType::f32, {rows, kv}}};
  const RowBlock there{put(k, DType::f32).as_shape({rows, kv}), put(v, DType::f32).as_shape({rows, kv})};
  for (const std::int64_t n : {0, 1, 30}) {
    std::vector<std::int32_t> numbers;
    std::vector<RowPlace> places;
    for (std::int64_t r = 0; r < n; ++r) {
      numbers.push_back(static_cast<std::int32_t>(random.bits() % index(rows)));
      places.push_back({0, numbers.back()});
    }
    for (const RowBlock& block : {here, there}) {
      KvCache found = cache(40, shape), wanted = cache(40, shape);
      gather_rows(queue_, found, shape, NumberedRows{block, numbers}, angles);
      gather_rows(queue_, wanted, shape, RowGather{{&here, 1}, places}, angles);
      EXPECT_EQ(found.rows, 2 + n);
      EXPECT_EQ(back<float>(found.keys), back<float>(wanted.keys));
      EXPECT_EQ(back<float>(found.values), back<float>(wanted.values));
    }
  }
}

// Several sessions at once, as each by itself in three steps. Some ask nothing.
TEST_P(GatherTest, TokensOfSessionsAreKeptRotatedAndAppended) {
  const KvShape shape{6, 2, 10};
  const std::int64_t kv = 20, width = 60;
  Random random(11);
  RopeTable angles(random.values(5));
  angles.reserve(queue_, 64);
  for (const std::int64_t sessions : {1, 3, 19}) {
    std::vector<TokenRows> rows;
    std::vector<KvCache> caches;
    std::vector<std::vector<float>> q, k, v;
    for (std::int64_t i = 0; i < sessions; ++i) {
      const std::int64_t T = i % 4 == 3 ? 7 : 1;
      q.push_back(random.values(T * width));
      k.push_back(random.values(T * kv));
      v.push_back(random.values(T * kv));
      KvCache made = cache(40, shape);
      made.rows = i % 30;
      caches.push_back(made);
      const DType type = i % 3 == 0 ? DType::bf16 : DType::f32;
      TokenRows session{.cache = made,
                        .k = put(k.back(), DType::f32).as_shape({T, kv}),
                        .v = put(v.back(), DType::f32).as_shape({T, kv})};
      if (i % 6 != 5) session.q = put(q.back(), DType::f32).as_shape({T, width});
      if (i % 5 != 4) {
        session.kept_k = room(type, {T, kv});
        session.kept_v = room(type, {T, kv});
      }
      rows.push_back(session);
    }
    append_tokens(queue_, rows, shape, angles);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t T = rows[i].k.size(0);
      KvCache wanted = cache(40, shape);
      wanted.rows = rows[i].cache.rows;
      const bool kept = !rows[i].kept_k.empty(), rounded = kept && rows[i].kept_k.dtype == DType::bf16;
      for (auto* values : {&k[i], &v[i]})
        if (rounded)
          for (float& x : *values) x = bf16_to_f32(f32_to_bf16(x));
      const Tensor turned = put(q[i], DType::f32).as_shape({T, width});
      rope(queue_, turned, angles, wanted.rows);
      append_rows(queue_, wanted, shape,
                  {put(k[i], DType::f32).as_shape({T, kv}), put(v[i], DType::f32).as_shape({T, kv})}, angles);
      if (!rows[i].q.empty()) {
        EXPECT_EQ(back<float>(rows[i].q), back<float>(turned)) << "session " << i;
      }
      EXPECT_EQ(back<float>(rows[i].cache.keys), back<float>(wanted.keys)) << "session " << i;
      EXPECT_EQ(back<float>(rows[i].cache.values), back<float>(wanted.values)) << "session " << i;
      if (!kept) continue;
      if (!rounded) {
        EXPECT_EQ(back<float>(rows[i].kept_k), k[i]);
        continue;
      }
      const auto bits = back<std::uint16_t>(rows[i].kept_v);
      for (std::size_t j = 0; j < bits.size(); ++j) ASSERT_EQ(bits[j], f32_to_bf16(v[i][j]));
    }
    forget();
  }
}

// What is not finite among them is noted, the first of the numbers first.
TEST_P(GatherTest, TokensThatAreNotFiniteAreNoted) {
  const KvShape shape{6, 2, 10};
  Random random(12);
  RopeTable angles(random.values(5));
  angles.reserve(queue_, 64);
  for (const int broken : {-1, 0, 1, 2}) {
    std::vector<TokenRows> rows;
    for (int session = 0; session < 3; ++session) {
      std::vector<float> values[] = {random.values(2 * 60), random.values(2 * 20), random.values(2 * 20)};
      if (session == 1)
        for (int which = std::max(broken, 0); broken >= 0 && which < 3; ++which)
          values[which].back() = which == 1 ? NAN : -INFINITY;
      rows.push_back({.cache = cache(40, shape),
                      .q = put(values[0], DType::f32).as_shape({2, 60}),
                      .k = put(values[1], DType::f32).as_shape({2, 20}),
                      .v = put(values[2], DType::f32).as_shape({2, 20})});
    }
    append_tokens(queue_, rows, shape, angles, 7);
    EXPECT_EQ(take_note(queue_), broken < 0 ? -1 : 7 + broken);
    forget();
  }
}

}  // namespace
}  // namespace mplus::kernels
