/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args: parses the options of a command with getopt_long, as described by a table. Writes the
 * values to the command's struct of options, which holds the defaults before the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum args_kind {
    ARGS_FLAG,     /* bool, without a value */
    ARGS_TEXT,     /* const char *, not empty */
    ARGS_LIST,     /* struct args_list; may be given many times */
    ARGS_NUMBER,   /* uint32_t, min .. max */
    ARGS_DURATION, /* uint64_t in ms, min .. max of them */
    ARGS_DISTANCE, /* uint32_t in millionths */
    ARGS_MOMENT,   /* struct args_moment: 6h (ago) or 2026-11-20T14:00Z */
    ARGS_CHOICE    /* int: the index in `choices` */
};

struct args_list {
    const char **items; /* owned; the strings are argv's */
    size_t count;
};

struct args_moment {
    enum { ARGS_NO_MOMENT, ARGS_AGO, ARGS_AT } kind;
    int64_t ms; /* ago, or since 1970 */
};

struct args_option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum args_kind kind;
    size_t offset;     /* of the field in the struct of options */
    const char *value; /* what the help calls the value; NULL for a flag and an ARGS_CHOICE */
    const char *help;  /* one line */
    uint64_t min;
    uint64_t max;
    const char *const *choices; /* ended by NULL */
};

/*
 * Macros for the rows of a table of options. `type` is the struct of options, and `field` is the
 * field that the option fills. A letter of 0 means that the option has no short form. ARGS_RANGE
 * adds the smallest and the largest value, ARGS_NAMES the names of an ARGS_CHOICE.
 */
#define ARGS_ROW(name_, letter_, kind_, type, field, value_, help_)                             \
    {                                                                                           \
        .name = (name_), .letter = (letter_), .kind = (kind_), .offset = offsetof(type, field), \
        .value = (value_), .help = (help_)                                                      \
    }
#define ARGS_RANGE(name_, letter_, kind_, type, field, value_, min_, max_, help_)               \
    {                                                                                           \
        .name = (name_), .letter = (letter_), .kind = (kind_), .offset = offsetof(type, field), \
        .value = (value_), .min = (min_), .max = (max_), .help = (help_)                        \
    }
#define ARGS_NAMES(name_, letter_, type, field, choices_, help_)                \
    {                                                                           \
        .name = (name_), .letter = (letter_), .kind = ARGS_CHOICE,              \
        .offset = offsetof(type, field), .choices = (choices_), .help = (help_) \
    }

/* A table of options and the struct that they fill. */
struct args_group {
    const struct args_option *options;
    size_t count;
    void *target;
};

enum { ARGS_SENTENCE_BYTES = 400, ARGS_OPTIONS_MAX = 64, ARGS_GROUPS_MAX = 2 };

/*
 * Parses argv, beginning with argv[1]. If `stop` is set, parsing ends at the first word that is no
 * option; otherwise options may appear anywhere before "--". Returns 0 with *out_first, the index
 * of the first word in argv that is not part of an option (getopt may reorder argv); ARGS_WRONG
 * with a sentence; or ARGS_NOMEM.
 */
enum { ARGS_WRONG = 1, ARGS_NOMEM = 2 };
int args_parse(int argc, char **argv, const struct args_group *groups, size_t group_count,
               bool stop, int *out_first, char out_sentence[ARGS_SENTENCE_BYTES]);

/* Appends a value, which is borrowed, to the list of an ARGS_LIST option. Returns 0 or ARGS_NOMEM.
 */
int args_list_add(struct args_list *list, const char *value);

/* Frees the lists of a group. */
void args_free(const struct args_group *group);

/*
 * Prints the options of a group as help, in two columns. The shells' completions
 * (client/completion/) read it: a value of FILE, HOST, NAME or words like a|b is completed, and
 * "..." says that the option may be given again.
 */
void args_print_help(FILE *stream, const struct args_group *group);

/* Prints words in lines of at most 80 columns; the first one begins at `column`, where the cursor
 * is, and so does each further line. A line break of the text is a blank. Ends with a line break.
 */
void args_print_prose(FILE *stream, int column, const char *text);

/*
 * Returns a name that begins with `word` (of 2 bytes or more), else the name with the smallest edit
 * distance to `word`, where an edit inserts, deletes or changes a character or swaps two
 * neighbours. Returns NULL when no name is similar enough to be suggested, or `word` is empty or
 * has more than 40 bytes.
 */
const char *args_nearest(const char *word, const char *const *names, size_t count);
