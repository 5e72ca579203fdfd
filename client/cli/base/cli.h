/* SPDX-License-Identifier: Apache-2.0 */
/* cli: the parts that all commands share: exit codes, the struct that describes a command, error
 * messages. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include <jansson.h>

#include "client/cli/term/args.h"
#include "client/cli/term/out.h"
#include "client/hearsay.h"

/* --- discover --------------------------------------------------------------------------------- */

/* Where a server may be, for `--server auto`. */

/* Where to look, in this order. Only DISCOVER_DNS sends questions. */
enum discover_step { DISCOVER_LOOPBACK, DISCOVER_DNS, DISCOVER_GATEWAY, DISCOVER_STEPS };

enum { DISCOVER_PLACES_MAX = 8, DISCOVER_SERVER_BYTES = 272, DISCOVER_HOW_BYTES = 320 };

/* A place where a server may be. */
struct discover_place {
    char server[DISCOVER_SERVER_BYTES]; /* as --server takes it */
    char how[DISCOVER_HOW_BYTES];       /* how the place was found, for the user */
    uint16_t priority;                  /* of the SRV record: the smaller one comes first */
    bool tls;                           /* the announcement says that the server wants TLS */
};

/*
 * Fills `out` with the places of one step, the first to try first. Returns the number of places.
 *
 * DISCOVER_DNS asks the resolver of the system for the PTR records of _hearsay._tcp in the search
 * domain of /etc/resolv.conf (RFC 6763), then for SRV and TXT of each. The function leaves out
 * announcements that are wrong or of another version. The function waits at most a second for each
 * question. If nobody answers the first question, the function asks no other one. Each announcement
 * takes two questions. So the function asks about a further announcement only if two seconds or
 * more are left until end_us, a time of the monotonic clock in microseconds.
 *
 * DISCOVER_GATEWAY reads the default routes of IPv4 and IPv6 from /proc/net.
 */
size_t discover_places(enum discover_step step, int64_t end_us,
                       struct discover_place out[DISCOVER_PLACES_MAX]);

/* --- cli -------------------------------------------------------------------------------------- */

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
 * unsafe characters in the sentence (term/out.h).
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

/* Sends a request and waits for the response, as hearsay_ask, and prints the error if there is one.
 * Returns an exit code. */
int cli_ask(const struct cli *cli, const struct hearsay_request *request,
            const struct hearsay_response **out_response);

/* The same for a request about the message `id` whose response says only that it is done: prints
 * `done` and a line feed, or with `json` one line of JSON with the id and the key `done`, true. */
int cli_carry_out(const struct cli *cli, const struct hearsay_request *request, const char *done,
                  const uint8_t id[HEARSAY_ID_BYTES], bool json);

/*
 * Flushes standard output. Returns CLI_DONE, CLI_NO_READER without a message when the reader has
 * closed the pipe, or CLI_NEGATIVE after printing the error.
 */
int cli_flush(const struct cli *cli);

/* Returns the timeout of one request in milliseconds: the value of --timeout, or 10 s without the
 * option. */
int cli_timeout(const struct cli *cli);

/* The space for the names of hosts in a sentence; what has no room is cut off. */
enum { CLI_HOSTS_BYTES = 256 };

/* Writes the names of the server's hosts from number `first` on, a comma between them. */
void cli_name_hosts(const struct hearsay_welcome *welcome, size_t first, char out[CLI_HOSTS_BYTES]);

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

/* --- ask_admin -------------------------------------------------------------------------------- */

/*
 * Connects the commands admin and export to the daemon, usually over its Unix socket,
 * and sends requests of administration.
 */

/* The timeout of check, backup, compact and similar without --timeout. */
enum { ADMIN_PATIENCE_MS = 15 * 60 * 1000 };

/*
 * Connects to --server, else to HEARSAY_ADMIN, else to HEARSAY_SERVER if it is a path, else to the
 * first usual socket of a daemon that exists. Checks that the server has `host` (NULL: no check).
 * Returns CLI_DONE with cli->connection, or an exit code after printing the error.
 */
int admin_connect(struct cli *cli, const char *host);

/*
 * Calls admin_connect for a command that is about one host, the first one if `host` is NULL. If the
 * server has more hosts then, says on standard error which host it is and which others there are.
 */
int admin_connect_one(struct cli *cli, const char *host);

