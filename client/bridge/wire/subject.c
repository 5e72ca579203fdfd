/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/wire/subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "proto/limits.h"

unsigned subject_shard(const char *host)
{
    return (unsigned)(hash_seeded(host, strlen(host), 0) % SUBJECT_SHARDS);
}

static void hex_of(const uint8_t *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * count] = '\0';
}

static void subject_of(char tree, const char *host, const char *last, char *out)
{
    (void)snprintf(out, SUBJECT_BYTES, "%c.%u.%s.%s", tree, subject_shard(host), host, last);
}

static void subject_of_id(char tree, const char *host, const uint8_t *id, char *out)
{
    char hex[2 * LIMIT_ID_BYTES + 1];

    hex_of(id, LIMIT_ID_BYTES, hex);
    subject_of(tree, host, hex, out);
}

void subject_state(const char *host, const uint8_t *id, char *out)
{
    subject_of_id('h', host, id, out);
}

void subject_word(const char *host, const uint8_t *id, char *out)
{
    subject_of_id('o', host, id, out);
}

static void subject_of_rule(char tree, const char *host, uint32_t kind, const uint8_t *value,
                            size_t value_bytes, char *out)
{
    (void)snprintf(out, SUBJECT_BYTES, "%c.rule.%s.%" PRIu32 "-%016" PRIx64, tree, host, kind,
                   hash_seeded(value, value_bytes, kind));
}

void subject_rule(const char *host, uint32_t kind, const uint8_t *value, size_t value_bytes,
                  char *out)
{
    subject_of_rule('h', host, kind, value, value_bytes, out);
}

void subject_rule_word(const char *host, uint32_t kind, const uint8_t *value, size_t value_bytes,
                       char *out)
{
    subject_of_rule('o', host, kind, value, value_bytes, out);
}

void subject_head(const char *host, char *out)
{
    subject_of('h', host, "-", out);
}

bool subject_is_head(const char *subject)
{
    const char *dot = strrchr(subject, '.');

    return dot != NULL && strcmp(dot, ".-") == 0;
}

void subject_words(const char *host, char *out)
{
    subject_of('o', host, ">", out);
}

void subject_rule_words(const char *host, char *out)
{
    (void)snprintf(out, SUBJECT_BYTES, "o.rule.%s.>", host);
}

void subject_compare(const char *host, const char *reader, char *out)
{
    (void)snprintf(out, SUBJECT_BYTES, "o.compare.%s.%s", host, reader);
}

void subject_pages(const char *host, char *out)
{
    (void)snprintf(out, SUBJECT_BYTES, "r.%s", host);
}

void subject_summary(const char *hood, const char *host, char *out)
{
    (void)snprintf(out, SUBJECT_BYTES, "s.%s.%s", hood, host);
}

void subject_query(const char *hood, const char *host, char *out)
{
    (void)snprintf(out, SUBJECT_BYTES, "q.%s.%s", hood, host);
}

void subject_asked(const char *hood, const char *host, char *out)
{
    (void)snprintf(out, SUBJECT_BYTES, "a.%s.%s.*", hood, host);
}

const char *subject_asker(const char *subject)
{
    const char *dot = strrchr(subject, '.');

    return dot != NULL ? dot + 1 : subject + strlen(subject);
}

void subject_stream(const char *host, char *out)
{
    (void)snprintf(out, SUBJECT_BYTES, "h_%u", subject_shard(host));
}

void subject_get_head(const char *host, char *out)
{
    char head[SUBJECT_BYTES];

    subject_head(host, head);
    (void)snprintf(out, SUBJECT_BYTES, "$JS.API.DIRECT.GET.h_%u.%.200s", subject_shard(host), head);
}
