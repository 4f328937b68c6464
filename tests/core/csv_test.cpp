#include "lather/core/formats/csv.hpp"

#include <gtest/gtest.h>

#include "lather/core/error.hpp"

namespace lather {
namespace {

CsvTable parse(std::string_view text) { return parse_csv(text, "file.csv", CsvNumbers::finite); }

std::string error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Csv, IsReadAsSpreadsheetsAndNumPyWriteIt) {
  const std::vector<std::string> names{"x", "t", "u"};
  const std::vector<std::vector<double>> rows{{0, 1, -2.5}, {1e-3, 0, 4}};
  for (const char* text : {
           "x,t,u\n0,1,-2.5\n1e-3,0,4\n",
           "\xEF\xBB\xBFx,t,u\r\n0,1,-2.5\r\n1e-3,0,4\r\n",
           "# x,t,u\n0,1,-2.5\n1e-3,0,4\n",
           "# made on a Monday\n#x, t, u\n0, 1, -2.5\n\n# a remark\n1e-3, 0, 4",
           "\"x\",\"t\",\"u\"\n0,1,-2.5\n1e-3,0,4\n",
       }) {
    const CsvTable table = parse(text);
    EXPECT_EQ(table.names, names) << text;
    EXPECT_EQ(table.rows, rows) << text;
  }
}

TEST(Csv, SaysWhereItCannotBeReadAndWhatWasExpected) {
  EXPECT_EQ(error_of("x,t\n0,one\n"), "file.csv:2:3: expected a finite number, found 'one'");
  EXPECT_EQ(error_of("x,t\n0,inf\n"), "file.csv:2:3: expected a finite number, found 'inf'");
  EXPECT_EQ(error_of("x,t\n0\n"), "file.csv:2:1: expected 2 numbers, one per column of the header, found 1");
  EXPECT_EQ(error_of("0,1\n"),
            "file.csv:1:1: expected a header that names the columns, such as x,t,u; found numbers");
  EXPECT_EQ(error_of("# a remark\n0,1\n"),
            "file.csv:2:1: expected a header that names the columns, such as x,t,u; found numbers");
  EXPECT_EQ(error_of("x t u\n0 1 2\n"), "file.csv:1:1: expected commas between the columns, found 'x t u'");
  EXPECT_EQ(error_of("# nothing else\n"),
            "file.csv: the file is empty: expected a header that names the columns, such as x,t,u");
}

}  // namespace
}  // namespace lather
