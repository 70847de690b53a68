/* page.h: the live page: page.html, as the build has put it into the program. */
#ifndef VOLTGATE_ADMIN_PAGE_H
#define VOLTGATE_ADMIN_PAGE_H

#include <stddef.h>

extern const char page_html[];
extern const size_t page_html_size;

/* Write the Content-Security-Policy of a page with one <style> and one <script>, by their digests: it
 * may run and use these, and ask this server. Nothing else: no other script, no other host, no frame
 * around it. room: 512 is enough. */
void page_policy_write(char *to, size_t room, const char *page, size_t size);

#endif
