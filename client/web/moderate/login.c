/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/moderate/login.h"

#include <string.h>

#include <sodium.h>

#include "client/web/http_peer.h"

enum { TIME_BYTES = 8, DRAWN_BYTES = 16, MAC_BYTES = 16 }; /* of a ticket; drawn: with the time */

void login_init(struct login *login, int64_t whole_ms)
{
    login->whole_ms = whole_ms;
    randombytes_buf(login->key, sizeof(login->key));
}

void login_draw(char *out_token)
{
    uint8_t random[LOGIN_TEXT_BYTES / 2];

    randombytes_buf(random, sizeof(random));
    (void)sodium_bin2hex(out_token, LOGIN_TEXT_BYTES, random, sizeof(random));
}

static bool has_ended(const struct login *login, const struct login_entry *entry, int64_t now_ms)
{
    return entry->token[0] == '\0' || now_ms - entry->used_ms >= LOGIN_IDLE_MS ||
           now_ms - entry->began_ms >= login->whole_ms;
}

void login_begin(struct login *login, const char *token, const struct http_address *client,
                 int64_t now_ms)
{
    struct login_entry *chosen = &login->entries[0];

    for (size_t i = 0; i < LOGIN_MAX && !has_ended(login, chosen, now_ms); i++) {
        struct login_entry *entry = &login->entries[i];

        chosen =
            has_ended(login, entry, now_ms) || entry->used_ms < chosen->used_ms ? entry : chosen;
    }
    *chosen = (struct login_entry){.began_ms = now_ms, .used_ms = now_ms, .client = *client};
    memcpy(chosen->token, token, LOGIN_TEXT_BYTES);
}

static struct login_entry *find_entry(struct login *login, const char *token)
{
    struct login_entry *found = NULL;

    for (size_t i = 0; strlen(token) == LOGIN_TEXT_BYTES - 1 && i < LOGIN_MAX; i++) {
        if (sodium_memcmp(login->entries[i].token, token, LOGIN_TEXT_BYTES) == 0) {
            found = &login->entries[i];
        }
    }
    return found;
}

/* Whether a client is the one that logged in. */
static bool is_same_client(const struct http_address *of_login, const struct http_address *client)
{
    return http_peer_equals(of_login, client) &&
           (of_login->device == 0 || of_login->device == client->device);
}

struct login_entry *login_use(struct login *login, const char *token,
                              const struct http_address *client, int64_t now_ms)
{
    struct login_entry *entry = find_entry(login, token);

    if (entry == NULL || has_ended(login, entry, now_ms) ||
        !is_same_client(&entry->client, client)) {
        return NULL;
    }
    entry->used_ms = now_ms;
    return entry;
}

void login_page_key(const struct login *login, char out_key[LOGIN_PAGE_KEY_BYTES])
{
    static const char purpose[] = "typed";
    uint8_t key[LOGIN_PAGE_KEY_BYTES / 2];

    /* Cannot fail: all lengths are within the bounds of BLAKE2b. */
    (void)crypto_generichash(key, sizeof(key), (const uint8_t *)purpose, sizeof(purpose),
                             login->key, sizeof(login->key));
    (void)sodium_bin2hex(out_key, LOGIN_PAGE_KEY_BYTES, key, sizeof(key));
}

void login_end(struct login_entry *entry)
{
    sodium_memzero(entry, sizeof(*entry));
}

void login_end_all(struct login *login)
{
    sodium_memzero(login->entries, sizeof(login->entries));
}

static bool is_same_owner(const struct http_address *a, const struct http_address *b)
{
    return http_peer_equals(a, b) || http_peer_shares_network(a, b);
}

