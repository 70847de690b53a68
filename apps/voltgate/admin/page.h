/* page.h: the live page: page.html, as the build has put it into the program. */
#ifndef VOLTGATE_ADMIN_PAGE_H
#define VOLTGATE_ADMIN_PAGE_H

#include <stddef.h>

extern const char page_html[];
extern const size_t page_html_size;

#endif
