/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: what all commands share: the exit codes, the rows of the command table, error messages.
 */
#ifndef CLIENT_CLI_BASE_CLI_H
#define CLIENT_CLI_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <jansson.h>

#include "client/cli/term/args.h"
#include "client/cli/term/out.h"
#include "client/hearsay.h"

/* Exit codes. */
enum {
    CLI_DONE = 0,
    CLI_NEGATIVE = 1,   /* nothing found, lines skipped; or a local error: disk, memory */
    CLI_USAGE = 2,      /* the command was wrong */
    CLI_CONNECTION = 3, /* no connection, or it broke */
    CLI_REFUSED = 4,    /* the server refused the request */
    CLI_NO_READER = 141 /* the reader of standard output is gone: the status of SIGPIPE in shells */
};

struct cli_command;

/* One run of the program, with the options that every command has. */
struct cli {
    struct out out; /* standard output */
    struct out err; /* standard error */
    const struct cli_command *command;
    const char *server;  /* --server, else HEARSAY_SERVER, else the default */
    bool server_is_said; /* --server was given */
    uint64_t timeout_ms; /* --timeout, of each wait; 0: not given */
    bool tls;            /* --tls; the options below imply it */
    struct args_list tls_pins;
    const char *tls_ca; /* NULL: not given; also the next two */
    const char *tls_certificate;
    const char *tls_key;
    bool help;
    bool version;
    char *const
        *words; /* the arguments behind the command that are no options; word_count of them */
    int word_count;
};

struct cli_command {
    const char *name;
    const char *summary;   /* one line */
    const char *arguments; /* in the usage line, after the name */
    const char *details;   /* paragraphs of the help, "" for none */
    const char *examples;  /* lines of the help */
    const struct args_option *options;
    size_t option_count;
    const void *defaults; /* a struct of options, options_bytes of it; NULL: all zeros */
    size_t options_bytes;
    /* main refuses further words. CLI_ANY_WORDS: `run` checks the words. CLI_ONLY_LABELS: main
       refuses each word and names --label. */
    int words_max;
    /* Subcommands, ended by NULL; the name of each begins with this name and a space. A command
       with subcommands has no options and is not run itself. NULL: no subcommands. */
    const struct cli_command *const *children;
    /* Returns an exit code. `options` is a filled copy of `defaults`. */
    int (*run)(struct cli *cli, void *options);
};

enum { CLI_OPTIONS_BYTES_MAX = 512, CLI_ANY_WORDS = -1, CLI_ONLY_LABELS = -2 };

/* The fields of a command that say which options the command has. `type` is their struct. */
#define CLI_OPTIONS(table, type)                                            \
    .options = (table), .option_count = sizeof(table) / sizeof((table)[0]), \
    .options_bytes = sizeof(type)

/* Prints "hearsay: " and a sentence on standard error; control characters in it are escaped. */
void cli_complain(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, and a hint where to find help. Returns CLI_USAGE. */
int cli_misuse(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints an error of the library. Returns its exit code. */
int cli_report(const struct cli *cli, const struct hearsay_error *error);

/* Prints that memory is out. Returns CLI_NEGATIVE. */
int cli_report_nomem(const struct cli *cli);

/* Prints a line of JSON and takes the reference. CLI_DONE, or CLI_NEGATIVE when memory is out. */
int cli_print_json(const struct cli *cli, json_t *line);

/* The strings as a JSON array; NULL when memory is out. */
json_t *cli_json_strings(const char *const *strings, size_t count);

/* Prints `done` and a line feed when `status` is HEARSAY_OK, else the error. Returns an exit code.
 */
int cli_conclude(const struct cli *cli, int status, const struct hearsay_error *error,
                 const char *done);

/*
 * Flushes standard output. CLI_DONE; CLI_NO_READER, silently, when the reader of a pipe has gone;
 * CLI_NEGATIVE after saying why.
 */
int cli_flush(const struct cli *cli);

/* Warns when the proof of work that the server asks for will take a second or more. */
void cli_say_work(const struct cli *cli, const struct hearsay *server);

/* The timeout of one request in milliseconds: --timeout, else 10 s. */
int cli_timeout(const struct cli *cli);

/*
 * The server's host of that name (NULL: the default one). CLI_DONE, or CLI_USAGE after printing the
 * names of its hosts.
 */
int cli_find_host(const struct cli *cli, const struct hearsay *server, const char *name,
                  const struct hearsay_host **out_host);

/* The columns of a table's names of hosts: the length of the longest, at least `least`. */
int cli_host_columns(const struct hearsay_welcome *welcome, int least);

/* Reads a message id. CLI_DONE or CLI_USAGE after saying why. */
int cli_parse_id(const struct cli *cli, const char *text, uint8_t out_id[HEARSAY_ID_BYTES]);

/* The number of set bits of a filter. */
uint32_t cli_count_bits(const struct hearsay_filter *filter);

/* Prints that `word` is one too many. Returns CLI_USAGE. */
int cli_misuse_word(const struct cli *cli, const char *word);

/* Opens a file for reading, "-" is standard input. Returns the descriptor, or -1 after saying why.
 */
int cli_open(const struct cli *cli, const char *path);
/* Reads up to `most` bytes, or up to the end. Returns the number of bytes, or -1 with errno. */
ssize_t cli_read(int fd, char *buffer, size_t most);

void cli_close(int fd); /* leaves standard input open */

#endif
