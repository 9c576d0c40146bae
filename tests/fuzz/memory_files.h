// What the targets for files of a memory share: the tiny model under tests/fuzz/model, and files whose
// checksums fit whatever the fuzzer has changed, since otherwise it would get no further than those.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "mplus/engine/session.h"

namespace mplus::engine::test {

Engine& tiny_engine();  // made once

// Writes the input as a file of that name in memory. Where it is a safetensors file, every
// "checksum.<tensor>" of its header fits the tensor.
std::filesystem::path write_with_checksums(const std::string& name, std::span<const std::byte> input);

// What is loaded can be used: it answers, takes in more, and is the same when saved and loaded again.
void use(Session session);

}  // namespace mplus::engine::test
