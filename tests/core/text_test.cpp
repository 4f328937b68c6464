#include "lather/core/text.hpp"

#include <gtest/gtest.h>

namespace lather {
namespace {

TEST(Shown, LeavesTextAloneAndSpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(shown("τ → 3\tµm\nü"), "τ → 3\tµm\nü");
  EXPECT_EQ(shown("\033[31mred\a"), "\\u001b[31mred\\u0007");
  EXPECT_EQ(shown("a\rb\177"), "a\\u000db\\u007f");
  EXPECT_EQ(shown(std::string_view("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(shown("\u009b31m"), "\\u009b31m");          // a control sequence in one character
  EXPECT_EQ(shown("\u202efdp.exe"), "\\u202efdp.exe");  // reads backwards
  EXPECT_EQ(shown("\x9b\x33"), "\\x9b3");               // the same in eight bits
  EXPECT_EQ(shown("\xc0\x9b \xed\xa0\x80 \xe2\x82"), "\\xc0\\x9b \\xed\\xa0\\x80 \\xe2\\x82");
  EXPECT_EQ(shown(shown("\033]0;x\a")), shown("\033]0;x\a"));
}

TEST(Shown, KnowsUtf8) {
  EXPECT_TRUE(is_utf8("τ \033"));
  EXPECT_FALSE(is_utf8("caf\xe9"));
}

TEST(Markup, EscapesAndHoldsNothingThatXmlForbids) {
  EXPECT_EQ(markup("<a href=\"x\">&τ\n"), "&lt;a href=&quot;x&quot;&gt;&amp;τ\n");
  EXPECT_EQ(markup("\033[31m\xff"), "\uFFFD[31m\uFFFD");
  EXPECT_EQ(markup("\uFFFE"), "\uFFFD");
}

}  // namespace
}  // namespace lather
