/* mime.h: the media type of a file, by its name. */
#ifndef HTTPD_MIME_H
#define HTTPD_MIME_H

/* The type of a path, in static memory: "application/octet-stream" if nothing is known. */
const char *mime_type(const char *path);

#endif
