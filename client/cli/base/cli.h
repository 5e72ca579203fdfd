/* SPDX-License-Identifier: Apache-2.0 */
/* cli: the parts that all commands share: exit codes, the struct that describes a command, error
 * messages. */
#ifndef CLIENT_CLI_BASE_CLI_H
#define CLIENT_CLI_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <jansson.h>

#include "client/cli/base/discover.h"
#include "client/cli/term/args.h"
#include "client/cli/term/out.h"
#include "client/hearsay.h"

/* Exit codes. */
enum {
    CLI_DONE = 0,
    CLI_NEGATIVE =
        1, /* a negative answer (nothing found), lines skipped, or a local error: disk, memory */
    CLI_USAGE = 2,      /* the command was wrong */
    CLI_CONNECTION = 3, /* no connection, or it broke */
    CLI_REFUSED = 4,    /* the server refused the request */
    CLI_NO_READER = 141 /* standard output has no reader; shells show 141 for SIGPIPE */
};

struct cli_command;

/* The state of one run of the program: its streams, and the options that every command takes. */
struct cli {
    struct out out; /* standard output */
    struct out err; /* standard error */
    const struct cli_command *command;
    const char *server;                /* --server, else HEARSAY_SERVER, else the default */
    bool server_is_said;               /* --server was given */
    char found[DISCOVER_SERVER_BYTES]; /* what `auto` has found */
    struct hearsay *connection;        /* owned: main closes it; NULL: none */
    uint64_t timeout_ms;               /* --timeout, of each wait; 0: not given */
    bool tls;                          /* --tls; TLS is also used with --pin, --ca or --cert */
    struct args_list tls_pins;
    const char *tls_ca; /* NULL: not given; also the next two */
    const char *tls_certificate;
    const char *tls_key;
    bool help;
    bool version;
    char *const *words; /* the arguments after the command, without options */
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
    const void *defaults; /* the default options, options_bytes long; NULL: zeros */
    size_t options_bytes;
    /*
     * The largest number of words, that is, of arguments that are no options; main refuses more.
     * CLI_ANY_WORDS: no limit. CLI_ONLY_LABELS: main refuses every word, and the error says that
     * labels are given as -l LABEL.
     */
    int words_max;
    /*
     * An array of the command's subcommands, ended by NULL. NULL: no subcommands. The name of a
     * subcommand begins with the name of this command and a space. A command with subcommands has
     * no options and no `run`.
     */
    const struct cli_command *const *children;
    /*
     * Runs the command. `options` is a copy of `defaults` with the given options. Returns an exit
     * code.
     */
    int (*run)(struct cli *cli, void *options);
};

enum { CLI_OPTIONS_BYTES_MAX = 512, CLI_ANY_WORDS = -1, CLI_ONLY_LABELS = -2 };

/* Sets the options of a command. `table` is the array of rows that describe the options; `type` is
 * the struct that gets the values of the options. */
#define CLI_OPTIONS(table, type)                                            \
    .options = (table), .option_count = sizeof(table) / sizeof((table)[0]), \
    .options_bytes = sizeof(type)

/*
 * Prints "hearsay: ", a sentence of at most 1,023 bytes and a line feed to standard error. Escapes
 * unsafe characters in the sentence (text.h).
 */
void cli_complain(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Prints a sentence as cli_complain does, and a line that says how to get the help of the command.
 * Returns CLI_USAGE.
 */
int cli_misuse(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints an error of libhearsay. Returns the exit code for this error. */
int cli_report(const struct cli *cli, const struct hearsay_error *error);

/* Prints that memory is out. Returns CLI_NEGATIVE. */
int cli_report_nomem(const struct cli *cli);

/*
 * Prints `line` as one line of JSON and takes the reference to it. NULL means: out of memory.
 * Returns CLI_DONE, or CLI_NEGATIVE after printing that memory is out.
 */
int cli_print_json(const struct cli *cli, json_t *line);

/* Returns a JSON array of `count` strings. Returns NULL when memory is out or a string is not
 * UTF-8. */
json_t *cli_json_strings(const char *const *strings, size_t count);

/*
 * Ends a request: prints `done` and a line feed if `status` is HEARSAY_OK, else prints the error.
 * Returns an exit code.
 */
int cli_conclude(const struct cli *cli, int status, const struct hearsay_error *error,
                 const char *done);

/*
 * Flushes standard output. Returns CLI_DONE, CLI_NO_READER without a message when the reader has
 * closed the pipe, or CLI_NEGATIVE after printing the error.
 */
int cli_flush(const struct cli *cli);

/* Returns the timeout of one request in milliseconds: the value of --timeout, or 10 s without the
 * option. */
int cli_timeout(const struct cli *cli);

/*
 * Finds the server's host called `name` (NULL: the default host). Returns CLI_DONE. If the host
 * does not exist, prints an error with the names of the server's hosts (cut to 255 bytes together)
 * and returns CLI_USAGE.
 */
int cli_find_host(const struct cli *cli, const struct hearsay *server, const char *name,
                  const struct hearsay_host **out_host);

/* Returns the width of a column with the names of all hosts: the longest name, at least `least`. */
int cli_host_columns(const struct hearsay_welcome *welcome, int least);

/*
 * Parses a message's id: its hexadecimal digits, or the address of its page at hearsay-web, as a
 * browser copies it: /m/ID?p=... with or without the name of the access point and http:// before
 * it. Returns CLI_DONE, or CLI_USAGE after printing the error.
 */
int cli_parse_id(const struct cli *cli, const char *text, uint8_t out_id[HEARSAY_ID_BYTES]);

/* The number of set bits of a filter. */
uint32_t cli_count_bits(struct hearsay_bytes filter);

/* Prints the error that the argument `word` is one too many. Returns CLI_USAGE. */
int cli_misuse_word(const struct cli *cli, const char *word);

/*
 * Opens a file for reading; "-" is standard input. Returns the file descriptor, or -1 after
 * printing the error.
 */
int cli_open(const struct cli *cli, const char *path);
/*
 * Reads a file to its end, but at most `most` bytes. Returns the number of bytes, or -1 with errno.
 */
ssize_t cli_read(int fd, char *buffer, size_t most);

void cli_close(int fd); /* leaves standard input open */

#endif
