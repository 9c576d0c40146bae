// What is served and what is described is the same, or the server does not start. What is described and what
// is answered: openapi_test.py.
#include "mplus/serve/api/openapi.h"

#include <gtest/gtest.h>

#include "tests/store/stored_fixture.h"

namespace mplus::serve {
namespace {

class OpenApiDeathTest : public store::StoreTest {
 protected:
  store::Store store_{folder_};
  Metrics metrics_;
  Background background_;
  Memories memories_{store_, engine_, {}};
  Scheduler scheduler_{engine_.runner(), {}};
  Services services_{engine_, store_, scheduler_, memories_, metrics_, background_, {}};
  Router router_{services_};
};

TEST_F(OpenApiDeathTest, ARouteThatIsNotDescribed) {
  router_.add("GET", "/v1/nobody/knows", [](const Call&) {});
  EXPECT_DEATH(add_openapi_route(router_, "1"), "GET /v1/nobody/knows is not described");
}

TEST_F(OpenApiDeathTest, ADescriptionWithoutARoute) {
  add_text_routes(router_, services_);
  EXPECT_DEATH(add_openapi_route(router_, "1"), "openapi/ describes .* operations, and there are");
}

}  // namespace
}  // namespace mplus::serve
