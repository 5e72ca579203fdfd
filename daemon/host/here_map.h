/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here_map: the here labels of many places that one server serves: a table from address prefixes to
 * labels, for access points that cannot run hearsayd themselves. Such a table says which addresses
 * are at which place, so no function of this module writes an address to the log.
 *
 *   # office, ground floor
 *   10.1.0.0/16   = place:office
 *   10.1.7.0/24   = place:office, topic:canteen | The canteen
 *   2001:db8::/64 = geo:u281zd
 *
 * Behind `|` a line may have the name of its place, for people.
 *
 * This module makes a table from text. It opens no file: here_watch reads the files. A table does
 * not change after here_map_new, so another thread may make a table if `alloc` allows that.
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"
#include "proto/msg.h"

enum {
    HERE_MAP_LINES_MAX = 65536, /* lines with a prefix */
    HERE_MAP_BYTES_MAX = 16 * 1024 * 1024,
    HERE_MAP_REASON_BYTES = 512
};

/* An address. A mapped IPv6 address (::ffff:192.0.2.1) is stored as the IPv4 address. */
struct here_address {
    uint8_t family;    /* 4, 6; 0: unknown, which no prefix holds */
    uint8_t bytes[16]; /* 4 of IPv4, the rest is zero */
};

/*
 * Reads an address of one machine from its 4 or 16 bytes. Returns false if `length` is another
 * number, or if the address is unspecified, multicast, or an IPv4 address from 240.0.0.0 on.
 */
bool here_address_read(const uint8_t *bytes, size_t length, struct here_address *out_address);

struct here_map;

/*
 * Makes a table from `text`. A line has a prefix, `=`, and labels with commas between them; then
 * perhaps `|` and a name of 1 to LIMIT_PLACE_NAME_BYTES bytes. A prefix without `/` is one address.
 * Blank lines and lines that begin with `#` are skipped. Lines of one name have the same labels in
 * the same order, and there are at most LIMIT_PLACES names.
 * `frame_bytes` is the number of bytes that the labels of one line may take in a frame.
 *
 * A wrong line is left out, and so is a prefix that an earlier line has: out_reason
 * (HERE_MAP_REASON_BYTES) then says what is wrong with the first such line, and
 * names the first few by number.
 *
 * Returns 0, and the caller owns *out_map (here_map_free); HERE_MAP_REFUSED with a sentence in
 * out_reason if nothing can be read or the text is too large; or -ERR_NOMEM. O(bytes + lines log
 * lines).
 */
enum { HERE_MAP_REFUSED = 1 };
int here_map_new(const struct alloc *alloc, const char *text, size_t bytes, size_t frame_bytes,
                 struct here_map **out_map, char *out_reason);
void here_map_free(struct here_map *map); /* NULL is fine */

/* The number of prefixes in the table. */
size_t here_map_count(const struct here_map *map);

/* The number of lines that were left out because they are wrong. */
size_t here_map_left_out(const struct here_map *map);

/*
 * Finds the longest prefix that holds the address, and writes its labels to out_labels, which has
 * LIMIT_LABELS elements; the texts are borrowed from the table. Returns the number of labels; 0: no
 * prefix holds the address. `map` may be NULL. O(different lengths of prefixes * log lines).
 */
size_t here_map_find(const struct here_map *map, const struct here_address *address,
                     struct hearsay_text *out_labels);

/*
 * The name of the place of the longest prefix that holds the address, borrowed from the table; it
 * does not end with NUL. Empty (NULL, 0): no prefix holds the address, or its line has no name.
 * `map` may be NULL.
 */
struct hearsay_text here_map_name(const struct here_map *map, const struct here_address *address);

/*
 * Writes the names of all places, each once and in the order of their bytes, to out_names, which
 * has LIMIT_PLACES elements. Borrowed from the table. Returns their number. `map` may be NULL.
 */
size_t here_map_places(const struct here_map *map, struct hearsay_text *out_names);

/*
 * Finds the place of a name, and writes its labels as here_map_find does. Returns the number of
 * labels; 0: no place has this name. `map` may be NULL. O(log lines).
 */
size_t here_map_place(const struct here_map *map, const struct hearsay_text *name,
                      struct hearsay_text *out_labels);

/* Whether both tables give this address the same labels. Either may be NULL. */
bool here_map_agrees(const struct here_map *a, const struct here_map *b,
                     const struct here_address *address);
