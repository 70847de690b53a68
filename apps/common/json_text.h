/* json_text.h: a character of UTF-8, and how it stands in a string of JSON: as the library writes it. */
#ifndef COMMON_JSON_TEXT_H
#define COMMON_JSON_TEXT_H

#include "../../src/sight/answer/json_text.h"

#endif
