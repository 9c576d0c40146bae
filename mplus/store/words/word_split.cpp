#include "mplus/store/words/word_split.h"

#include <utf8proc.h>

#include <algorithm>
#include <unordered_set>

namespace mplus::store {
namespace {

bool is_word_character(utf8proc_int32_t c) {
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

// Scripts that do not put spaces between words.
bool is_unspaced(utf8proc_int32_t c) {
  return (c >= 0x0E00 && c <= 0x0EFF) ||  // Thai, Lao
         (c >= 0x1000 && c <= 0x109F) ||  // Myanmar
         (c >= 0x1780 && c <= 0x17FF) ||  // Khmer
         (c >= 0x3040 && c <= 0x30FF) ||  // Hiragana, Katakana
         (c >= 0x3400 && c <= 0x4DBF) ||  // Han, extension A
         (c >= 0x4E00 && c <= 0x9FFF) ||  // Han
         (c >= 0xF900 && c <= 0xFAFF) ||  // Han, compatibility
         (c >= 0x20000 && c <= 0x3FFFF);  // Han, further extensions
}

std::string utf8(utf8proc_int32_t c) {
  utf8proc_uint8_t bytes[4];
  const auto n = utf8proc_encode_char(c, bytes);
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n)};
}

// Calls word(text) for every word, characters(list) for every run of an unspaced script.
template <class Word, class Run>
void split(std::string_view text, Word&& word, Run&& run) {
  std::string current;
  std::vector<std::string> unspaced;
  const auto end_word = [&] {
    if (!current.empty()) word(current);
    current.clear();
  };
  const auto end_run = [&] {
    if (!unspaced.empty()) run(unspaced);
    unspaced.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t c = 0;
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                       static_cast<utf8proc_ssize_t>(text.size() - at), &c);
    at += size > 0 ? static_cast<std::size_t>(size) : 1;
    const bool counts = size > 0 && is_word_character(c);
    if (counts && is_unspaced(c)) {
      end_word();
      unspaced.push_back(utf8(c));
    } else {
      end_run();
      if (counts) {
        current += utf8(utf8proc_tolower(c));
      } else {
        end_word();
      }
    }
  }
  end_word();
  end_run();
}

}  // namespace

std::string indexed_form(std::string_view text) {
  std::string form;
  const auto add = [&](const std::string& word) { form.append(form.empty() ? "" : " ").append(word); };
  split(text, add, [&](const std::vector<std::string>& run) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      add(run[i]);
      if (i + 1 < run.size()) add(run[i] + run[i + 1]);
    }
  });
  return form;
}

std::vector<std::string> question_words(std::string_view text, std::size_t most) {
  std::vector<std::string> words;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& word) {
    if (words.size() < most && seen.insert(word).second) words.push_back(word);
  };
  split(text, add, [&](const std::vector<std::string>& run) {
    if (run.size() == 1) add(run[0]);
    for (std::size_t i = 0; i + 1 < run.size(); ++i)
      add(run[i] + run[i + 1]);  // pairs say more than characters
  });
  return words;
}

std::vector<std::pair<std::string, std::string>> question_pairs(std::string_view text, std::size_t most) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::string before;
  split(
      text,
      [&](const std::string& word) {
        std::pair pair(std::exchange(before, word), word);
        if (pair.first.empty() || pairs.size() == most) return;
        if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(std::move(pair));
      },
      [&](const std::vector<std::string>&) { before.clear(); });
  return pairs;
}

}  // namespace mplus::store
