/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/inner.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/hash.h"
#include "core/base/least.h"
#include "core/filter/bloom.h"

int circle_new(const char *hood, const char *profile, struct circle **out_circle)
{
    struct circle *circle = calloc(1, sizeof(*circle));

    if (circle == NULL) {
        return -ERR_NOMEM;
    }
    msg_text_copy(circle->hood_name, sizeof(circle->hood_name), hood, strlen(hood));
    msg_text_copy(circle->profile_text, sizeof(circle->profile_text), profile, strlen(profile));
    if (profile_parse(profile, strlen(profile), &circle->profile, NULL) != 0) {
        free(circle);
        return -ERR_SYSTEM;
    }
    struct hood_options options = {
        .alloc = alloc_system(), .profile = &circle->profile, .kernels = bits_select(BITS_BEST)};

    int rc = hood_new(&options, CIRCLE_PEERS_MAX, &circle->hood);
    if (rc != 0) {
        circle_free(circle);
        return rc;
    }
    *out_circle = circle;
    return 0;
}

void circle_free(struct circle *circle)
{
    if (circle != NULL) {
        hood_free(circle->hood);
        free(circle);
    }
}

/* --- peers ------------------------------------------------------------------------------------ */

static uint32_t find_place(const struct circle *circle, const char *host)
{
    for (uint32_t i = 0; i < CIRCLE_PEERS_MAX; i++) {
        if (strcmp(circle->peers[i].host, host) == 0) {
            return i;
        }
    }
    return CIRCLE_NOBODY;
}

static void drop_peer(struct circle *circle, uint32_t number)
{
    struct circle_peer *peer = &circle->peers[number];

    circle->other_count -= peer->is_other ? 1 : 0;
    hood_drop(circle->hood, number);
    *peer = (struct circle_peer){.is_other = false};
}

static void set_other(struct circle *circle, uint32_t number, bool is_other)
{
    struct circle_peer *peer = &circle->peers[number];

    if (peer->is_other != is_other) {
        circle->other_count = is_other ? circle->other_count + 1 : circle->other_count - 1;
        peer->is_other = is_other;
        hood_drop(circle->hood, number);
    }
}

/* --- hosts without room ----------------------------------------------------------------------- */

static uint64_t hash_of(const char *host)
{
    return hash_seeded(host, strlen(host), 0);
}

/* The place of the host among those that are skipped; skipped_count: it is none of them. */
static uint32_t find_skipped(const struct circle *circle, const char *host)
{
    uint64_t hash = hash_of(host);
    uint32_t i = 0;

    while (i < circle->skipped_count && circle->skipped[i].name_hash != hash) {
        i++;
    }
    return i;
}

static void skip_host(struct circle *circle, const char *host, int64_t monotonic_ms)
{
    uint32_t place = find_skipped(circle, host);

    if (place == CIRCLE_SKIPPED_MAX) {
        return;
    }
    circle->skipped_count += place == circle->skipped_count ? 1 : 0;
    circle->skipped[place] =
        (struct circle_skipped){.name_hash = hash_of(host), .heard_ms = monotonic_ms};
}

/* The host has a place in the circle now, or another profile. */
static void unskip_host(struct circle *circle, const char *host)
{
    uint32_t place = find_skipped(circle, host);

    if (place < circle->skipped_count) {
        circle->skipped[place] = circle->skipped[--circle->skipped_count];
    }
}

static void forget_skipped(struct circle *circle, int64_t monotonic_ms)
{
    for (uint32_t i = circle->skipped_count; i-- > 0;) {
        if (monotonic_ms - circle->skipped[i].heard_ms > CIRCLE_GONE_MS) {
            circle->skipped[i] = circle->skipped[--circle->skipped_count];
        }
    }
}

/* --- words ------------------------------------------------------------------------------------ */

/* Reads the groups. False: one does not fit the profile. */
static bool load_groups(const struct circle *circle, const struct msg_peer_summary *word,
                        struct group *out, uint64_t *filters)
{
    size_t words = bloom_words(circle->profile.bits);

    for (size_t i = 0; i < word->group_count; i++) {
        if (!told_read_group(&circle->profile, &word->groups[i], filters + i * words, &out[i])) {
            return false;
        }
    }
    return true;
}

static void learn_word(struct circle *circle, uint32_t number, const struct msg_peer_summary *word,
                       int64_t now_ms, int64_t monotonic_ms)
{
    struct circle_peer *peer = &circle->peers[number];
    struct group groups[GROUPS_MAX];
    uint64_t filters[GROUPS_MAX * PROFILE_WORDS_MAX];
    struct hood_word learned = {
        .seq = word->seq,
        .after = word->after,
        .as_of_ms = word->as_of_ms,
        .newest_ms = word->newest_ms,
        .is_full = word->full,
        .groups = groups,
        .group_count = (uint32_t)word->group_count,
    };

    memcpy(learned.store_id, word->store_id.data, sizeof(learned.store_id));
    if (word->group_count > GROUPS_MAX || !load_groups(circle, word, groups, filters)) {
        learned.is_full = true;
        learned.group_count = HOOD_GROUPS_MAX + 1; /* too many: the summary becomes void */
    }
    if (hood_learn(circle->hood, number, &learned, now_ms) == HOOD_VOID) {
        circle->voids++;
    } else if (hood_knows(circle->hood, number)) {
        peer->pause_ms = 0;
        peer->ask_ms = monotonic_ms + CIRCLE_ASK_MS;
    }
}

