/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/setup_inner.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "client/bridge/wire/subject.h"

enum { LINE_ROOM = 8192, ROWS_STEP = 64 };

/* A host, and who carries it; or a bridge at the hub, which has no host. */
struct row {
    char name[BRIDGE_NAME_BYTES]; /* of the certificate; rows of one follow one another */
    char host[BRIDGE_NAME_BYTES]; /* "": a bridge at the hub */
    char hood[BRIDGE_NAME_BYTES]; /* "": belongs to none */
    unsigned line;
};

struct rows {
    struct row *all;
    size_t count;
    const char *path; /* for sentences */
    char *reason;
};

/* --- reading ---------------------------------------------------------------------------------- */

static int refuse_line(const struct rows *rows, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse_line(const struct rows *rows, unsigned line, const char *format, ...)
{
    int length = snprintf(rows->reason, RIGHTS_REASON_BYTES, "%.300s:%u: ", rows->path, line);
    va_list list;

    va_start(list, format);
    (void)vsnprintf(rows->reason + length, RIGHTS_REASON_BYTES - (size_t)length, format, list);
    va_end(list);
    return -1;
}

static int refuse_form(const struct rows *rows, unsigned line)
{
    return refuse_line(rows, line,
                       "a line is `host NAME`, `host NAME HOOD` or `hub NAME`; names have letters "
                       "a-z, digits and inner hyphens");
}

/* A host has one owner, and a name is the name of one certificate. */
static int check_row(const struct rows *rows, const struct row *row)
{
    if (strcmp(row->host, BRIDGE_NO_HOST) == 0) {
        return refuse_line(
            rows, row->line,
            "no host may be called %s, as s.HOOD.%s asks all hosts of a neighbourhood",
            BRIDGE_NO_HOST, BRIDGE_NO_HOST);
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *old = &rows->all[i];

        if (row->host[0] != '\0' && strcmp(old->host, row->host) == 0) {
            return refuse_line(rows, row->line, "host %s stands in line %u already", row->host,
                               old->line);
        }
        if (old->line != row->line && strcmp(old->name, row->name) == 0) {
            return refuse_line(rows, row->line, "the certificate %s stands in line %u already",
                               row->name, old->line);
        }
    }
    return 0;
}

static int add_row(struct rows *rows, const struct row *row)
{
    if (check_row(rows, row) != 0) {
        return -1;
    }
    if (rows->count % ROWS_STEP == 0) {
        struct row *all = realloc(rows->all, (rows->count + ROWS_STEP) * sizeof(*all));

        if (all == NULL) {
            return refuse_line(rows, row->line, "no memory");
        }
        rows->all = all;
    }
    rows->all[rows->count++] = *row;
    return 0;
}

/* Copies a name; false: it is none. */
static bool copy_name(char *out, const char *name)
{
    if (name == NULL || !settings_is_name(name, strlen(name))) {
        return false;
    }
    (void)snprintf(out, BRIDGE_NAME_BYTES, "%s", name);
    return true;
}

static int read_hosts(struct rows *rows, struct row *row, char *names)
{
    char *rest = NULL;
    int rc = 0;

    for (char *name = strtok_r(names, ",", &rest); name != NULL && rc == 0;
         name = strtok_r(NULL, ",", &rest)) {
        if (!copy_name(row->host, name)) {
            return refuse_form(rows, row->line);
        }
        if (row->name[0] == '\0') {
            (void)copy_name(row->name, name);
        }
        rc = add_row(rows, row);
    }
    return rc == 0 && row->name[0] == '\0' ? refuse_form(rows, row->line) : rc;
}

static int read_line(struct rows *rows, char *line, unsigned number)
{
    struct row row = {.line = number};
    char *rest = NULL;

    line[strcspn(line, "#\r\n")] = '\0';
    const char *kind = strtok_r(line, " \t", &rest);
    char *names = strtok_r(NULL, " \t", &rest);
    const char *hood = strtok_r(NULL, " \t", &rest);

    if (kind == NULL) {
        return 0;
    }
    if (names == NULL || strtok_r(NULL, " \t", &rest) != NULL ||
        (hood != NULL && !copy_name(row.hood, hood))) {
        return refuse_form(rows, number);
    }
    if (strcmp(kind, "host") == 0) {
        return read_hosts(rows, &row, names);
    }
    if (strcmp(kind, "hub") != 0 || hood != NULL || !copy_name(row.name, names)) {
        return refuse_form(rows, number);
    }
    return add_row(rows, &row);
}

static int read_rows(struct rows *rows, FILE *in)
{
    char line[LINE_ROOM];
    unsigned number = 0;

    while (fgets(line, sizeof(line), in) != NULL) {
        number++;
        if (strchr(line, '\n') == NULL && !feof(in)) {
            return refuse_line(rows, number, "a line has at most %d characters", LINE_ROOM - 2);
        }
        if (read_line(rows, line, number) != 0) {
            return -1;
        }
    }
    return ferror(in) ? refuse_line(rows, number, "%s", strerror(errno)) : 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* All hosts of one access point. */
struct point {
    const struct row *rows;
    size_t count;
};

/* What an access point does with subjects of the hub. */
enum way { WAY_SAY, WAY_HEAR, WAY_COUNT };

static void write_subject(FILE *out, enum way way, bool imports, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void write_subject(FILE *out, enum way way, bool imports, const char *format, ...)
{
    char subject[SUBJECT_BYTES];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(subject, sizeof(subject), format, list);
    va_end(list);
    if (imports) {
        (void)fprintf(out, "            { %s: { account: HUB, subject: \"%s\" } }\n",
                      way == WAY_SAY ? "service" : "stream", subject);
    } else {
        (void)fprintf(out, "                \"%s\"\n", subject);
    }
}

/* Summaries do not pass the hub: see write_neighbours. An access point hears what others send to q.
 * as a., so that its own questions do not come back to it, and with the name of who sent it: see
 * write_queries. */
static void write_hood(FILE *out, enum way way, bool imports, const struct row *row)
{
    if (!imports) {
        write_subject(out, way, imports, way == WAY_SAY ? "s.%s.%s" : "a.%s.%s.*", row->hood,
                      row->host);
    }
}

static void write_host(FILE *out, enum way way, bool imports, const struct row *row)
{
    unsigned shard = subject_shard(row->host);
    char get[SUBJECT_BYTES];

    subject_get_head(row->host, get);
    if (way == WAY_SAY) {
        write_subject(out, way, imports, "h.%u.%s.>", shard, row->host);
        write_subject(out, way, imports, "h.rule.%s.>", row->host);
        write_subject(out, way, imports, "r.%s", row->host);
        write_subject(out, way, imports, "%s", get);
    } else {
        write_subject(out, way, imports, "o.%u.%s.>", shard, row->host);
        write_subject(out, way, imports, "o.rule.%s.>", row->host);
        write_subject(out, way, imports, "o.compare.%s.*", row->host);
    }
    if (row->hood[0] != '\0') {
        write_hood(out, way, imports, row);
    }
}

/*
 * Queries to the hosts of the hood. The import adds the name of the access point to their subject,
 * and an access point cannot publish in HUB otherwise, so nobody can ask under another name. The
 * header Nats-Request-Info, in which the servers name the sender, too, does not prove it: 2.9.10
 * leaves further headers of this name in the message, and takes one of them for its own at the next
 * account.
 */
static void write_queries(FILE *out, bool imports, const struct row *row)
{
    if (imports) {
        (void)fprintf(out,
                      "            { service: { account: HUB, subject: \"q.%s.*.%s\" }, "
                      "to: \"q.%s.*\" }\n",
                      row->hood, row->name, row->hood);
    } else {
        write_subject(out, WAY_SAY, imports, "q.%s.*", row->hood);
    }
}

static void write_point_subjects(FILE *out, enum way way, bool imports, const struct point *point)
{
    const char *hood = point->rows[0].hood;

    for (size_t i = 0; i < point->count; i++) {
        write_host(out, way, imports, &point->rows[i]);
    }
    if (hood[0] != '\0' && way == WAY_SAY) {
        write_queries(out, imports, &point->rows[0]);
    }
    if (hood[0] != '\0' && way == WAY_HEAR && !imports) {
        write_subject(out, way, imports, "s.%s.>", hood);
    }
}

static void write_user(FILE *out, const struct point *point)
{
    const char *name = point->rows[0].name;

    (void)fprintf(out, "        users: [ { user: \"CN=%s\", permissions: {\n", name);
    for (enum way way = 0; way < WAY_COUNT; way++) {
        (void)fprintf(out, "            %s: { allow: [\n",
                      way == WAY_SAY ? "publish" : "subscribe");
        write_point_subjects(out, way, false, point);
        if (way == WAY_HEAR) {
            (void)fprintf(out, "                \"_INBOX_%s.>\"\n", name);
        }
        (void)fprintf(out, "            ] }\n");
    }
    (void)fprintf(out, "            allow_responses: { max: 1, expires: \"2s\" }\n        } } ]\n");
}

/* What the neighbours hear of an access point: the summaries of its own hosts. */
static void write_exports(FILE *out, const struct point *point)
{
    for (size_t i = 0; i < point->count && point->rows[i].hood[0] != '\0'; i++) {
        const struct row *row = &point->rows[i];

        (void)fprintf(out,
                      "            { service: \"a.%s.%s.*\", accounts: [ASK], threshold: \"5s\" }\n"
                      "            { stream: \"s.%s.%s\" }\n",
                      row->hood, row->host, row->hood, row->host);
    }
}

/*
 * Each access point of a hood hears the others directly: the servers do not tell a stream what came
 * in by a service. The subjects have no wildcard: an answer could come in at an account under the
 * subject that its access point names, also that of another host.
 */
static void write_neighbours(FILE *out, const struct rows *rows, const struct point *point)
{
    const struct row *own = &point->rows[0];

    for (size_t i = 0; i < rows->count && own->hood[0] != '\0'; i++) {
        const struct row *row = &rows->all[i];

        if (row->line != own->line && strcmp(row->hood, own->hood) == 0) {
            (void)fprintf(out,
                          "            { stream: { account: \"%s\", subject: \"s.%s.%s\" } }\n",
                          row->name, row->hood, row->host);
        }
    }
}

static void write_point(FILE *out, const struct rows *rows, const struct point *point)
{
    (void)fprintf(out, "    \"%s\": {\n        limits: { max_connections: %d }\n",
                  point->rows[0].name, RIGHTS_CONNECTIONS);
    write_user(out, point);
    (void)fprintf(out, "        exports: [\n");
    write_exports(out, point);
    (void)fprintf(out, "        ]\n        imports: [\n");
    for (enum way way = 0; way < WAY_COUNT; way++) {
        write_point_subjects(out, way, true, point);
    }
    write_neighbours(out, rows, point);
    (void)fprintf(out, "        ]\n    }\n");
}

/* What the servers remember of a question that nobody answers goes after `threshold`. */
static const char hub_ways[] =
    "        exports: [\n"
    "            { service: \"h.>\", threshold: \"15s\" }, { service: \"r.*\", threshold: \"15s\" "
    "}\n"
    "            { service: \"$JS.API.DIRECT.GET.>\", threshold: \"15s\" }\n"
    "            { service: \"q.*.*.*\", threshold: \"5s\" }\n"
    "            { stream: \"o.>\" }\n"
    "        ]\n"
    "        imports: [ { service: { account: ASK, subject: \"b.*.*.*\" }, to: \"q.*.*.*\" } ]\n";

/* Bridges at the hub may do all but speak for an access point. */
static void write_hub(FILE *out, const struct rows *rows)
{
    (void)fprintf(out, "    HUB: {\n        jetstream: enabled\n        users: [\n");
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->all[i].host[0] == '\0') {
            (void)fprintf(out,
                          "            { user: \"CN=%s,OU=hub\", permissions: {\n"
                          "                publish: { deny: [\"h.>\"] }\n            } }\n",
                          rows->all[i].name);
        }
    }
    (void)fprintf(out, "        ]\n%s    }\n", hub_ways);
}

/* Queries go from HUB to ASK and from there to who is asked. The servers take no chain of imports
 * that begins and ends with the same account and has the same subjects on its way. */
static void write_ask(FILE *out, const struct rows *rows)
{
    (void)fprintf(out, "    ASK: {\n        exports: [ { service: \"b.*.*.*\", accounts: [HUB], "
                       "threshold: \"5s\" } ]\n        imports: [\n");
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->all[i];

        if (row->hood[0] != '\0') {
            (void)fprintf(out,
                          "            { service: { account: \"%s\", subject: \"a.%s.%s.*\" }, "
                          "to: \"b.%s.%s.*\" }\n",
                          row->name, row->hood, row->host, row->hood, row->host);
        }
    }
    (void)fprintf(out, "        ]\n    }\n");
}

static void write_accounts(FILE *out, const struct rows *rows)
{
    (void)fprintf(out, "# rights.conf: who may connect to the hub. Written by hearsay-bridge "
                       "setup-hub.\naccounts {\n");
    write_hub(out, rows);
    write_ask(out, rows);
    for (size_t i = 0; i < rows->count;) {
        struct point point = {.rows = &rows->all[i], .count = 1};

        while (i + point.count < rows->count &&
               rows->all[i + point.count].line == rows->all[i].line) {
            point.count++;
        }
        if (point.rows[0].host[0] != '\0') {
            write_point(out, rows, &point);
        }
        i += point.count;
    }
    (void)fprintf(out, "}\n");
}

int rights_write(FILE *out, FILE *in, const char *path, char *out_reason)
{
    struct rows rows = {.path = path, .reason = out_reason};
    int rc = read_rows(&rows, in);

    if (rc == 0) {
        write_accounts(out, &rows);
    }
    free(rows.all);
    return rc;
}
