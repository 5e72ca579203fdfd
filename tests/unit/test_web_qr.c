/* SPDX-License-Identifier: Apache-2.0 */
/* QR codes: what is drawn is libqrencode's matrix, and the text to join a WiFi is escaped. */
#include "client/web/qr.h"

#include <qrencode.h>

#include "core/base/err.h"
#include "tests/lib/check.h"

enum { MARGIN = 4, SIDE_MAX = 185 };

static char drawn[QR_SVG_BYTES];

struct matrix {
    int side; /* with the margin */
    unsigned char is_dark[SIDE_MAX][SIDE_MAX];
};

static void matrix_expect(const char *text, struct matrix *out)
{
    QRcode *code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M);

    assert_non_null(code);
    *out = (struct matrix){.side = code->width + 2 * MARGIN};
    for (int i = 0; i < code->width * code->width; i++) {
        out->is_dark[MARGIN + i / code->width][MARGIN + i % code->width] = code->data[i] & 1;
    }
    QRcode_free(code);
}

static long number_read(const char **at)
{
    char *end;
    long number = strtol(*at, &end, 10);

    assert_true(end != *at && number >= 0 && number < SIDE_MAX);
    *at = end;
    return number;
}

/* Draws the path of an SVG: M moves to, m moves by, h draws. */
static void svg_read(const char *svg, struct matrix *out)
{
    const char *at = strstr(svg, "viewBox=\"0 0 ");
    long x = 0;
    long y = 0;

    assert_non_null(at);
    at += strlen("viewBox=\"0 0 ");
    *out = (struct matrix){.side = (int)number_read(&at)};
    at = strstr(svg, " d=\"");
    assert_non_null(at);
    for (at += 4; *at != '"';) {
        char step = *at++;
        long first = number_read(&at);
        if (step == 'h') {
            for (; first > 0; first--) {
                out->is_dark[y][x++] = 1;
            }
        } else if (step == 'm') {
            x += first;
            assert_memory_equal(at, " 0", 2);
            at += 2;
        } else {
            assert_int_equal(step, 'M');
            x = first;
            y = number_read(&at);
            assert_memory_equal(at, ".5", 2);
            at += 2;
        }
    }
    assert_string_equal(at, "\"/></svg>\n");
}

/* Reads the half blocks of a terminal; what is drawn is light. */
static void terminal_read(const char *text, struct matrix *out)
{
    *out = (struct matrix){.side = 0};
    for (int y = 0; *text != '\0'; y += 2) {
        int x = 0;
        for (; *text != '\n'; x++) {
            if (*text == ' ') {
                out->is_dark[y][x] = out->is_dark[y + 1][x] = 1;
                text++;
                continue;
            }
            bool is_upper = memcmp(text, "\u2580", 3) == 0;
            bool is_lower = memcmp(text, "\u2584", 3) == 0;
            assert_true(is_upper || is_lower || memcmp(text, "\u2588", 3) == 0);
            out->is_dark[y][x] = is_lower;
            out->is_dark[y + 1][x] = is_upper;
            text += 3;
        }
        assert_true(out->side == 0 || out->side == x);
        out->side = x;
        text++;
    }
}

static const char *const texts[] = {
    "a",
    "http://hearsay.lan/",
    "http://192.168.8.1/?p=012345",
    "WIFI:T:WPA;S:Caf\u00e9 am Ufer;P:kein\\;geheimnis;;",
};

TEST(a_picture_is_the_matrix)
{
    struct matrix expected;
    struct matrix found;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        matrix_expect(texts[i], &expected);
        assert_int_equal(qr_svg(texts[i], drawn), 0);
        svg_read(drawn, &found);
        assert_int_equal(found.side, expected.side);
        assert_memory_equal(found.is_dark, expected.is_dark, sizeof(found.is_dark));
    }
}

