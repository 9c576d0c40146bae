// How sessions of the store are shown to people and to programs.
#pragma once

#include <string>
#include <vector>

#include "mplus/cli/output/json_output.h"
#include "mplus/store/damage/verify.h"
#include "mplus/store/database/details.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::cli {

std::string list_text(const std::vector<store::SessionInfo>& sessions);
Json list_json(const std::vector<store::SessionInfo>& sessions);

std::string details_text(const store::SessionDetails& details);
Json details_json(const store::SessionDetails& details);

// What a deletion left of a text on disk, one line each; empty: nothing.
std::string leftover_text(const store::Store::Leftover& left);
std::string undone_text_stays(const std::string& session);
std::string purge_text(const store::Store::PurgeReport& report);
Json purge_json(const store::Store::PurgeReport& report);

// `planned`: what would be forgotten.
struct ForgetForm {
  bool exact = false, planned = false;
};
std::string forget_text(const store::ForgetReport& report, ForgetForm form);
Json forget_json(const store::ForgetReport& report, ForgetForm form);

std::string verify_text(const std::string& name, const store::VerifyReport& report);
Json verify_json(const std::string& name, const store::VerifyReport& report);

}  // namespace mplus::cli
