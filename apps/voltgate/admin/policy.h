/* policy.h: what a browser may do for the page: run the script and use the style that are in it,
 * and ask this server. Nothing else: no other script, no other host, no frame around it. */
#ifndef VOLTGATE_ADMIN_POLICY_H
#define VOLTGATE_ADMIN_POLICY_H

#include <stddef.h>

/* Write the Content-Security-Policy of a page with one <style> and one <script>, by their digests.
 * room: 512 is enough. */
void policy_write(char *to, size_t room, const char *page, size_t size);

#endif
