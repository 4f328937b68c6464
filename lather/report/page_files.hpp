#pragma once
// The files of lather/report/page, embedded in the library when it is built.

namespace lather::report {

extern const char* const kPage_html;
extern const char* const kPage_css;
extern const char* const kPage_js;    // of the report
extern const char* const kPage_live;  // of the page that `lather watch` serves
extern const char* const kPage_sweep;

}  // namespace lather::report
