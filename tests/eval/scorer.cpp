// Reads {"answer", "golds"} or {"word"} a line, writes the scores or the stem: for
// tests/eval/test_public_scorers.py.
#include <iostream>

#include "mplus/eval/metric/answer_score.h"
#include "mplus/eval/metric/porter.h"
#include "mplus/io/text/json.h"

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto in = mplus::io::Json::parse(line);
    mplus::io::Json out;
    if (in.contains("word")) {
      out["stem"] = mplus::eval::porter_stem(in["word"].get<std::string>());
    } else {
      const auto answer = in["answer"].get<std::string>();
      const auto golds = in["golds"].get<mplus::eval::Golds>();
      out["exact"] = mplus::eval::exact_match(answer, golds);
      out["f1"] = mplus::eval::f1(answer, golds);
    }
    std::cout << out.dump() << "\n";
  }
}
