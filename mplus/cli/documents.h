// Texts to be read: files, folders and standard input, made plain text before anything is done with them.
#pragma once

#include <string>
#include <vector>

namespace mplus::cli {

struct Document {
  std::string name;
  std::string text;  // valid UTF-8, not empty
};
struct RejectedDocument {
  std::string name;
  std::string reason;  // a whole message, the name included
};
struct Documents {
  std::vector<Document> accepted;  // in the order given; of a folder by name
  std::vector<RejectedDocument> rejected;
};

// Documents of every kind (documents/document.h): files, whatever their ending; of folders the files with an
// ending of such a kind, at any depth, hidden ones left out; and "-" for standard input, which is then called
// `standard_input_name`. What cannot be used is rejected with a reason; the rest is read all the same.
Documents read_documents(const std::vector<std::string>& places, const std::string& standard_input_name);

// One file or "-", as it stands: a text in UTF-8. Throws Error.
Document read_text(const std::string& place, const std::string& standard_input_name = "standard input");

std::string read_standard_input();

}  // namespace mplus::cli
