// A memory file in another element type. See session_file.h.
#include "mplus/core/error.h"
#include "mplus/engine/files/metadata_checksum.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/hash.h"
#include "mplus/model/tensor_output.h"

namespace mplus::engine {
namespace {

// Keys, values and retriever keys have the memory's element type; everything else has its own.
bool has_memory_dtype(const std::string& name) {
  return name.ends_with(".k") || name.ends_with(".v") || name.ends_with(".key");
}

}  // namespace

void convert_session_file(const std::filesystem::path& from, const std::filesystem::path& to, DType dtype) {
  const io::Safetensors file = io::Safetensors::open(from);
  verify_session_file(file);
  io::StringMap metadata = file.metadata();
  const std::string old_name = metadata["dtype"];
  metadata["dtype"] = std::string(dtype_name(dtype));
  if (std::string& id = metadata["numerics_id"]; id.ends_with("-" + old_name))
    id = id.substr(0, id.size() - old_name.size()) + metadata["dtype"];
  std::vector<io::TensorData> tensors;
  std::vector<std::vector<std::byte>> converted;
  converted.reserve(file.tensors().size());  // so that nothing moves
  for (const auto& [name, tensor] : file.tensors()) {
    io::TensorData out{name, tensor.dtype, tensor.shape, tensor.bytes};
    if (has_memory_dtype(name) && tensor.dtype != dtype) {
      if (!is_float(tensor.dtype))
        fail(ErrorCode::corrupt, "{}: tensor \"{}\": type {} is no memory's", from.string(), name,
             dtype_name(tensor.dtype));
      converted.push_back(model::encode_floats(model::decode_matrix(tensor.matrix()), dtype));
      out.dtype = dtype;
      out.bytes = converted.back();
      metadata["checksum." + name] = fmt::format("{:016x}", io::xxh3(out.bytes));
    }
    tensors.push_back(std::move(out));
  }
  metadata[kMetadataChecksum] = metadata_checksum(metadata);
  io::write_safetensors(to, tensors, metadata);
}

}  // namespace mplus::engine
