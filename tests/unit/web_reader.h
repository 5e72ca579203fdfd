/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_reader: a strict reader of the pages of hearsay-web. Elements close in order, ids stand once,
 * each field has a label, nothing is styled or scripted inline, nothing comes from elsewhere: what
 * breaks a rule fails the test.
 */
#pragma once

#include "tests/unit/web_pages.h"

enum { WEB_READER_DEPTH = 32, WEB_READER_IDS = 128, WEB_READER_NAME_BYTES = 64 };

struct web_reader_names {
    char values[WEB_READER_IDS][WEB_READER_NAME_BYTES];
    size_t count;
};

struct web_reader {
    const char *page; /* for messages */
    const char *at;
    char open[WEB_READER_DEPTH][WEB_READER_NAME_BYTES];
    size_t depth;
    struct web_reader_names ids;
    struct web_reader_names
        labelled; /* <label for>, aria-describedby, #fragments: ids that must be there */
    struct web_reader_names fields; /* ids of fields that need a label */
    size_t headings;                /* h1 */
    char text[64 * 1024];           /* what a reader of the page gets, of others' values and ours */
    size_t text_bytes;
    unsigned unread; /* depth from which the text is of others or a name; 0: none */
    const char *typed;
    bool has_typed;
};

/* Writes a sample and reads it. The reader is to be freed. */
struct web_reader *web_reader_read(const struct web_pages_sample *sample,
                                   const struct web_pages_values *values, const struct lang *lang);