void circle_join(struct circle *circle, int64_t monotonic_ms)
{
    circle->met_ms = monotonic_ms + CIRCLE_MEET_MS;
    circle->again_ms = monotonic_ms + CIRCLE_AGAIN_MS;
    circle->hold_ms = monotonic_ms + CIRCLE_HOLD_MS;
    for (uint32_t i = 0; i < CIRCLE_PEERS_MAX; i++) {
        circle->peers[i].ask_ms = circle->hold_ms;
        circle->peers[i].pause_ms = 0;
    }
}

/* The last word has shown that words arrived; a connection may be dead for a while before it is
 * lost. */
void circle_part(struct circle *circle, int64_t monotonic_ms)
{
    if (monotonic_ms >= circle->met_ms) {
        circle->known_ms = circle->heard_ms;
    }
    circle->met_ms = INT64_MAX;
}

int64_t circle_age_ms(const struct circle *circle, int64_t monotonic_ms)
{
    if (monotonic_ms >= circle->met_ms) {
        return 0;
    }
    return circle->known_ms != 0 ? monotonic_ms - circle->known_ms : INT64_MAX;
}

bool circle_asks_again(struct circle *circle, int64_t monotonic_ms)
{
    bool is_due = circle->again_ms != 0 && monotonic_ms >= circle->again_ms;

    circle->again_ms = is_due ? 0 : circle->again_ms;
    return is_due;
}

bool circle_hear(struct circle *circle, const char *host, const struct msg_peer_summary *word,
                 int64_t now_ms, int64_t monotonic_ms)
{
    bool is_other = strcmp(word->profile.text, circle->profile_text) != 0;
    uint32_t number = find_place(circle, host);

    circle->words++;
    circle->heard_ms = monotonic_ms;
    if (number == CIRCLE_NOBODY) {
        number = find_place(circle, "");
        if (is_other || number != CIRCLE_NOBODY) {
            unskip_host(circle, host);
        } else {
            skip_host(circle, host, monotonic_ms);
        }
        if (number == CIRCLE_NOBODY) {
            return false;
        }
        msg_text_copy(circle->peers[number].host, BRIDGE_NAME_BYTES, host, strlen(host));
        circle->peers[number].ask_ms = circle->hold_ms;
    }
    circle->peers[number].heard_ms = monotonic_ms;
    circle->peers[number].silent_ms = 0;
    set_other(circle, number, is_other);
    if (!is_other) {
        learn_word(circle, number, word, now_ms, monotonic_ms);
    }
    return true;
}

/* --- what is void ----------------------------------------------------------------------------- */

static int64_t next_pause(int64_t pause_ms)
{
    int64_t next = pause_ms == 0 ? CIRCLE_ASK_MS : 2 * pause_ms;

    return next < CIRCLE_ASK_MOST_MS ? next : CIRCLE_ASK_MOST_MS;
}

const char *circle_next_void(struct circle *circle, int64_t monotonic_ms)
{
    forget_skipped(circle, monotonic_ms);
    for (uint32_t i = 0; i < CIRCLE_PEERS_MAX; i++) {
        struct circle_peer *peer = &circle->peers[i];

        if (peer->host[0] == '\0') {
            continue;
        }
        if (monotonic_ms - peer->heard_ms > CIRCLE_GONE_MS) {
            drop_peer(circle, i);
        } else if (!peer->is_other && !hood_knows(circle->hood, i) &&
                   monotonic_ms >= peer->ask_ms) {
            peer->pause_ms = next_pause(peer->pause_ms);
            peer->ask_ms = monotonic_ms + peer->pause_ms;
            return peer->host;
        }
    }
    return NULL;
}

int64_t circle_due_ms(const struct circle *circle)
{
    int64_t due_ms = circle->again_ms != 0 ? circle->again_ms : INT64_MAX;

    for (uint32_t i = 0; i < circle->skipped_count; i++) {
        due_ms = least_i64(due_ms, circle->skipped[i].heard_ms + CIRCLE_GONE_MS + 1);
    }
    for (uint32_t i = 0; i < CIRCLE_PEERS_MAX; i++) {
        const struct circle_peer *peer = &circle->peers[i];

        if (peer->host[0] != '\0') {
            due_ms = least_i64(due_ms, peer->heard_ms + CIRCLE_GONE_MS + 1);
        }
        if (peer->host[0] != '\0' && !peer->is_other && !hood_knows(circle->hood, i)) {
            due_ms = least_i64(due_ms, peer->ask_ms);
        }
    }
    return due_ms;
}

uint32_t circle_count_faulty(const struct circle *circle)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < CIRCLE_PEERS_MAX; i++) {
        count += circle->peers[i].host[0] != '\0' && hood_is_faulty(circle->hood, i) ? 1 : 0;
    }
    return count;
}
