#include "mplus/store/database/blob.h"
#include "tests/fuzz/accept.h"

// A column of the database, read as each of the kinds there are. What is read is the same when it is packed
// and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus;
  const auto packed = io::test::input_bytes(data, size);
  io::test::accept_errors([&] {
    const std::string text = store::unpack_text(packed, "text");
    MPLUS_CHECK(store::unpack_text(store::pack_text(text), "again") == text, "{} bytes", text.size());
  });
  io::test::accept_errors([&] {
    const auto ids = store::unpack_ids(packed, "ids");
    MPLUS_CHECK(store::unpack_ids(store::pack_ids(ids), "again") == ids, "{} ids", ids.size());
  });
  io::test::accept_errors([&] {
    const auto births = store::unpack_births(packed, "births");
    MPLUS_CHECK(store::unpack_births(store::pack_births(births), "again") == births, "{}", births.size());
  });
  return 0;
}
