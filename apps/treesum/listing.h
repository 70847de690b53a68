/* listing.h: the list of sums, in the format of sha256sum. */
#ifndef TREESUM_LISTING_H
#define TREESUM_LISTING_H

#include <stdbool.h>
#include <stdio.h>

#include "results.h"

/* Write a line for each result, in their order, and flush. No other thread may add results
 * meanwhile. Returns false if it could not be written, and errno. */
bool listing_write(FILE *stream, const struct results *results);

#endif
