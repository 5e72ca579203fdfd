/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are wrong, or too long: each ends in a clear status or a close. */
#include "tests/unit/web_http_fixture.h"

/* Bytes of a request that the server answers, or closes, at once. */
struct hostile {
    const char *name;
    const char *bytes;
    size_t count;
    const char *status; /* of the answer; "": closed without one */
};

#define HOSTILE(name, bytes, status)           \
    {                                          \
        name, bytes, sizeof(bytes) - 1, status \
    }
#define END "Host: h\r\nConnection: close\r\n\r\n"

static const struct hostile hostiles[] = {
    HOSTILE("good", "GET / HTTP/1.1\r\n" END, "200"),
    HOSTILE("empty query", "GET /? HTTP/1.1\r\n" END, "200"),
    HOSTILE("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\n" END, "400"),
    HOSTILE("two Hosts in other letters", "GET / HTTP/1.1\r\nhOST: h\r\n" END, "400"),
    HOSTILE("no Host", "GET / HTTP/1.1\r\n\r\n", "400"),
    HOSTILE("no Host, 1.0", "GET / HTTP/1.0\r\n\r\n", "400"),
    HOSTILE("1.0", "GET / HTTP/1.0\r\nHost: h\r\n\r\n", "200"),
    HOSTILE("two lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" END "ab",
            "400"),
    HOSTILE("the same length twice",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n" END "a", "400"),
    HOSTILE("length and chunks",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n" END
            "0\r\n\r\n",
            "501|400"),
    HOSTILE("chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\n", "501"),
    HOSTILE("chunks of a GET", "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END "0\r\n\r\n",
            "501"),
    HOSTILE("unknown encoding", "POST / HTTP/1.1\r\nTransfer-Encoding: x\r\n" END, "501|400"),
    HOSTILE("space before colon", "POST / HTTP/1.1\r\nContent-Length : 1\r\n" END "a", "400"),
    HOSTILE("bare LF", "GET / HTTP/1.1\nHost: h\nConnection: close\n\n", "400"),
    HOSTILE("one bare LF", "GET / HTTP/1.1\r\nX: y\n" END, "400"),
    HOSTILE("bare LF after the first line", "GET / HTTP/1.1\n" END, "400"),
    HOSTILE("bare CR", "GET / HTTP/1.1\r\nX: y\rZ: z\r\n" END, "400"),
    HOSTILE("folded", "GET / HTTP/1.1\r\nX: y\r\n z\r\n" END, "400"),
    HOSTILE("no space after colon", "GET / HTTP/1.1\r\nX:y\r\n" END, "400|200"),
    HOSTILE("empty value", "GET / HTTP/1.1\r\nX:\r\nY: \r\n" END, "200"),
    HOSTILE("NUL in a value", "GET / HTTP/1.1\r\nX: y\0z\r\n" END, "400"),
    HOSTILE("NUL in Host", "GET / HTTP/1.1\r\nHost: h\0z\r\nConnection: close\r\n\r\n", "400"),
    HOSTILE("NUL in a name", "GET / HTTP/1.1\r\nX\0Y: y\r\n" END, "400"),
    HOSTILE("NUL in the target", "GET /a\0b HTTP/1.1\r\n" END, "400|"),
    HOSTILE("NUL in the version", "GET / HTTP/1.1\0\r\n" END, "400|"),
    HOSTILE("no colon", "GET / HTTP/1.1\r\nX\r\n" END, "400"),
    HOSTILE("no name", "GET / HTTP/1.1\r\n: x\r\n" END, "400"),
    HOSTILE("absolute target", "GET http://h/ HTTP/1.1\r\n" END, "400"),
    HOSTILE("star", "GET * HTTP/1.1\r\n" END, "400"),
    HOSTILE("no target", "GET HTTP/1.1\r\n" END, "400"),
    HOSTILE("space in the target", "GET /a b HTTP/1.1\r\n" END, "|400"),
    HOSTILE("tab in the target", "GET /a\tb HTTP/1.1\r\n" END, "400"),
    HOSTILE("two spaces", "GET  / HTTP/1.1\r\n" END, "400"),
    HOSTILE("byte over 127 in the target", "GET /\xc3\xa4 HTTP/1.1\r\n" END, "400"),
    HOSTILE("DEL in the target", "GET /\x7f HTTP/1.1\r\n" END, "400"),
    HOSTILE("negative length", "POST / HTTP/1.1\r\nContent-Length: -1\r\n" END, "400"),
    HOSTILE("plus", "POST / HTTP/1.1\r\nContent-Length: +1\r\n" END "a", "400"),
    HOSTILE("hexadecimal", "POST / HTTP/1.1\r\nContent-Length: 0x1\r\n" END "a", "400"),
    HOSTILE("list of lengths", "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n" END "a", "400"),
    HOSTILE("empty length", "POST / HTTP/1.1\r\nContent-Length: \r\n" END, "400"),
    HOSTILE("one byte too many", "POST / HTTP/1.1\r\nContent-Length: 16385\r\n" END, "413"),
    HOSTILE("2^32", "POST / HTTP/1.1\r\nContent-Length: 4294967296\r\n" END, "413"),
    HOSTILE("2^64 + 1", "POST / HTTP/1.1\r\nContent-Length: 18446744073709551617\r\n" END, "413"),
    HOSTILE("GET with a body", "GET / HTTP/1.1\r\nContent-Length: 1\r\n" END "a", "400"),
    HOSTILE("HTTP/0.9", "GET /\r\n\r\n", "400"),
    HOSTILE("HTTP/1.2", "GET / HTTP/1.2\r\n" END, "505"),
    HOSTILE("HTTP/1.10", "GET / HTTP/1.10\r\n" END, "400"),
    HOSTILE("HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
    HOSTILE("http/1.1", "GET / http/1.1\r\n" END, "400"),
    HOSTILE("PUT", "PUT / HTTP/1.1\r\n" END, "405"),
    HOSTILE("OPTIONS", "OPTIONS * HTTP/1.1\r\n" END, "405"),
    HOSTILE("CONNECT", "CONNECT h:80 HTTP/1.1\r\n" END, "405"),
    HOSTILE("TRACE", "TRACE / HTTP/1.1\r\n" END, "405"),
    HOSTILE("get", "get / HTTP/1.1\r\n" END, "405"),
    HOSTILE("two Origins", "POST / HTTP/1.1\r\nOrigin: a\r\nOrigin: b\r\n" END, "400"),
};

/* Whether an answer has one of the statuses of a set, such as "501|400"; "" stands for no answer.
 * MHD 0.9 and 1.0 differ in some. */
static bool has_status(const char *text, const char *set)
{
    for (;;) {
        size_t length = strcspn(set, "|");
        char begin[32];

        (void)snprintf(begin, sizeof(begin), "HTTP/1.1 %.*s ", (int)length, set);
        if (length == 0 ? text[0] == '\0' : strncmp(text, begin, strlen(begin)) == 0) {
            return true;
        }
        if (set[length] == '\0') {
            return false;
        }
        set += length + 1;
    }
}

WEB_HTTP_TEST(test_bytes)
{
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof(hostiles) / sizeof(hostiles[0]); i++) {
        const struct hostile *row = &hostiles[i];
        const char *text = web_http_exchange(web, row->bytes, row->count);
        if (!has_status(text, row->status)) {
            print_message("%s: not \"%s\" but \"%.60s\"\n", row->name, row->status, text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    web_http_await_connections(web, 0);
}

/* Sends a long request, and returns the server's answer to it. */
static const char *exchange_long(struct web_http *web, const char *before, const char *part,
                                 size_t count, const char *after, bool is_silent)
{
    static char request[256 * 1024];
    size_t used = strlen(before);
    assert_true(used + count * strlen(part) + strlen(after) < sizeof(request));
    memcpy(request, before, used);
    for (size_t i = 0; i < count; i++) {
        memcpy(request + used, part, strlen(part));
        used += strlen(part);
    }
    memcpy(request + used, after, strlen(after));
    if (!is_silent) {
        return web_http_exchange(web, request, used + strlen(after));
    }
    int client = web_http_connect(web, 0);
    (void)web_http_send(web, client, request, used + strlen(after));
    web_http_await_connections(web, 1);
    web_http_settle(web);
    web_http_pass((HTTP_REQUEST_SECONDS + 1) * 1000);
    const char *text = web_http_read(web, client, NULL);
    web_http_close(web, client);
    return text;
}

/* Heads and targets that are too long. */
WEB_HTTP_TEST(test_long)
{
    static const struct {
        const char *before;
        const char *part;
        size_t count;
        const char *after;
        const char *status;
    } rows[] = {
        {"GET /", "x", HTTP_TARGET_BYTES - 1, " HTTP/1.1\r\n" END, "200"},
        {"GET /", "x", HTTP_TARGET_BYTES, " HTTP/1.1\r\n" END, "414"},
        {"GET /", "x", 100 * 1024, " HTTP/1.1\r\n" END, "414"},
        /* MHD must not keep the parts of a query: its memory would end, and it would not answer */
        {"GET /?", "&", 100, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "&", HTTP_TARGET_BYTES - 2, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "a&", HTTP_TARGET_BYTES / 2 - 1, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "%00=&", 200, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "a=b&", 30, " HTTP/1.1\r\n" END, "200"},
        {"GET /?", "&", HTTP_TARGET_BYTES, " HTTP/1.1\r\n" END, "414"},
        {"GET /?", "&", 100 * 1024, " HTTP/1.1\r\n" END, "414"},
        {"GET / HTTP/1.1\r\nX: ", "x", HTTP_HEAD_BYTES - 61, "\r\n" END, "200"},
        {"GET / HTTP/1.1\r\nX: ", "x", HTTP_HEAD_BYTES - 20, "\r\n" END, "431"},
        {"GET / HTTP/1.1\r\nX: ", "x", 100 * 1024, "\r\n" END, "431"},
        {"GET / HTTP/1.1\r\n", "X: y\r\n", 200, END, "431"},
        {"GET / HTTP/1.1\r\n", "X: y\r\n", 20000, END, "431"},
        {"", "x", 100 * 1024, "", "|414"},
        {"", "\r\n", 50 * 1024, "GET / HTTP/1.1\r\n" END, "|414|200"},
        {"POST / HTTP/1.1\r\nContent-Length: 100000\r\nHost: h\r\n\r\n", "x", 100000, "", "413"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        /* MHD 0.9 says nothing where its memory ends in empty lines or in a line without a blank */
        const char *text = exchange_long(web, rows[i].before, rows[i].part, rows[i].count,
                                         rows[i].after, rows[i].status[0] == '|');
        if (!has_status(text, rows[i].status)) {
            print_message("row %zu: not \"%s\" but \"%.200s\"\n", i, rows[i].status, text);
            fail();
        }
    }
    web_http_await_connections(web, 0);
}
