// A memory file in another element type. See session_file.h.
#include "mplus/core/error.h"
#include "mplus/engine/files/metadata_checksum.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/hash.h"
#include "mplus/model/files/tensor_output.h"

namespace mplus::engine {
namespace {

bool is_retriever_key(const std::string& name) { return name.ends_with(".key"); }

// Keys, values and retriever keys have the memory's element type; everything else has its own.
bool has_memory_dtype(const std::string& name) {
  return name.ends_with(".k") || name.ends_with(".v") || is_retriever_key(name);
}

void set_type(io::StringMap& metadata, const MemoryType& type) {
  const std::string old_name = metadata["dtype"];
  metadata["dtype"] = memory_type_name(type);
  const bool plain = type.long_term == RowFormat::plain;
  metadata["version"] = std::to_string(plain ? kSessionFormatVersion : kSmallRowsFormatVersion);
  if (plain) {
    metadata.erase("long_term");
  } else {
    metadata["long_term"] = std::string(row_format_name(type.long_term));
  }
  std::string& id = metadata["numerics_id"];
  if (id.ends_with("-" + old_name)) {
    id = id.substr(0, id.size() - old_name.size()) + std::string(dtype_name(type.dtype));
    if (!plain) id += fmt::format("-{}.{}", row_format_name(type.long_term), kSmallRowVersion);
  }
}

std::size_t small_row_bytes(const io::Tensor& tensor, RowFormat format) {
  const std::int64_t width = tensor.shape[1];
  return is_retriever_key(tensor.name) ? small_key_bytes(width) : small_vector_bytes(format, width);
}

std::vector<std::byte> small_rows(const io::Tensor& tensor, RowFormat format) {
  const std::vector<float> values = model::decode_matrix(tensor.matrix());
  const std::int64_t n = tensor.shape[0], width = tensor.shape[1];
  const bool key = is_retriever_key(tensor.name);
  const std::size_t bytes = small_row_bytes(tensor, format);
  std::vector<std::byte> rows(static_cast<std::size_t>(n) * bytes);
  for (std::int64_t r = 0; r < n; ++r) {
    std::byte* to = rows.data() + static_cast<std::size_t>(r) * bytes;
    if (key) make_small_key(to, values.data() + r * width, width);
    else make_small_vector(to, format, values.data() + r * width, width);
  }
  return rows;
}

}  // namespace

void convert_session_file(const std::filesystem::path& from, const std::filesystem::path& to,
                          const MemoryType& type) {
  const io::Safetensors file = io::Safetensors::open(from);
  verify_session_file(file);
  const SessionFileInfo info = session_file_info(file);
  for (const RowFormat format : info.long_term)
    if (format != RowFormat::plain || info.long_term.size() > 1)
      fail(ErrorCode::unsupported, "{}: its long-term rows are {} already, and are not rounded twice",
           from.string(), row_format_name(format));
  io::StringMap metadata = file.metadata();
  set_type(metadata, type);
  std::vector<io::TensorData> tensors;
  std::vector<std::vector<std::byte>> converted;
  converted.reserve(file.tensors().size());  // so that nothing moves
  for (const auto& [name, tensor] : file.tensors()) {
    io::TensorData out{name, tensor.dtype, tensor.shape, tensor.bytes};
    const bool small = type.long_term != RowFormat::plain && name.starts_with("long_term.");
    if (has_memory_dtype(name) && (small || tensor.dtype != type.dtype)) {
      if (!is_float(tensor.dtype) || (small && tensor.shape.size() != 2))
        fail(ErrorCode::corrupt, "{}: tensor \"{}\": type {} {} is no memory's", from.string(), name,
             dtype_name(tensor.dtype), io::shape_text(tensor.shape));
      converted.push_back(small ? small_rows(tensor, type.long_term)
                                : model::encode_floats(model::decode_matrix(tensor.matrix()), type.dtype));
      out.dtype = small ? DType::u8 : type.dtype;
      out.bytes = converted.back();
      if (small) out.shape[1] = static_cast<std::int64_t>(small_row_bytes(tensor, type.long_term));
      metadata["checksum." + name] = fmt::format("{:016x}", io::xxh3(out.bytes));
    }
    tensors.push_back(std::move(out));
  }
  metadata[kMetadataChecksum] = metadata_checksum(metadata);
  io::write_safetensors(to, tensors, metadata);
}

}  // namespace mplus::engine
