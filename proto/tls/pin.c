/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/hex.h"
#include "proto/tls/tls.h"

void tls_pin_print(const uint8_t pin[TLS_PIN_BYTES], char out_text[TLS_PIN_TEXT_BYTES])
{
    for (size_t i = 0; i < TLS_PIN_BYTES; i++) {
        (void)snprintf(out_text + 2 * i, 3, "%02x", pin[i]);
    }
}

bool tls_pin_parse(const char *text, uint8_t out_pin[TLS_PIN_BYTES])
{
    uint8_t pin[TLS_PIN_BYTES];

    for (size_t i = 0; i < TLS_PIN_BYTES; i++) {
        if (i > 0 && *text == ':') {
            text++;
        }
        int high = hex_digit(text[0]);
        int low = high < 0 ? -1 : hex_digit(text[1]);
        if (low < 0) {
            return false;
        }
        pin[i] = (uint8_t)(high * 16 + low);
        text += 2;
    }
    if (*text != '\0') {
        return false;
    }
    memcpy(out_pin, pin, sizeof(pin));
    return true;
}
