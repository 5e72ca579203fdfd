/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/qr.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <qrencode.h>

#include "core/base/err.h"

enum { QR_MARGIN = 4 /* modules on each side, ISO/IEC 18004 */ };

/* A text that grows in a buffer of fixed size. */
struct qr_out {
    char *text;
    size_t room;
    size_t used;
    bool is_full;
};

__attribute__((format(printf, 2, 3))) static void out_write(struct qr_out *out, const char *format,
                                                            ...)
{
    va_list arguments;

    va_start(arguments, format);
    int count = vsnprintf(out->text + out->used, out->room - out->used, format, arguments);
    va_end(arguments);
    if (count < 0 || (size_t)count >= out->room - out->used) {
        out->is_full = true;
        return;
    }
    out->used += (size_t)count;
}

/* The code of a text; *out_code is owned by the caller. Level M: 15 % of a print may be damaged. */
static int code_new(const char *text, QRcode **out_code)
{
    assert(text[0] != '\0');
    if (strlen(text) > QR_TEXT_BYTES) {
        return QR_TOO_LONG;
    }
    QRcode *code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M);

    if (code == NULL) {
        return errno == ENOMEM ? -ERR_NOMEM : QR_TOO_LONG;
    }
    *out_code = code;
    return 0;
}

/* Whether a module is dark. Places outside of the code are its margin, which is light. */
static bool code_is_dark(const QRcode *code, int x, int y)
{
    return x >= 0 && y >= 0 && x < code->width && y < code->width &&
           (code->data[y * code->width + x] & 1) != 0;
}

/* The dark modules of a row as strokes: `h` draws, `m` moves on. */
static void row_write_strokes(struct qr_out *out, const QRcode *code, int y)
{
    int pen = -1; /* where the last stroke of this row ended; -1: there was none */

    for (int x = 0; x < code->width; x++) {
        if (!code_is_dark(code, x, y)) {
            continue;
        }
        int end = x + 1;
        while (code_is_dark(code, end, y)) {
            end++;
        }
        if (pen < 0) {
            out_write(out, "M%d %d.5h%d", QR_MARGIN + x, QR_MARGIN + y, end - x);
        } else {
            out_write(out, "m%d 0h%d", x - pen, end - x);
        }
        pen = end;
        x = end;
    }
}

int qr_svg(const char *text, char *out_svg)
{
    QRcode *code;
    int rc = code_new(text, &code);
    struct qr_out out = {.text = out_svg, .room = QR_SVG_BYTES};

    if (rc != 0) {
        return rc;
    }
    int side = code->width + 2 * QR_MARGIN;
    out_write(&out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
              "shape-rendering=\"crispEdges\"><path stroke=\"#000\" d=\"",
              side, side);
    for (int y = 0; y < code->width; y++) {
        row_write_strokes(&out, code, y);
    }
    out_write(&out, "\"/></svg>\n");
    QRcode_free(code);
    return out.is_full ? QR_TOO_LONG : 0;
}

int qr_terminal(const char *text, char *out_text)
{
    /* By the upper module, then the lower one. Light is drawn: most terminals are dark. */
    static const char *const halves[2][2] = {{"\u2588", "\u2580"}, {"\u2584", " "}};
    QRcode *code;
    int rc = code_new(text, &code);
    struct qr_out out = {.text = out_text, .room = QR_SVG_BYTES};

    if (rc != 0) {
        return rc;
    }
    for (int y = -QR_MARGIN; y < code->width + QR_MARGIN; y += 2) {
        for (int x = -QR_MARGIN; x < code->width + QR_MARGIN; x++) {
            out_write(&out, "%s", halves[code_is_dark(code, x, y)][code_is_dark(code, x, y + 1)]);
        }
        out_write(&out, "\n");
    }
    QRcode_free(code);
    return out.is_full ? QR_TOO_LONG : 0;
}

/* Writes a value; a backslash stands before each character that has a meaning in the text. */
static void value_write(struct qr_out *out, const char *value)
{
    for (const char *at = value; *at != '\0'; at++) {
        out_write(out, "%s%c", strchr("\\;,:\"", *at) != NULL ? "\\" : "", *at);
    }
}

bool qr_wifi_text(const char *ssid, const char *password, char *out_text)
{
    struct qr_out out = {.text = out_text, .room = QR_TEXT_BYTES + 1};
    bool is_open = password == NULL || password[0] == '\0';

    out_write(&out, "WIFI:T:%s;S:", is_open ? "nopass" : "WPA");
    value_write(&out, ssid);
    if (!is_open) {
        out_write(&out, ";P:");
        value_write(&out, password);
    }
    out_write(&out, ";;");
    return !out.is_full;
}
