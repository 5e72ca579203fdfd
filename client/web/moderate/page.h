/* SPDX-License-Identifier: Apache-2.0 */
/* page: writes the moderators' page, from top to bottom. Any thread. */
#pragma once

#include "client/hearsay.h"
#include "client/web/html.h"
#include "client/web/lang.h"
#include "client/web/view.h"

/* What the page says above everything: a key of the languages, with {0} for the value. */
struct desk_notice {
    const char *key;   /* NULL: nothing */
    const char *value; /* may be NULL */
    uint64_t seconds;  /* where the value is when it is over */
    bool is_bad;
};

/* What was pressed, as the form has it; NULL: the field was not sent. */
struct desk_act {
    /* show, hide, remove, accept, notice, unnotice, unban; or nothing to do in hearsayd */
    const char *act;
    const char *id;     /* of a message */
    const char *why;    /* a kind of reports */
    const char *reason; /* in own words */
    const char *ban;
    const char *mode; /* of the board */
    const char *page; /* of the list whose form was sent: as in struct desk */
    /* of another list: its number as a digit, then its cursor as digits; NULL: the first pages */
    const char *list_page;
    const char *text;   /* of a new notice */
    const char *until;  /* after how many seconds it ends, as digits */
    const char *lang;   /* of its text */
    const char *at;     /* the place where alone it is shown */
    const char *where;  /* the place whose messages the page shows */
    const char *number; /* of a notice */
    const char *what;   /* a ban: 't' and the hash of a payload, or 'c' and a filter, as digits */
};

#define DESK_NEWEST "newest"
#define DESK_ACTION "act" /* the last part of the address that forms go to */

/* What a page shows, by the last part of its address. */
enum desk_view {
    DESK_VIEW_DECIDE, /* the board and all lists */
    DESK_VIEW_REPORTED,
    DESK_VIEW_PENDING,
    DESK_VIEW_WITHHELD,
    DESK_VIEW_ALL,
    DESK_VIEW_NOTICES,
    DESK_VIEW_BANS,
    DESK_VIEW_LOG,
    DESK_VIEWS
};

/* The last part of the address; "" of the first view. desk_view_find: DESK_VIEWS if there is none.
 */
const char *desk_view_name(enum desk_view view);
enum desk_view desk_view_find(const char *name);

/* What all parts have. Borrowed. */
struct desk {
    const struct lang *lang;
    const char *language; /* that was chosen on the page; "": none */
    const char *title;    /* of the place */
    const char *token;    /* of the login, in all addresses; "": nobody is logged in */
    const char *key;      /* by which the script masks what it keeps; where somebody is logged in */
    const char *ticket;   /* of the form for the password */
    uint32_t session_s;   /* after which a login ends */
    /* of all messages: its cursor as digits; DESK_NEWEST: the first page; of bans and decisions:
     * how many are left out, and the number of the oldest one of the page before */
    const char *page;
    enum desk_view view;
    const char *places; /* names of the host's places, a line feed behind each; "": none has one */
    const char *where;  /* the one whose messages are shown; "": all messages */
    int64_t now_ms;     /* of hearsayd */
    bool is_clock_trusted;
};

void desk_begin(struct html *html, const struct desk *desk, const struct desk_notice *notice);
void desk_say(struct html *html, const struct desk *desk, const struct desk_notice *notice);

/* The form for the password. It keeps what was pressed before. */
void desk_login(struct html *html, const struct desk *desk, const struct desk_act *act);

/* Whether new messages are shown, held or refused, and the buttons for it. */
void desk_board(struct html *html, const struct desk *desk,
                const struct hearsay_accepting *accepting);

/* The lists, worst first: what was reported, what waits for review, what was hidden or removed. */
enum desk_list { DESK_REPORTED, DESK_PENDING, DESK_WITHHELD, DESK_LISTS };

/*
 * A page of the messages of a list, each with its buttons, and a button for the next page.
 * is_first: the page is the first one of the list. Without messages nothing is written. Returns how
 * many messages were written. If these are fewer than those of the list, the page had no room for
 * the others, and the button leads past them.
 */
size_t desk_list(struct html *html, const struct desk *desk, enum desk_list list, bool is_first,
                 const struct hearsay_reported_list *found);

/*
 * A page of all messages, the newest first, with buttons to the older and the newer page. `notice`
 * is about the message of `act`, which was sent from this list: it stands in this message, where
 * the browser goes, or above the list if the message is not on the page. Without messages nothing
 * is written. Returns how many messages were written. If these are fewer than those of the list,
 * the page had no room for the others, and the buttons lead past them.
 */
size_t desk_all(struct html *html, const struct desk *desk,
                const struct hearsay_reported_list *list, const struct desk_act *act,
                const struct desk_notice *notice);

/* What the operator says, with a form for more; `text` stands in it, "": nothing. */
void desk_notices(struct html *html, const struct desk *desk, const struct hearsay_noticed *found,
                  const char *text);

/* The first DESK_BANS bans, each with a button; `skipped` of the pages before are left out. */
enum { DESK_BANS = 50, DESK_DECISIONS = 50 };
void desk_bans(struct html *html, const struct desk *desk, const struct hearsay_ban_list *found,
               uint64_t skipped);

/* What was decided, the newest first. */
void desk_log(struct html *html, const struct desk *desk,
              const struct hearsay_decision_list *found);

/* What stands there instead of the lists where all are empty. */
void desk_empty(struct html *html, const struct desk *desk);

/* Ends the page, with the languages. Where nobody is logged in, they keep what was pressed before.
 */
void desk_end(struct html *html, const struct desk *desk, const struct desk_act *act);

/* --- act.c ------------------------------------------------------------------------------------ */

/* Does in hearsayd what was pressed on the moderators' page. Any thread. */

enum { ACT_CALL_MS = 3000 }; /* for each answer of hearsayd */

/* Does what was pressed, if it is something for hearsayd. Returns what is said about it. `host` may
 * be "". The notice may borrow from *error. */
struct desk_notice act_do(const struct desk *desk, const struct desk_act *act, const char *host,
                          struct hearsay *server, struct hearsay_error *error);

/* What is said about an error of hearsayd. The notice borrows from *error. */
struct desk_notice act_notice(const struct hearsay_error *error);
