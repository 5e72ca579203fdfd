/* SPDX-License-Identifier: Apache-2.0 */
/* What phones hear that ask for other names, before and after "Stay connected". */
#include "client/web/portal.h"

#include <sodium.h>

#include "tests/lib/check.h"

enum { NOW_MS = 5000 };

static const char url[] = "http://hearsay.lan/";
static struct portal portal;

static int portal_set_up(void **state)
{
    (void)state;
    portal_init(&portal);
    return 0;
}

static struct http_address phone_of(unsigned number)
{
    return (struct http_address){.family = 4,
                                 .bytes = {10, 0, (uint8_t)(number >> 8), (uint8_t)number},
                                 .device = number + 1};
}

static struct http_answer answer_of(enum http_method method, const char *host, const char *path,
                                    struct http_address client, int64_t now_ms)
{
    struct http_request request = {
        .method = method, .host = host, .path = path, .query = "", .client = client};
    struct http_answer answer;

    portal_answer(&portal, &request, url, now_ms, &answer);
    return answer;
}

static void assert_redirect(const struct http_answer *answer)
{
    assert_int_equal(answer->status, 302);
    assert_string_equal(answer->location, url);
    assert_int_equal(answer->body_bytes, 0);
}

/* A row for each probe that phones are known to send. */
struct probe_row {
    const char *host;
    const char *path;
    unsigned status;
    const char *type;
    const char *text; /* the answer; of Kindle a part */
};

#define APPLE_TEXT  "<HTML><HEAD><TITLE>Success</TITLE></HEAD><BODY>Success</BODY></HTML>"
#define ONLINE      "NetworkManager is online\n"
#define KINDLE_TEXT "81ce4465-7167-4dcb-835b-dcc9e44c112a"

static const struct probe_row rows[] = {
    {"captive.apple.com", "/hotspot-detect.html", 200, "text/html", APPLE_TEXT},
    {"www.apple.com", "/library/test/success.html", 200, "text/html", APPLE_TEXT},
    {"connectivitycheck.gstatic.com", "/generate_204", 204, NULL, ""},
    {"www.google.com", "/gen_204", 204, NULL, ""},
    {"www.msftncsi.com", "/ncsi.txt", 200, "text/plain", "Microsoft NCSI"},
    {"www.msftconnecttest.com", "/connecttest.txt", 200, "text/plain", "Microsoft Connect Test"},
    {"detectportal.firefox.com", "/success.txt", 200, "text/plain", "success\n"},
    {"detectportal.firefox.com", "/canonical.html", 200, "text/html",
     "<meta http-equiv=\"refresh\" "
     "content=\"0;url=https://support.mozilla.org/kb/captive-portal\"/>"},
    {"spectrum.s3.amazonaws.com", "/kindle-wifi/wifistub.html", 200, "text/html", KINDLE_TEXT},
    {"spectrum.s3.amazonaws.com", "/kindle-wifi/wifistub-eink.html", 200, "text/html", KINDLE_TEXT},
    {"network-test.debian.org", "/nm", 200, "text/plain", ONLINE},
    {"nmcheck.gnome.org", "/check_network_status.txt", 200, "text/plain", ONLINE},
    {"ping.archlinux.org", "/nm-check.txt", 200, "text/plain", ONLINE},
    {"connectivity-check.ubuntu.com", "/", 200, "text/plain", ONLINE},
    {"Connectivity-Check.ubuntu.com.:80", "/", 200, "text/plain", ONLINE},
    {"conncheck.opensuse.org", "/", 200, "text/plain", ONLINE},
    {"fedoraproject.org", "/static/hotspot.txt", 200, "text/plain", "OK"},
    {"test.steampowered.com", "/204", 204, NULL, ""},
};

TEST_WITH(each_probe_is_redirected_until_the_phone_stays, portal_set_up, NULL)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_answer answer =
            answer_of(HTTP_GET, rows[i].host, rows[i].path, phone_of(1), NOW_MS);
        assert_redirect(&answer);
    }
}

TEST_WITH(each_probe_gets_its_answer_when_the_phone_stays, portal_set_up, NULL)
{
    portal_stay(&portal, &(struct http_address){.family = 4, .bytes = {10, 0, 0, 1}, .device = 2},
                NOW_MS);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int method = HTTP_GET; method <= HTTP_HEAD; method++) {
            struct http_answer answer = answer_of((enum http_method)method, rows[i].host,
                                                  rows[i].path, phone_of(1), NOW_MS + 1);
            assert_int_equal(answer.status, rows[i].status);
            assert_null(answer.location);
            assert_int_equal(answer.max_age_s, 0);
            if (rows[i].type == NULL) {
                assert_null(answer.type);
                assert_int_equal(answer.body_bytes, 0);
                continue;
            }
            assert_string_equal(answer.type, rows[i].type);
            assert_int_equal(answer.body_bytes, strlen(answer.body));
            if (strcmp(rows[i].text, KINDLE_TEXT) == 0) {
                assert_non_null(strstr(answer.body, KINDLE_TEXT));
            } else {
                assert_string_equal(answer.body, rows[i].text);
            }
        }
    }
}

/* Nothing of ours is shown under a foreign name, to whomever. */
TEST_WITH(other_paths_are_redirected, portal_set_up, NULL)
{
    static const char *const paths[] = {
        "/", "/generate_2045", "/Generate_204", "/generate_204/", "/redirect", ""};
    struct http_address phone = phone_of(1);

    portal_stay(&portal, &phone, NOW_MS);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct http_answer answer = answer_of(HTTP_GET, "example.org", paths[i], phone, NOW_MS);
        assert_redirect(&answer);
    }
    struct http_answer answer =
        answer_of(HTTP_GET, "connectivity-check.ubuntu.com.example.org", "/", phone, NOW_MS);
    assert_redirect(&answer);
}