int64_t login_wait_ms(const struct login *login, const struct http_address *client, int64_t now_ms)
{
    size_t own = 0;
    int64_t clean_ms = 0;    /* until the client has no wrong password any more */
    int64_t own_ms = 0;      /* until it has fewer than LOGIN_WRONG_OWN_MAX */
    int64_t together_ms = 0; /* until all together have fewer than LOGIN_WRONG_MAX */

    for (size_t i = 1; i <= LOGIN_WRONG_KEPT && i <= login->wrong_count; i++) { /* last one first */
        const struct login_wrong *wrong =
            &login->wrong[(login->wrong_count - i) % LOGIN_WRONG_KEPT];
        int64_t wait_ms = wrong->came_ms + LOGIN_WRONG_MS - now_ms;

        if (wait_ms <= 0) {
            break;
        }
        together_ms = i == LOGIN_WRONG_MAX ? wait_ms : together_ms;
        if (is_same_owner(&wrong->client, client)) {
            own++;
            clean_ms = own == 1 ? wait_ms : clean_ms;
            own_ms = own == LOGIN_WRONG_OWN_MAX ? wait_ms : own_ms;
        }
    }
    together_ms = together_ms < clean_ms ? together_ms : clean_ms;
    return own_ms > together_ms ? own_ms : together_ms;
}

size_t login_wrong_of(const struct login *login, const struct http_address *client, int64_t now_ms)
{
    size_t count = 0;

    for (size_t i = 0; i < LOGIN_WRONG_KEPT && i < login->wrong_count; i++) {
        count += now_ms - login->wrong[i].came_ms < LOGIN_WRONG_MS &&
                 is_same_owner(&login->wrong[i].client, client);
    }
    return count;
}

void login_count_wrong(struct login *login, const struct http_address *client, int64_t now_ms)
{
    login->wrong[login->wrong_count++ % LOGIN_WRONG_KEPT] =
        (struct login_wrong){.client = *client, .came_ms = now_ms};
}

void login_tidy(struct login *login, int64_t now_ms)
{
    for (size_t i = 0; i < LOGIN_WRONG_KEPT; i++) {
        if (now_ms - login->wrong[i].came_ms >= LOGIN_WRONG_MS) {
            sodium_memzero(&login->wrong[i].client, sizeof(login->wrong[i].client));
        }
    }
    for (size_t i = 0; i < LOGIN_MAX; i++) {
        if (has_ended(login, &login->entries[i], now_ms)) {
            login_end(&login->entries[i]);
        }
    }
}

/* --- tickets ---------------------------------------------------------------------------------- */

/* Writes the ticket of a time and of what was drawn for it. */
static void ticket_write(const struct login *login, const uint8_t *drawn, char *out_ticket)
{
    uint8_t ticket[DRAWN_BYTES + MAC_BYTES];

    memcpy(ticket, drawn, DRAWN_BYTES);
    /* Cannot fail: all lengths are within the bounds of BLAKE2b. */
    (void)crypto_generichash(ticket + DRAWN_BYTES, MAC_BYTES, ticket, DRAWN_BYTES, login->key,
                             sizeof(login->key));
    (void)sodium_bin2hex(out_ticket, LOGIN_TEXT_BYTES, ticket, sizeof(ticket));
}

void login_ticket_draw(const struct login *login, int64_t now_ms, char *out_ticket)
{
    uint8_t drawn[DRAWN_BYTES];

    randombytes_buf(drawn, sizeof(drawn));
    memcpy(drawn, &now_ms, TIME_BYTES);
    ticket_write(login, drawn, out_ticket);
}

bool login_ticket_is_used(const struct login *login, const char *ticket)
{
    for (size_t i = 0; i < LOGIN_TICKETS_MAX && i < login->used_count; i++) {
        if (strcmp(login->used[i], ticket) == 0) {
            return true;
        }
    }
    return false;
}

bool login_ticket_is_right(const struct login *login, const char *ticket, int64_t now_ms)
{
    uint8_t drawn[DRAWN_BYTES];
    char right[LOGIN_TEXT_BYTES];
    int64_t drawn_ms;

    if (strlen(ticket) != LOGIN_TEXT_BYTES - 1 ||
        sodium_hex2bin(drawn, sizeof(drawn), ticket, (size_t)2 * DRAWN_BYTES, NULL, NULL, NULL) !=
            0) {
        return false;
    }
    memcpy(&drawn_ms, drawn, TIME_BYTES);
    ticket_write(login, drawn, right);
    return sodium_memcmp(right, ticket, LOGIN_TEXT_BYTES) == 0 &&
           now_ms - drawn_ms < LOGIN_TICKET_MS && !login_ticket_is_used(login, ticket);
}

void login_ticket_use(struct login *login, const char *ticket)
{
    memcpy(login->used[login->used_count++ % LOGIN_TICKETS_MAX], ticket, LOGIN_TEXT_BYTES);
}
