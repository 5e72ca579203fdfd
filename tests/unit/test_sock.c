/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as people write them, and connecting to them. */
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/net/address.h"
#include "client/net/sock.h"
#include "client/net/wait.h"
#include "tests/lib/check.h"

/* HOST[:PORT], [IPV6][:PORT], a bare IPv6 address, a path; anything else is an error that says so.
 */
TEST(test_addresses)
{
    static const struct {
        const char *text;
        const char *host; /* NULL: refused */
        const char *port;
    } rows[] = {
        {"localhost", "localhost", "7117"},
        {"localhost:80", "localhost", "80"},
        {"192.0.2.1:65535", "192.0.2.1", "65535"},
        {"[::1]", "::1", "7117"},
        {"[fe80::1%eth0]:1", "fe80::1%eth0", "1"},
        {"::1", "::1", "7117"},
        {"2001:db8::5:80", "2001:db8::5:80", "7117"},
        {"", NULL, NULL},
        {":80", NULL, NULL},
        {"host:", NULL, NULL},
        {"host:0", NULL, NULL},
        {"host:65536", NULL, NULL},
        {"host:99999999999", NULL, NULL},
        {"host:8o", NULL, NULL},
        {"host:+80", NULL, NULL},
        {"[::1", NULL, NULL},
        {"[::1]80", NULL, NULL},
        {"[]:80", NULL, NULL},
        {"[::1]:", NULL, NULL},
        {"unix:/run/s", NULL, NULL},
        {"http://localhost:80", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct address address;
        struct hearsay_error error;
        int status = address_parse(rows[i].text, &address, &error);
        if (rows[i].host == NULL) {
            assert_int_equal(status, HEARSAY_ERR_ARGUMENT);
            assert_string_not_equal(error.sentence, "");
            continue;
        }
        assert_int_equal(status, 0);
        assert_int_equal(address.kind, ADDRESS_TCP);
        assert_string_equal(address.host, rows[i].host);
        assert_string_equal(address.port, rows[i].port);
    }
}

TEST(test_paths)
{
    struct address address;
    assert_int_equal(address_parse("./s", &address, NULL), 0);
    assert_int_equal(address.kind, ADDRESS_UNIX);
    assert_string_equal(address.path, "./s");
    char longest[sizeof(address.path) + 1];
    memset(longest, '/', sizeof(longest));
    longest[sizeof(address.path)] = '\0';
    assert_int_equal(address_parse(longest, &address, NULL), HEARSAY_ERR_ARGUMENT);
    longest[sizeof(address.path) - 1] = '\0';
    assert_int_equal(address_parse(longest, &address, NULL), 0);
    char name[300];
    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(address_parse(name, &address, NULL), HEARSAY_ERR_ARGUMENT);
}

/* A loopback socket that listens, and its port. */
static int listen_on_loopback(char out_port[6])
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    struct sockaddr_in name;
    memset(&name, 0, sizeof(name));
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(name);
    assert_int_equal(bind(fd, (const struct sockaddr *)&name, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
    assert_int_equal(listen(fd, 4), 0);
    (void)snprintf(out_port, 6, "%u", (unsigned)ntohs(name.sin_port));
    return fd;
}

/* Bytes go both ways; nothing to read is told apart from the end. */
TEST(test_tcp)
{
    struct address address = {.kind = ADDRESS_TCP, .host = "127.0.0.1"};
    int listener = listen_on_loopback(address.port);
    int fd = -1;
    assert_int_equal(sock_connect(&address, wait_deadline_ms(60000), &fd, NULL), 0);
    int peer = accept(listener, NULL, NULL);
    assert_true(peer >= 0);
    char buffer[8];
    size_t count = 0;
    int reason = -1;
    assert_int_equal(sock_read(fd, buffer, sizeof(buffer), &count, &reason), SOCK_AGAIN);
    assert_int_equal(wait_for(fd, POLLIN, wait_deadline_ms(0), NULL), WAIT_TIMEOUT);
    assert_int_equal(wait_for(fd, POLLOUT, wait_deadline_ms(60000), NULL), 0);
    assert_int_equal(send(peer, "abc", 3, 0), 3);
    assert_int_equal(wait_for(fd, POLLIN, wait_deadline_ms(60000), NULL), 0);
    assert_int_equal(sock_read(fd, buffer, sizeof(buffer), &count, &reason), 0);
    assert_int_equal(count, 3);
    assert_int_equal(sock_write(fd, "x", 1, &count, &reason), 0);
    assert_int_equal(recv(peer, buffer, 1, 0), 1);
    assert_int_equal(close(peer), 0);
    assert_int_equal(wait_for(fd, POLLIN, wait_deadline_ms(60000), NULL), 0);
    assert_int_equal(sock_read(fd, buffer, sizeof(buffer), &count, &reason), SOCK_CLOSED);
    assert_int_equal(reason, 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(listener), 0);
}

/* Nobody there: an error that names the address. */
TEST(test_refused)
{
    struct address address = {.kind = ADDRESS_TCP, .host = "127.0.0.1"};
    struct hearsay_error error;
    int fd = -1;
    int listener = listen_on_loopback(address.port);
    assert_int_equal(close(listener), 0);
    assert_int_equal(sock_connect(&address, wait_deadline_ms(60000), &fd, &error),
                     HEARSAY_ERR_CONNECT);
    assert_non_null(strstr(error.sentence, address.port));
    struct address path = {.kind = ADDRESS_UNIX, .path = "/nonexistent/socket"};
    assert_int_equal(sock_connect(&path, wait_deadline_ms(60000), &fd, &error),
                     HEARSAY_ERR_CONNECT);
    assert_non_null(strstr(error.sentence, "/nonexistent/socket"));
}

/* A name goes through the thread, and comes back as a list. */
TEST(test_names)
{
    struct addrinfo *list = NULL;
    struct hearsay_error error;
    assert_int_equal(resolve_name("::1", "7117", wait_deadline_ms(60000), &list, &error), 0);
    assert_int_equal(list->ai_family, AF_INET6);
    freeaddrinfo(list);
    int status = resolve_name("localhost", "7117", wait_deadline_ms(60000), &list, &error);
    if (status == 0) { /* a machine without its name of itself still passes */
        assert_non_null(list);
        freeaddrinfo(list);
    } else {
        assert_int_equal(status, HEARSAY_ERR_CONNECT);
    }
}
