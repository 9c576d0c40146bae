// An answer on its way: work that a Runner does step by step (a chunk to be written, a scout, a block of the
// prompt, a token). The session must outlive it. It works on a copy of the session, which it takes when its
// first work is asked for, and owns all else: question and options too.
//
// ask and generate leave the session alone: any number of them may be under way. A turn (say) becomes the
// session's state when its answer has ended, all at once; nothing else may change the session meanwhile. One
// that is dropped, fails, or is stopped before its first token has not happened.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "mplus/engine/session.h"

namespace mplus::engine {

class Generation {
 public:
  // As the functions of Session with these names.
  static Generation ask(const Session& session, std::string_view question, GenerateOptions options = {});
  static Generation generate(const Session& session, std::string_view prompt, GenerateOptions options = {});
  static Generation generate_ids(const Session& session, std::span<const io::TokenId> prompt,
                                 GenerateOptions options = {});
  // `told`: of the turn, when it has become part of the session.
  static Generation say(Session& session, std::string_view message, GenerateOptions options = {},
                        EventSink told = {});
  // A turn whose answer is taken from the journal. What that refers to must outlive it.
  static Generation replay(Session& session, const TurnTaken& replayed, GenerateOptions options,
                           EventSink told = {});
  Generation(Generation&& other) noexcept;
  Generation& operator=(Generation&&) = delete;
  ~Generation();

  Work* next_work();             // the same until its result was taken; null: the answer has ended
  void take(WorkResult result);  // throws where the work failed
  void stop();                   // ends it with what there is; what has to be finished still comes as work
  Answer answer();               // once, when it has ended

 private:
  struct State;
  explicit Generation(std::unique_ptr<State> state) noexcept;
  static Steps<Answer> run_ask(State& state);
  static Steps<Answer> run_text(State& state);
  static Steps<Answer> run_ids(State& state);
  static Steps<Answer> run_turn(State& state);
  static Steps<Answer> answer_prompt(State& state, std::vector<WindowToken> prompt);

  std::unique_ptr<State> state_;
};

}  // namespace mplus::engine
