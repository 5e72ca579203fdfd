/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: reads the command line of hearsay-bench and of each subcommand. One table says for each
 * option which values are allowed, where the value is stored, and what --help prints.
 */
#pragma once

#include <stdio.h>

#include "core/profile/profile.h"

/*
 * One option. Exactly one of the pointers from `flag` to `parse` is set; it decides what kind of
 * value the option takes. A pointer's target holds the default and changes only if the option is
 * given.
 */
struct option_row {
    const char *name;  /* "count" for --count; a name of one letter, as "k", for -k */
    const char *value; /* the value's name in --help, as "N"; NULL for flags */
    const char *help;  /* lines with '\n' between them */

    bool *flag;                                   /* takes no value; becomes true */
    uint32_t *u32;                                /* a whole number from `least` to `most` */
    uint64_t *u64;                                /* the same */
    size_t *size;                                 /* the same */
    const char **text;                            /* any text, borrowed from argv */
    struct profile *profile;                      /* a profile as text, as "v2:512/4" */
    int (*parse)(char *value, void *destination); /* may change the value; 0, or -1: it is said */

    void *destination; /* of `parse` */
    uint64_t least;    /* of numbers */
    uint64_t most;
};

/* Rows by the kind of their value; numbers are from `least` to `most`. */
#define OPTION_NUMBER(name_, value_, kind_, target_, least_, most_, help_)         \
    {                                                                              \
        .name = (name_), .value = (value_), .kind_ = (target_), .least = (least_), \
        .most = (most_), .help = (help_)                                           \
    }
#define OPTION_U32(name_, value_, target_, least_, most_, help_) \
    OPTION_NUMBER(name_, value_, u32, target_, least_, most_, help_)
#define OPTION_U64(name_, value_, target_, least_, most_, help_) \
    OPTION_NUMBER(name_, value_, u64, target_, least_, most_, help_)
#define OPTION_SIZE(name_, value_, target_, least_, most_, help_) \
    OPTION_NUMBER(name_, value_, size, target_, least_, most_, help_)
#define OPTION_FLAG(name_, target_, help_)                  \
    {                                                       \
        .name = (name_), .flag = (target_), .help = (help_) \
    }
#define OPTION_TEXT(name_, value_, target_, help_)                             \
    {                                                                          \
        .name = (name_), .value = (value_), .text = (target_), .help = (help_) \
    }
#define OPTION_PROFILE(name_, value_, target_, help_)                             \
    {                                                                             \
        .name = (name_), .value = (value_), .profile = (target_), .help = (help_) \
    }
#define OPTION_PARSE(name_, value_, parse_, destination_, help_)                              \
    {                                                                                         \
        .name = (name_), .value = (value_), .parse = (parse_), .destination = (destination_), \
        .help = (help_)                                                                       \
    }

/* Rows under one heading of --help; NULL: under none. */
struct option_group {
    const char *heading;
    const struct option_row *rows;
    size_t count;
};

enum { OPTIONS_GROUPS_MAX = 8, OPTIONS_ROWS_MAX = 64 };

struct options_table {
    const char *command;                            /* "index"; NULL: hearsay-bench itself */
    const char *about;                              /* what --help prints before the options */
    const char *notes;                              /* ... and after them, or NULL */
    struct option_group groups[OPTIONS_GROUPS_MAX]; /* the first without rows ends them */
    const char **word; /* receives the one word that is not an option; NULL: no word is allowed */
};

enum options_outcome {
    OPTIONS_RUN,    /* everything was read */
    OPTIONS_HELP,   /* --help was there, and is printed */
    OPTIONS_REFUSED /* an option or a value was wrong, which is on standard error */
};

/*
 * Reads a command line. Skips argv[0]; may change the order of argv. --help and -h need no row. May
 * be called only once in a process (getopt).
 */
enum options_outcome options_read(const struct options_table *table, int argc, char **argv);

/* Prints what --help prints. */
void options_help(const struct options_table *table, FILE *out);
