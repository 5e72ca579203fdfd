/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netifd: tells on ubus which addresses the networks have, as OpenWrt's netifd does, but takes them
 * from the file /tmp/interfaces.json. A test writes the file, and then calls `notify`, which tells
 * procd that a network has changed.
 */
#include <libubox/blobmsg_json.h>
#include <libubus.h>

enum { NOTIFY_EVENT, NOTIFY_INTERFACE, NOTIFY_FIELDS };
static const struct blobmsg_policy notify_policy[NOTIFY_FIELDS] = {
    [NOTIFY_EVENT] = {.name = "event", .type = BLOBMSG_TYPE_STRING},
    [NOTIFY_INTERFACE] = {.name = "interface", .type = BLOBMSG_TYPE_STRING},
};

static struct blob_buf buffer;

static int handle_dump(struct ubus_context *context, struct ubus_object *object,
                       struct ubus_request_data *request, const char *method,
                       struct blob_attr *message)
{
    (void)object, (void)method, (void)message;
    blob_buf_init(&buffer, 0);
    if (!blobmsg_add_json_from_file(&buffer, "/tmp/interfaces.json")) {
        return UBUS_STATUS_UNKNOWN_ERROR;
    }
    return ubus_send_reply(context, request, buffer.head);
}

static int handle_notify(struct ubus_context *context, struct ubus_object *object,
                         struct ubus_request_data *request, const char *method,
                         struct blob_attr *message)
{
    struct blob_attr *fields[NOTIFY_FIELDS];

    (void)request, (void)method;
    blobmsg_parse(notify_policy, NOTIFY_FIELDS, fields, blob_data(message), blob_len(message));
    if (fields[NOTIFY_EVENT] == NULL || fields[NOTIFY_INTERFACE] == NULL) {
        return UBUS_STATUS_INVALID_ARGUMENT;
    }
    blob_buf_init(&buffer, 0);
    blobmsg_add_string(&buffer, "interface", blobmsg_get_string(fields[NOTIFY_INTERFACE]));
    return ubus_notify(context, object, blobmsg_get_string(fields[NOTIFY_EVENT]), buffer.head, -1);
}

static const struct ubus_method methods[] = {
    UBUS_METHOD_NOARG("dump", handle_dump),
    UBUS_METHOD("notify", handle_notify, notify_policy),
};
static struct ubus_object_type type = UBUS_OBJECT_TYPE("network.interface", methods);
static struct ubus_object object = {
    .name = "network.interface",
    .type = &type,
    .methods = methods,
    .n_methods = ARRAY_SIZE(methods),
};

int main(void)
{
    uloop_init();
    struct ubus_context *context = ubus_connect(NULL);
    if (context == NULL || ubus_add_object(context, &object) != 0) {
        return 1;
    }
    ubus_add_uloop(context);
    uloop_run();
    return 0;
}
