/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/term/out.h"

#include <inttypes.h>
#include <string.h>

#include <sodium.h>

enum { WHOLE = 1000000 };

/*
 * Reads the decimal digits at *text and moves *text behind them. Returns false when there is no
 * digit or the number overflows.
 */
static bool read_digits(const char **text, uint64_t *out_value)
{
    const char *at = *text;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    if (at == *text) {
        return false;
    }
    *text = at;
    *out_value = value;
    return true;
}

int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out_value)
{
    uint64_t value = 0;
    if (!read_digits(&text, &value) || *text != '\0' || value < min || value > max) {
        return NUMBER_REFUSED;
    }
    *out_value = value;
    return 0;
}

int number_parse_duration(const char *text, uint64_t *out_ms)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"w", 604800000},
    };
    uint64_t value = 0;
    if (!read_digits(&text, &value)) {
        return NUMBER_REFUSED;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text, units[i].name) == 0) {
            if (value > UINT64_MAX / units[i].ms) {
                return NUMBER_REFUSED;
            }
            *out_ms = value * units[i].ms;
            return 0;
        }
    }
    return NUMBER_REFUSED;
}

void number_print_duration(uint64_t ms, char out[NUMBER_DURATION_BYTES])
{
    static const struct {
        uint64_t ms;
        uint64_t from; /* 24h reads better than 1d */
        const char *name;
    } units[] = {{86400000, 2 * 86400000, "d"},
                 {3600000, 3600000, "h"},
                 {60000, 60000, "m"},
                 {1000, 1000, "s"},
                 {1, 0, "ms"}};
    size_t i = 0;
    while (ms < units[i].from || ms % units[i].ms != 0) {
        i++;
    }
    (void)snprintf(out, NUMBER_DURATION_BYTES, "%" PRIu64 "%s", ms / units[i].ms, units[i].name);
}

int number_parse_distance(const char *text, uint32_t *out_millionths)
{
    uint64_t whole = 0;
    bool digits = read_digits(&text, &whole);
    if ((!digits && *text != '.') || whole > 1) {
        return NUMBER_REFUSED;
    }
    uint32_t value = (uint32_t)whole * WHOLE;
    if (*text == '.') {
        text++;
        uint32_t unit = WHOLE / 10;
        for (; *text >= '0' && *text <= '9'; text++) {
            if (unit == 0 && *text != '0') {
                return NUMBER_REFUSED;
            }
            value += (uint32_t)(*text - '0') * unit;
            unit /= 10;
            digits = true;
        }
    }
    if (!digits || *text != '\0' || value > WHOLE) {
        return NUMBER_REFUSED;
    }
    *out_millionths = value;
    return 0;
}

int number_round_distance(double value, uint32_t *out_millionths)
{
    if (!(value >= 0 && value <= 1)) {
        return NUMBER_REFUSED;
    }
    double scaled = value * WHOLE;
    uint32_t rounded = (uint32_t)(scaled + 0.5);
    double off = scaled - (double)rounded;
    if (off > 1e-6 || off < -1e-6) {
        return NUMBER_REFUSED;
    }
    *out_millionths = rounded;
    return 0;
}

void number_print_hex(const uint8_t *bytes, size_t count, char *out)
{
    (void)sodium_bin2hex(out, 2 * count + 1, bytes, count);
}

int number_parse_hex(const char *text, uint8_t *out_bytes, size_t count)
{
    size_t length = strlen(text);
    size_t got = 0;
    bool read = length == 2 * count &&
                sodium_hex2bin(out_bytes, count, text, length, NULL, &got, NULL) == 0;
    return read && got == count ? 0 : NUMBER_REFUSED;
}
