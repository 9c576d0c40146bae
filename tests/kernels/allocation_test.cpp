// The token loop allocates nothing: once an operation has run at a size, running it again takes no memory.
#include <utility>

#include "mplus/kernels/attention/attention.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/activation.h"
#include "mplus/kernels/linear/linear.h"
#include "mplus/kernels/linear/norm.h"
#include "mplus/kernels/retrieval/retrieval.h"
#include "tests/kernels/counting_new.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {
namespace {

class AllocationTest : public IsaTest {};
MPLUS_FOR_EVERY_ISA(AllocationTest);

TEST_P(AllocationTest, ARepeatedStepAllocatesNothing) {
  constexpr std::int64_t d = 192, rows = 300, n = 2000, d_r = 64, T = 20;
  ThreadPool pool(2);
  for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
    Queue queue(pool, numerics);
    Random random(1);
    const Weights w = random_weights(random, DType::q4_1, d, d);
    const Weights keys = random_weights(random, DType::bf16, n, d_r);
    const KvShape shape{3, 1, 64};
    std::vector<float> k = random.values(rows * 64), v = random.values(rows * 64), x = random.values(T * d);
    std::vector<float> out(x.size()), scores(n), norm = random.values(d);
    const DType cached = queue.backend().cache_type(numerics);  // f32 or smaller: any bits will do
    const KvCache cache{{k.data(), cached, {1, rows, 64}}, {v.data(), cached, {1, rows, 64}}, rows};
    const ConstTensor all_keys = key_tensor(keys.bytes.data(), DType::bf16, n, d_r);
    const auto step = [&](std::int64_t count) {
      const ConstTensor in = floats(std::as_const(x), {count, d});
      const Tensor to = floats(out, {count, d});
      rms_norm(queue, to, in, floats(std::as_const(norm), {d}), 1e-5f);
      linear(queue, to, in, w.matrix());
      attend(queue, to, in, cache, shape);
      swiglu(queue, to, in, in);
      retrieval_scores(queue, floats(scores, {n}), floats(std::as_const(x), {count, d_r}), all_keys);
    };
    step(T);
    step(1);
    const int before = allocation_count();
    EXPECT_GT(before, 0) << "the count does not count";
    for (int repeat = 0; repeat < 3; ++repeat) {
      step(T);
      step(1);
    }
    EXPECT_EQ(allocation_count(), before);
  }
}

}  // namespace
}  // namespace mplus::kernels
