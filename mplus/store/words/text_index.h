// A full-text index of the chunks a session has written: which of them share words with a question, and how
// much that says (BM25). It lives in a database beside other tables, one index a session, or in a database of
// its own in this process. Its words take part in recall with one call:
//
//   store::TextIndex index;
//   index.serve(options, session.record());
//   session.ask(question, options);
//
// One thread at a time; the database must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mplus/engine/answer/answer.h"
#include "mplus/memory/recall/vote.h"
#include "mplus/store/database/database.h"

namespace mplus::store {

class TextIndex {
 public:
  TextIndex();  // in this process, for a session that lives there or in a memory file
  TextIndex(Database& database, std::int64_t session);  // made if it is not there

  void add(std::int64_t chunk, std::string_view text);  // in place of what it held; empty text: nothing
  // Nothing of their text is left in the pages of the index. Costs as much as indexing the others anew.
  void remove(const std::vector<std::int64_t>& chunks);
  void clear();
  static bool exists(Database& database, std::int64_t session);
  static void drop(Database& database, std::int64_t session);  // the index as if it had never been

  std::vector<std::int64_t> chunks() const;  // that have text here, ascending
  // Of the chunks that share a word with the text; the greater, the better: BM25 (k1 1.2, b 0.75), and half
  // of the same for pairs of neighbours that are seldom each ("Amy Turner": who of them it is says more than
  // that both names occur). Any bytes are a question.
  std::unordered_map<std::int64_t, double> query(std::string_view text) const;

  // Brings the index in step with what the updates of a session were cut from. Returns the chunks changed.
  std::int64_t follow(const engine::Record& record);
  // The same where nothing but new updates came since.
  void follow_newest(const engine::Record& record);
  // Throws corrupt if the index is damaged in itself.
  void check() const;
  // Chunks whose text is not what the index holds of it.
  std::vector<std::int64_t> differences(const engine::Record& record) const;

  // Where in a journal the index stands, for whoever wants to know whether it is in step without a look at
  // every chunk. Inside the transaction that brings it there.
  struct Place {
    std::int64_t event = -1, token = 0;
  };
  void stands_at(const Place& place);
  bool is_at(const Place& place) const;

  // Recall asks this index with the words of the question, when a rule first wants to know. It must outlive
  // the reads.
  void serve(engine::GenerateOptions& options);
  // The same, brought in step with the record before it is asked.
  void serve(engine::GenerateOptions& options, const engine::Record& record);

 private:
  struct Change {
    std::int64_t chunk;
    std::string text;
    bool known;  // replaces or removes what is there
  };
  void serve(engine::GenerateOptions& options, const std::function<void()>& before_asking);
  std::vector<Change> changes(const engine::Record& record) const;
  void create();
  void insert(std::int64_t chunk, const std::string& form);
  void erase(std::int64_t chunk);
  void rebuild();
  std::unordered_map<std::int64_t, std::int64_t> fingerprints() const;
  std::unordered_map<std::int64_t, double> bm25(const std::vector<std::string>& terms) const;
  std::vector<std::string> seldom_pairs(std::string_view text) const;

  std::unique_ptr<Database> own_;
  Database* database_;
  std::int64_t session_;
  std::string table_;
};

}  // namespace mplus::store
