// What the tokens that ask (the scouts) of a read want to know in a layer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mplus/model/passes/read_pass.h"

namespace mplus::model {

std::int64_t scouts_of(const ReadItem& item);
// Somebody asks, and this layer has what answers.
bool asks(const Workspace& w, const ReadItem& item, std::int64_t layer);

// Queries of attention are wide and only few look at them: where they do, in the middle of a pass.
enum class Asked : std::uint8_t { retriever, retriever_and_attention };
std::size_t scout_bytes(const Workspace& w, std::int64_t T, Asked what);  // of what `ask` leaves in a room
ScoutTensors ask(Workspace& w, kernels::Outgoing& room, const Activations& a, const ReadShare& s,
                 std::int64_t layer, Asked what);
// Once they were brought; views of the room.
memory::LayerQueries on_host(const Workspace& w, const kernels::Outgoing& room, const ScoutTensors& asked);
// In the middle of a pass, the retriever's queries alone, where they are made. Valid until the next call.
memory::LayerQueries ask_there(Workspace& w, const Activations& a, const ReadShare& s, std::int64_t layer);
// In the middle of a pass: waits for the device. Valid until the next call.
memory::LayerQueries ask_now(Workspace& w, const Activations& a, const ReadShare& s, std::int64_t layer,
                             Asked what);

}  // namespace mplus::model
