/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: what all commands share: the exit codes, the command table's row, error messages.
 */
#ifndef CLIENT_CLI_BASE_CLI_H
#define CLIENT_CLI_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "client/cli/term/args.h"
#include "client/cli/term/out.h"
#include "client/hearsay.h"

/* Exit codes. */
enum {
    CLI_DONE = 0,
    CLI_NEGATIVE = 1,   /* nothing found, lines skipped; or this machine failed: disk, memory */
    CLI_USAGE = 2,      /* the command was wrong */
    CLI_CONNECTION = 3, /* no connection, or it broke */
    CLI_REFUSED = 4,    /* the server said no */
    CLI_NO_READER = 141 /* the reader of standard output has gone: as a shell reports SIGPIPE */
};

struct cli_command;

/* One run of the program. Options that every command has stand here. */
struct cli {
    struct out out; /* standard output */
    struct out err; /* standard error */
    const struct cli_command *command;
    const char *server;  /* --server, or else HEARSAY_SERVER or the default */
    bool server_is_said; /* by --server */
    uint64_t timeout_ms; /* of each wait; 0: not said */
    bool tls;            /* the rest of TLS implies it: see connect.h */
    struct args_list tls_pins;
    const char *tls_ca; /* these three NULL: not given */
    const char *tls_certificate;
    const char *tls_key;
    bool help;
    bool version;
};

struct cli_command {
    const char *name;
    const char *summary;   /* one line */
    const char *arguments; /* of the usage line, behind the name */
    const char *details;   /* paragraphs of the help, "" for none */
    const char *examples;  /* lines of the help */
    const struct args_option *options;
    size_t option_count;
    const void *defaults; /* a struct of options, options_bytes of it */
    size_t options_bytes;
    /* Of a command that has commands of its own, whose names begin with its name and a space; ended
       by NULL. Such a one has no options and is not run itself. NULL: it has none. */
    const struct cli_command *const *children;
    /* Returns an exit code. `options` is a filled copy of defaults; words are the rest of argv. */
    int (*run)(struct cli *cli, void *options, int word_count, char *const *words);
};

enum { CLI_OPTIONS_BYTES_MAX = 512 };

/* "hearsay: " and a sentence on standard error; what %s brings in is made harmless. */
void cli_complain(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, and where to find help. Returns CLI_USAGE. */
int cli_misuse(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Describes a library error. Returns the exit code that belongs to it. */
int cli_report(const struct cli *cli, const struct hearsay_error *error);

/* Out of memory. Returns CLI_NEGATIVE. */
int cli_report_nomem(const struct cli *cli);

/*
 * Flushes standard output. CLI_DONE; CLI_NO_READER without a word, as the reader of a pipe has what
 * it wanted; or CLI_NEGATIVE after saying why.
 */
int cli_flush(const struct cli *cli);

/* Says so where the proof of work that the server asks of each deposit will take long. */
void cli_say_work(const struct cli *cli, const struct hearsay *server);

/* The longest wait for one answer, in milliseconds: --timeout, else 10 s. */
int cli_timeout(const struct cli *cli);

/*
 * The host of that name (NULL: the default one) as the server has it: CLI_DONE, or CLI_USAGE after
 * naming those that there are.
 */
int cli_find_host(const struct cli *cli, const struct hearsay *server, const char *name,
                  const struct hearsay_host **out_host);

/* Reads a message id. CLI_DONE or CLI_USAGE after saying why. */
int cli_parse_id(const struct cli *cli, const char *text, uint8_t out_id[HEARSAY_ID_BYTES]);

/* How many bits of a filter are set. */
uint32_t cli_count_bits(const struct hearsay_filter *filter);

/* Says that there are words too many. Returns CLI_USAGE. */
int cli_misuse_word(const struct cli *cli, const char *word);

/* Opens a file for reading, "-" is standard input. Returns the descriptor, or -1 after saying why.
 */
int cli_open(const struct cli *cli, const char *path);
/* Reads up to `most` bytes, or up to the end. Returns the number of bytes, or -1 with errno. */
ssize_t cli_read(int fd, char *buffer, size_t most);

void cli_close(int fd); /* leaves standard input open */

#endif
