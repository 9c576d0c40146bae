// What made-up facts are made of, as text: word lists, kinds of fact, small talk. Data only; patterns.h and
// kinds.h say how they are written and read them.
#pragma once

#include <string_view>

namespace mplus::train::made {

// Word lists (patterns.h).
extern const std::string_view kNames;
extern const std::string_view kWords;

// Kinds of fact (kinds.h).
extern const std::string_view kPeople;
extern const std::string_view kLives;
extern const std::string_view kThings;
extern const std::string_view kEvents;
extern const std::string_view kOrganisations;
extern const std::string_view kPlaces;
extern const std::string_view kInventions;
extern const std::string_view kMachines;
extern const std::string_view kOurselves;

// Frames, one a line, {} for what is put in.
extern const std::string_view kSmallTalk;  // "user / assistant"
extern const std::string_view kOpenings;
extern const std::string_view kAcknowledgements;
extern const std::string_view kClauseForms;
extern const std::string_view kNounForms;

}  // namespace mplus::train::made
