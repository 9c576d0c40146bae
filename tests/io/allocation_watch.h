// The largest single request made of operator new while one of these lives: a parser may ask for no more than
// the file it reads justifies.
#pragma once

#include <cstddef>

namespace mplus::io::test {

class AllocationWatch {
 public:
  AllocationWatch();
  std::size_t largest() const;
};

}  // namespace mplus::io::test
