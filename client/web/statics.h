/* SPDX-License-Identifier: Apache-2.0 */
/* statics: the files of static/, built in by scripts/embed. */
#pragma once

#include <stddef.h>

struct statics_file {
    const char *name;      /* such as style.css */
    const char *type;      /* Content-Type */
    const char *integrity; /* sha384-..., of `bytes` */
    const unsigned char *bytes;
    size_t count;
    const unsigned char *gzip; /* the same, with Content-Encoding: gzip */
    size_t gzip_count;
};

extern const struct statics_file statics_table[];
extern const size_t statics_table_count;

/* The file of that name. NULL: there is none. */
const struct statics_file *statics_find(const char *name);
