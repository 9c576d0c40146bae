// One answer in steps (run/steps.h): the prompt at the end of a session's window is read, and tokens are
// generated behind it, or taken from the journal. Where chunks are read one by one it makes an attempt after
// another. The session is a working copy: it changes as tokens come, and is half done if this is dropped.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mplus/engine/answer/attempt_choice.h"
#include "mplus/engine/answer/hop.h"
#include "mplus/engine/answer/reading.h"
#include "mplus/engine/answer/talk.h"
#include "mplus/engine/answer/text/answer_text.h"
#include "mplus/engine/answer/text/evidence.h"
#include "mplus/engine/session.h"

namespace mplus::engine {

class Answering {
 public:
  struct Place {
    std::int64_t scouts_begin = 0, scouts_end = 0;  // window tokens that ask
    std::int64_t source = 0;                        // of the answer's tokens
    std::string_view question = {};                 // as it was asked; empty: the prompt is no question
  };
  // All must outlive it. `replayed`: the answer is taken from there; null: it is generated.
  Answering(Session& session, const GenerateOptions& options, Place place, const TurnTaken* replayed);

  Steps<Answer> run();

 private:
  std::vector<io::TokenId> tokens_from(std::int64_t begin) const;  // of the window
  std::vector<io::TokenId> unread_tokens() const { return tokens_from(already_read_); }
  std::int64_t asked_from() const { return already_read_ - session_.talk_.kept; }  // read for this or kept
  Prompt prompt() const;
  Steps<> put_reread();  // in front of the question
  void put_in_front(std::span<const std::int64_t> best, std::int64_t n, std::int64_t answer_tokens);
  void reread_instead();  // what tells it anew
  Steps<bool> attempt();  // false: no answer, on to the next
  Steps<> pass_over(std::optional<std::int64_t> chunk);
  bool may_pass_over() const { return reading_.has_next() || evidence_ || talk_ == Talk::maybe; }
  void note_read();

  std::optional<std::int64_t> chunk_seen() const;  // where one was read
  std::set<std::int64_t> chunks_read() const;
  Passage passage() const;  // the text of what is read, as far as it is known
  SpeaksFor speaks_for() const;
  AnswerText::Refutes refutes();
  bool is_told_anew(std::string_view said);  // then that is read next
  bool is_reread_told_anew(std::string_view said);

  Steps<Answer> answer_from_memory();

  // The base model's own answer (talk.h): answering_talk.cpp.
  bool may_talk() const;
  bool in_conversation() const;
  Steps<> judge();
  bool is_spoken_of() const;
  Session conversation() const;
  void begin_with_rows(Session& conversation, bool has_system) const;
  void keep_rows(const Session& conversation, const Answer& answer);
  GenerateOptions base_options() const;
  Steps<Answer> answer_by_base();
  Steps<Answer> take_base_answer();
  Steps<> leave_unread(std::span<const io::TokenId> ids);

  // A second hop (hop.h), between what one passage at a time says and the answer: answering_hop.cpp.
  struct Said {
    std::vector<io::TokenId> tokens;
    std::int64_t read = 0;  // of them
    StopReason reason = StopReason::max_tokens;
  };
  bool may_hop();  // and leads somewhere
  Hop::Passages hop_passages() const;
  Steps<> begin_hop();  // the next attempt reads both passages
  Steps<std::optional<Said>> ask_on();
  void give_up_hop();  // the next gives what was said before
  bool none_is_none() { return reading_.has_next() || may_hop() || talk_ == Talk::maybe; }
  bool doubts(std::string_view said, const Passage& read);
  Steps<> say_again(const Said& said);

  // False: it says that there is no answer, something refuted by the passage, or nothing that stands in
  // `quotes`, if that is not empty.
  Steps<bool> generate_tokens(std::string quotes);
  Steps<> take_tokens(std::span<const io::TokenId> ids, std::int64_t read);
  Steps<> say_no_answer();
  StopReason reason_to_end(AnswerText& text, io::TokenId id);
  WindowToken first_token() const;
  // Puts one more token of the answer behind the window, for which there has to be room.
  void push_token(WindowToken& token);
  bool is_full() const;
  Steps<> make_room();
  Work& read_token(io::TokenId id, bool memory_changed, model::ChosenToken* chosen = nullptr);

  Session& session_;
  Engine& engine_;
  const GenerateOptions& options_;
  const TurnTaken* replayed_;
  Place place_;
  std::int64_t already_read_;  // rows of the window, when it began
  std::vector<Span> waiting_;  // remembered in the window, before the question
  std::optional<AttemptChoice> choice_;
  Reading reading_;
  std::optional<Evidence> evidence_;
  bool told_anew_ = false;
  std::optional<std::int64_t> reread_next_;  // the chunk that does, where text is read again
  bool no_answer_ = false;                   // is all that is left to say
  Talk talk_ = Talk::no;
  bool by_base_ = false;  // memory has no answer
  bool hopped_ = false;
  std::optional<Hop> hop_;
  std::optional<Link> link_;
  bool doubted_ = false;             // what was said last, in favour of the link
  std::optional<Said> said_before_;  // the hop
  std::optional<Said> say_next_;     // is known already
  Answer answer_;
  std::vector<io::TokenId> unread_;
  std::vector<float> next_;           // [V] logits of the token to come, or
  model::ChosenToken chosen_;         // that token, where its logits are not asked for
  std::vector<float> prompt_logits_;  // [V] behind the prompt, where an attempt may be passed over
  bool behind_prompt_ = false;        // there the next attempt begins: what it would read was read
  TokenLogits keep_logits_;
};

}  // namespace mplus::engine