TEST_WITH(a_form_is_not_taken_under_a_foreign_name, portal_set_up, NULL)
{
    struct http_address phone = phone_of(1);
    struct http_answer answer;

    portal_stay(&portal, &phone, NOW_MS);
    answer = answer_of(HTTP_POST, "example.org", "/leave", phone, NOW_MS);
    assert_int_equal(answer.status, 421);
    assert_null(answer.location);
    answer = answer_of(HTTP_POST, "www.google.com", "/generate_204", phone, NOW_MS);
    assert_int_equal(answer.status, 421);
}

TEST_WITH(a_phone_stays_for_twelve_hours, portal_set_up, NULL)
{
    struct http_address phone = phone_of(7);

    assert_false(portal_stays(&portal, &phone, NOW_MS));
    portal_stay(&portal, &phone, NOW_MS);
    assert_true(portal_stays(&portal, &phone, NOW_MS));
    assert_true(portal_stays(&portal, &phone, NOW_MS + 12 * 3600 * 1000 - 1));
    assert_false(portal_stays(&portal, &phone, NOW_MS + 12 * 3600 * 1000));
    portal_stay(&portal, &phone, NOW_MS + 3600 * 1000);
    assert_true(portal_stays(&portal, &phone, NOW_MS + 12 * 3600 * 1000));
}

/* The device counts, so that its other addresses stay, too, and the next phone with its address
 * does not. */
TEST_WITH(one_phone_does_not_stand_for_another, portal_set_up, NULL)
{
    struct http_address phone = phone_of(1);
    struct http_address six = {.family = 6, .bytes = {10, 0, 0, 1}, .device = phone.device};
    struct http_address next = phone;

    next.device = 77;
    portal_stay(&portal, &phone, NOW_MS);
    assert_true(portal_stays(&portal, &six, NOW_MS));
    assert_false(portal_stays(&portal, &next, NOW_MS));
}

TEST_WITH(an_address_stays_for_two_hours, portal_set_up, NULL)
{
    struct http_address phone = {.family = 4, .bytes = {10, 0, 0, 1}};
    struct http_address other = {.family = 4, .bytes = {10, 0, 0, 2}};
    struct http_address six = {.family = 6, .bytes = {10, 0, 0, 1}};

    portal_stay(&portal, &phone, NOW_MS);
    assert_false(portal_stays(&portal, &other, NOW_MS));
    assert_false(portal_stays(&portal, &six, NOW_MS));
    assert_true(portal_stays(&portal, &phone, NOW_MS + 2 * 3600 * 1000 - 1));
    assert_false(portal_stays(&portal, &phone, NOW_MS + 2 * 3600 * 1000));
    /* Of IPv4 only the first four bytes count. */
    phone.bytes[9] = 1;
    assert_true(portal_stays(&portal, &phone, NOW_MS));
}

TEST_WITH(pressing_again_takes_no_second_place, portal_set_up, NULL)
{
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned number = 0; number < PORTAL_PHONES; number++) {
            struct http_address phone = phone_of(number);
            portal_stay(&portal, &phone, NOW_MS + i);
        }
    }
    for (unsigned number = 0; number < PORTAL_PHONES; number++) {
        struct http_address phone = phone_of(number);
        assert_true(portal_stays(&portal, &phone, NOW_MS + 2));
    }
}

TEST_WITH(a_full_table_forgets_whose_time_ends_first, portal_set_up, NULL)
{
    for (unsigned number = 0; number <= PORTAL_PHONES; number++) {
        struct http_address phone = phone_of(number);
        portal_stay(&portal, &phone, NOW_MS + number);
    }
    for (unsigned number = 0; number <= PORTAL_PHONES; number++) {
        struct http_address phone = phone_of(number);
        assert_int_equal(portal_stays(&portal, &phone, NOW_MS + 2000), number != 0);
    }
}

TEST_WITH(no_address_is_in_the_table, portal_set_up, NULL)
{
    struct http_address phone = {.family = 6, .bytes = "0123456789abcde"};
    const char *bytes = (const char *)&portal;
    struct portal second;

    portal_stay(&portal, &phone, NOW_MS);
    for (size_t i = 0; i + sizeof(phone.bytes) <= sizeof(portal); i++) {
        assert_true(memcmp(bytes + i, phone.bytes, sizeof(phone.bytes)) != 0);
    }
    /* Another start has another salt: hashes of two starts cannot be compared. */
    portal_init(&second);
    portal_stay(&second, &phone, NOW_MS);
    assert_true(memcmp(second.phones, portal.phones, PORTAL_HASH_BYTES) != 0);
}

/* Also the hash goes, when the phone does not stay any more. */
TEST_WITH(who_stayed_is_forgotten, portal_set_up, NULL)
{
    static const struct http_address phone = {.family = 4, .bytes = {10, 0, 0, 9}, .device = 9};
    static const struct portal_phone nobody[PORTAL_PHONES];

    portal_stay(&portal, &phone, NOW_MS);
    portal_tidy(&portal, NOW_MS + PORTAL_STAY_MS - 1);
    assert_true(portal_stays(&portal, &phone, NOW_MS + PORTAL_STAY_MS - 1));
    portal_tidy(&portal, NOW_MS + PORTAL_STAY_MS);
    assert_memory_equal(portal.phones, nobody, sizeof(nobody));
}

int main(void)
{
    if (sodium_init() < 0) {
        return 1;
    }
    return check_run(NULL, NULL);
}