TEST(a_terminal_shows_the_matrix)
{
    struct matrix expected;
    struct matrix found;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        matrix_expect(texts[i], &expected);
        assert_int_equal(qr_terminal(texts[i], drawn), 0);
        terminal_read(drawn, &found);
        assert_int_equal(found.side, expected.side);
        /* The side is odd: the lower half of the last line is outside of the code. */
        memset(found.is_dark[found.side], 0, sizeof(found.is_dark[0]));
        assert_memory_equal(found.is_dark, expected.is_dark, sizeof(found.is_dark));
    }
}

/* The corner marks of ISO/IEC 18004, which do not come from libqrencode's word alone. */
TEST(a_picture_has_its_corner_marks)
{
    static const char *const mark[] = {"#######", "#.....#", "#.###.#", "#.###.#",
                                       "#.###.#", "#.....#", "#######"};
    struct matrix found;

    assert_int_equal(qr_svg("http://hearsay.lan/", drawn), 0);
    svg_read(drawn, &found);
    for (int y = 0; y < 7; y++) {
        for (int x = 0; x < 7; x++) {
            int far = found.side - MARGIN - 7;
            int dark = mark[y][x] == '#';
            assert_int_equal(found.is_dark[MARGIN + y][MARGIN + x], dark);
            assert_int_equal(found.is_dark[MARGIN + y][far + x], dark);
            assert_int_equal(found.is_dark[far + y][MARGIN + x], dark);
        }
    }
}

TEST(a_long_text_fits_and_a_longer_one_is_refused)
{
    char text[QR_TEXT_BYTES + 2];

    /* Capital letters take less room than other bytes in some codes: bytes of both kinds. */
    for (int kind = 0; kind < 2; kind++) {
        memset(text, kind == 0 ? 'A' : '~', sizeof(text));
        text[QR_TEXT_BYTES + 1] = '\0';
        assert_int_equal(qr_svg(text, drawn), QR_TOO_LONG);
        assert_int_equal(qr_terminal(text, drawn), QR_TOO_LONG);
        text[QR_TEXT_BYTES] = '\0';
        assert_int_equal(qr_svg(text, drawn), 0);
        assert_int_equal(qr_terminal(text, drawn), 0);
    }
}

TEST(a_url_makes_a_small_picture)
{
    assert_int_equal(qr_svg("http://hearsay.lan/", drawn), 0);
    assert_in_range(strlen(drawn), 500, 3000);
}

static void assert_wifi(const char *ssid, const char *password, const char *expected)
{
    char text[QR_TEXT_BYTES + 1];

    assert_true(qr_wifi_text(ssid, password, text));
    assert_string_equal(text, expected);
}

TEST(a_wifi_text_is_escaped)
{
    assert_wifi("Ufer", "geheim12", "WIFI:T:WPA;S:Ufer;P:geheim12;;");
    assert_wifi("a\\b;c,d:e\"f", ";:", "WIFI:T:WPA;S:a\\\\b\\;c\\,d\\:e\\\"f;P:\\;\\:;;");
    assert_wifi("Ufer", NULL, "WIFI:T:nopass;S:Ufer;;");
    assert_wifi("Ufer", "", "WIFI:T:nopass;S:Ufer;;");
    assert_wifi("Caf\u00e9", NULL, "WIFI:T:nopass;S:Caf\u00e9;;");
}

TEST(a_wifi_text_that_is_too_long_is_refused)
{
    char password[QR_TEXT_BYTES];
    char text[QR_TEXT_BYTES + 1];
    size_t fits = QR_TEXT_BYTES - strlen("WIFI:T:WPA;S:x;P:;;");

    memset(password, 'p', sizeof(password));
    password[fits] = '\0';
    assert_true(qr_wifi_text("x", password, text));
    assert_int_equal(strlen(text), QR_TEXT_BYTES);
    password[fits] = 'p';
    password[fits + 1] = '\0';
    assert_false(qr_wifi_text("x", password, text));
}