/*
 * Sends one request and waits for the reply: as long as --timeout says, else ADMIN_PATIENCE_MS for
 * check, backup, compact and similar, else 10 s. Returns CLI_DONE with *out_reply borrowed from the
 * connection, or an exit code after printing the error. If the server answers "forbidden", a second
 * sentence explains how to become an administrator.
 */
int admin_ask(const struct cli *cli, const struct hearsay_request *request,
              const struct hearsay_response **out_response);

/* Calls admin_connect with `host`, and admin_ask. Returns an exit code. */
int admin_call(struct cli *cli, const char *host, const struct hearsay_request *request,
               const struct hearsay_response **out_response);

/* Calls admin_connect_one with `host`, and admin_ask. Returns an exit code. */
int admin_call_one(struct cli *cli, const char *host, const struct hearsay_request *request,
                   const struct hearsay_response **out_response);

/* --- connect ---------------------------------------------------------------------------------- */

/* Opens the connection to the server of --server, with TLS if an option asks for TLS. */

/* The name of the file that lists the known servers. The file is in the folder hearsay/ of
 * PLACE_STATE. */
#define CONNECT_KNOWN_SERVERS "known_servers"

/*
 * Connects to cli->server. If that is `auto`, connects to the first place of discover_places that
 * answers, prints which, and sets cli->server to it. Uses TLS if --tls, --ca, --pin or --cert is
 * given, or if the announcement of a place has tls=1. Without --ca and --pin, the function may
 * trust a server on first use, as struct hearsay_tls describes, and then prints the server's pin.
 * Returns CLI_DONE with cli->connection, or an exit code after printing the error.
 */
int connect_server(struct cli *cli);

/*
 * Connects as connect_server does, and finds the host called `name` (NULL: the default host).
 * *out_host is borrowed from cli->connection. Returns CLI_DONE, or an exit code after printing the
 * error.
 */
int connect_host(struct cli *cli, const char *name, const struct hearsay_host **out_host);

/*
 * Connects as connect_server does, and sends the resume token of an earlier connection (token_bytes
 * 0: no token). *out_server is owned by the caller. Prints no error: returns a status of
 * libhearsay.
 */
int connect_resuming(const struct cli *cli, const uint8_t *token, size_t token_bytes,
                     struct hearsay **out_server, struct hearsay_error *out_error);

/* --- place ------------------------------------------------------------------------------------ */

/* The paths of the files that the command keeps, by the XDG base directory rules. */

enum { PLACE_PATH_BYTES = 4096 };

enum place_kind {
    PLACE_STATE, /* $XDG_STATE_HOME, else ~/.local/state */
    PLACE_CONFIG /* $XDG_CONFIG_HOME, else ~/.config */
};

/* Results of place_path. place_file returns PLACE_NONE, too. They are negative, because exit codes
 * are not. */
enum {
    PLACE_NONE = -1,    /* neither the variable nor HOME is an absolute path */
    PLACE_TOO_LONG = -2 /* the path exceeds PLACE_PATH_BYTES */
};

/* Writes the path of the file `name` in the folder of `kind` to out_path. Returns 0, PLACE_NONE or
 * PLACE_TOO_LONG. */
int place_path(enum place_kind kind, const char *name, char out_path[PLACE_PATH_BYTES]);

/*
 * Creates the missing folders above the file `path`, with mode 0700. Changes `path` during the call
 * only. Ignores errors, because the caller fails to open the file then.
 */
void place_make_folders(char *path);

/*
 * Writes the path of the file hearsay/`name` in the folder of `kind` to out_path. With `make` set,
 * creates the missing folders above the file. Returns CLI_DONE; PLACE_NONE, and prints nothing, if
 * the environment names no such folder; or CLI_NEGATIVE, after it printed an error, if the path is
 * too long.
 */
int place_file(const struct cli *cli, enum place_kind kind, const char *name, bool make,
               char out_path[PLACE_PATH_BYTES]);

/*
 * Checks that the permissions of the open file `fd` are strict enough for a secret. The rule is
 * like that of ssh for keys: a regular file that belongs to this user must give no permission to
 * its group or to others. Any other file is accepted. Returns CLI_DONE, or CLI_USAGE after printing
 * an error. The error begins with `what`, the name of an option. If the file is not private, the
 * error names the chmod command to run.
 */
int place_check_private(const struct cli *cli, int fd, const char *path, const char *what);
