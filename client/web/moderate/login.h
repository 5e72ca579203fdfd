/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login: who is logged in at the moderators' page, and how many wrong passwords came. A login is a
 * random token, which stands in the addresses of its pages, and holds for one device only. There is
 * no cookie, because a browser sends a cookie to every port and every place of the same name. All
 * is in memory and ends with the program. `now_ms` is a monotonic clock, at least 0.
 */
#pragma once

#include "client/web/http.h"

enum {
    LOGIN_TEXT_BYTES = 65, /* 32 random bytes as hexadecimal digits, with NUL */
    LOGIN_MAX = 8,         /* at a time; a new one takes the place of the one not used longest */
    LOGIN_IDLE_MS = 30 * 60 * 1000,
    LOGIN_WRONG_OWN_MAX = 3, /* passwords a minute of one address, or of one IPv6 /64 */
    LOGIN_WRONG_MAX = 5,     /* of all together; an address without one always has a try */
    LOGIN_WRONG_MS = 60 * 1000,
    LOGIN_WRONG_KEPT = 256, /* that are remembered; to check a password takes longer than 1/4 s */
    LOGIN_KEY_BYTES = 32,
    LOGIN_PAGE_KEY_BYTES = 33, /* 16 bytes as hexadecimal digits, with NUL */
    LOGIN_TICKETS_MAX = 64,    /* that are remembered */
    LOGIN_TICKET_MS = 10 * 60 * 1000,
    LOGIN_SAID_BYTES = 256,
    LOGIN_TYPED_BYTES = 1024,
    LOGIN_PLACE_BYTES = 40
};

/* What the last act of a login has brought, for the page that the browser is sent to behind it. */
struct login_said {
    unsigned number; /* of the act, from 1 on; 0: nothing was done yet */
    const char *key; /* of the languages; NULL: nothing */
    char value[LOGIN_SAID_BYTES];
    uint64_t seconds;
    bool is_bad;
    char id[LOGIN_PLACE_BYTES]; /* of the message that was decided on; "": none */
    /* A notice that was refused: it is not lost, until one is put up. "": none. */
    char typed[LOGIN_TYPED_BYTES];
};

struct login_entry {
    char token[LOGIN_TEXT_BYTES]; /* "": the entry is free */
    int64_t began_ms;
    int64_t used_ms;
    struct http_address client; /* the only one that may use it */
    struct login_said said;
};

struct login_wrong {
    struct http_address client;
    int64_t came_ms;
};

/* A zeroed struct has no login. login_init sets the first two. */
struct login {
    int64_t whole_ms;             /* after which each login ends */
    uint8_t key[LOGIN_KEY_BYTES]; /* of tickets */
    struct login_entry entries[LOGIN_MAX];
    struct login_wrong wrong[LOGIN_WRONG_KEPT];     /* the last wrong passwords, in a ring */
    size_t wrong_count;                             /* since the start */
    char used[LOGIN_TICKETS_MAX][LOGIN_TEXT_BYTES]; /* tickets, in a ring */
    size_t used_count;                              /* since the start */
};

void login_init(struct login *login, int64_t whole_ms);

/* Draws a token (LOGIN_TEXT_BYTES), and begins its login. */
void login_draw(char *out_token);
void login_begin(struct login *login, const char *token, const struct http_address *client,
                 int64_t now_ms);

/*
 * Finds the login of a token (LOGIN_TEXT_BYTES - 1 digits, and a NUL), and notes that it is used
 * now. NULL: it has ended, or is another client's: the address must be that of login_begin, and so
 * must the device, where it was known. The entry may be another login's after login_begin.
 */
struct login_entry *login_use(struct login *login, const char *token,
                              const struct http_address *client, int64_t now_ms);

/* Writes the key of this process by which the page's script masks what it keeps in the tab. */
void login_page_key(const struct login *login, char out_key[LOGIN_PAGE_KEY_BYTES]);

/* Ends a login; and all of them. */
void login_end(struct login_entry *entry);
void login_end_all(struct login *login);

/*
 * After how many milliseconds a client may try a password; 0: now. Whoever had a wrong one in the
 * last minute waits while all together have LOGIN_WRONG_MAX. Whoever had none need not wait,
 * because otherwise two addresses could keep the moderators out. So passwords can be guessed once a
 * minute for each address that may open the page, and LOGIN_WRONG_MAX times more. All addresses of
 * an IPv6 /64 count as one, because one device can have them all.
 */
int64_t login_wait_ms(const struct login *login, const struct http_address *client, int64_t now_ms);
/* How many wrong passwords of a client, and of its /64, are less than LOGIN_WRONG_MS old. */
size_t login_wrong_of(const struct login *login, const struct http_address *client, int64_t now_ms);

void login_count_wrong(struct login *login, const struct http_address *client, int64_t now_ms);

/* Forgets the addresses from which wrong passwords came so long ago that they do not count any
 * more. Also erases all data of logins that have ended. */
void login_tidy(struct login *login, int64_t now_ms);

/*
 * Tickets: each form for a password has one, so that a browser that sends an old form again does
 * nothing. A ticket is right for LOGIN_TICKET_MS, until it is used.
 */
void login_ticket_draw(const struct login *login, int64_t now_ms, char *out_ticket);
bool login_ticket_is_right(const struct login *login, const char *ticket, int64_t now_ms);
bool login_ticket_is_used(const struct login *login, const char *ticket);
void login_ticket_use(struct login *login, const char *ticket); /* one that was right */
