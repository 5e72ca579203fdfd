/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/requester.h"

#include <stdarg.h>
#include <stdio.h>

#include "daemon/limits/sender.h"

void requester_refuse(struct requester *client, uint64_t id, enum hearsay_code code,
                      const char *field, const char *format, ...)
{
    struct hearsay_response response = {.id = id, .kind = HEARSAY_RESPONSE_ERROR};
    char sentence[LIMIT_ERROR_BYTES + 1];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments); /* a cut sentence still helps */
    va_end(arguments);
    msg_error_set(&response.error, code, field, "%s", sentence);
    client->events->respond(client, &response);
}

void requester_work_begin(struct requester *client, size_t bytes, size_t answer_bytes)
{
    client->work_count++;
    client->work_bytes += bytes;
    client->answer_bytes += answer_bytes;
}

void requester_work_end(struct requester *client, size_t bytes, size_t answer_bytes)
{
    client->work_count--;
    client->work_bytes -= bytes;
    client->answer_bytes -= answer_bytes;
    client->events->work_ended(client);
}

struct sender *requester_payer(const struct requester *client)
{
    return client->asker != NULL ? client->asker : client->sender;
}

uint64_t *requester_turn(struct requester *client, struct sender *sender)
{
    uint64_t *turn = sender != NULL ? sender_turn(sender) : NULL;

    return turn != NULL ? turn : &client->turn;
}
