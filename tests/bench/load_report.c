/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/load_report.h"

#include <stdio.h>

#include "tests/bench/stats.h"

static const char *const kind_names[LOAD_KINDS] = {"deposit", "query", "match"};
const char *const load_turn_names[LOAD_TURNS] = {"quiet", "attacked", "elsewhere", "control"};

/* --- a phase ---------------------------------------------------------------------------------- */

static void tell_counts(bool json, const char *phase, enum load_kind kind,
                        const struct load_result *result)
{
    printf(json ? "{\"phase\": \"%s\", \"request\": \"%s\", \"sent\": %llu, \"answered\": %llu, "
                  "\"refused\": %llu, \"unanswered\": %llu"
                : "  %-9s %-8s %8llu sent, %llu answered, %llu refused, %llu unanswered;",
           phase, kind_names[kind], (unsigned long long)result->sent,
           (unsigned long long)result->answered, (unsigned long long)result->refused,
           (unsigned long long)result->unanswered);
}

static void tell_kind(bool json, const char *phase, enum load_kind kind,
                      const struct load_result *result)
{
    static const struct {
        const char *name;
        uint32_t millionths;
    } shares[] = {{"p50", 500000}, {"p90", 900000}, {"p99", 990000}, {"p999", 999000}};

    if (result->sent == 0 && result->refused == 0) {
        return;
    }
    tell_counts(json, phase, kind, result);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        const double ms = (double)histogram_percentile(&result->us, shares[i].millionths) / 1000;
        printf(json ? ", \"%s_ms\": %.3f" : " %s %.2f", shares[i].name, ms);
    }
    printf(json ? ", \"max_ms\": %.3f}\n" : " max %.2f ms\n", (double)result->us.greatest / 1000);
}

static void tell_trend(bool json, const char *name, const struct load_phase *phase)
{
    const struct load_trend *trend = &phase->trend;

    printf(json ? "{\"phase\": \"%s\", \"after_s\": %.0f, \"resident_mib\": [%.2f, %.2f], "
                  "\"store_mib\": [%.2f, %.2f], \"messages\": [%.0f, %.0f], "
                  "\"descriptors\": [%.0f, %.0f]}\n"
                : "  %-9s after %.0f s, medians of the first and last third: resident %.2f and "
                  "%.2f MiB, storage %.2f and %.2f MiB, %.0f and %.0f messages; %.0f to %.0f "
                  "descriptors\n",
           name, phase->warm_s, trend->resident_mib[0], trend->resident_mib[1], trend->store_mib[0],
           trend->store_mib[1], trend->messages[0], trend->messages[1], trend->descriptors_least,
           trend->descriptors_most);
}

void load_report_phase(bool json, const char *name, const struct load_phase *phase)
{
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        tell_kind(json, name, (enum load_kind)kind, &phase->results[kind]);
    }
    printf(json ? "{\"phase\": \"%s\", \"daemon_cpu_share\": %.3f, \"attacker_cpu_share\": %.3f, "
                  "\"daemon_peak_mib\": %.1f}\n"
                : "  %-9s daemon: %.2f of a core, attackers %.2f; the daemon took at most %.1f "
                  "MiB\n",
           name, phase->cpu_share, phase->attacker_share, phase->peak_mib);
    if (phase->has_trend) {
        tell_trend(json, name, phase);
    }
    (void)fflush(stdout); /* a long run is looked at */
}

/* --- rounds ----------------------------------------------------------------------------------- */

void load_rounds_add(struct load_rounds *rounds, enum load_turn turn,
                     const struct load_phase *phase)
{
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        rounds->p99_ms[kind][turn][rounds->count] =
            (double)histogram_percentile(&phase->results[kind].us, 990000) / 1000;
    }
}

static double median_p99(const struct load_rounds *rounds, int kind, int turn)
{
    double values[LOAD_ROUNDS_MAX];

    for (size_t i = 0; i < rounds->count; i++) {
        values[i] = rounds->p99_ms[kind][turn][i];
    }
    return stats_median(values, rounds->count);
}

static double median_ratio(const struct load_rounds *rounds, int kind, int turn)
{
    double values[LOAD_ROUNDS_MAX];

    for (size_t i = 0; i < rounds->count; i++) {
        values[i] = rounds->p99_ms[kind][turn][i] / rounds->p99_ms[kind][LOAD_QUIET][i];
    }
    return stats_median(values, rounds->count);
}

void load_report_rounds(bool json, const char *attack, const struct load_rounds *rounds)
{
    for (int kind = 0; kind < LOAD_KINDS && rounds->count > 0; kind++) {
        if (median_p99(rounds, kind, LOAD_QUIET) <= 0) {
            continue;
        }
        printf(json ? "{\"attack\": \"%s\", \"request\": \"%s\", \"rounds\": %zu, "
                      "\"quiet_p99_ms\": %.3f, \"attacked_p99_ms\": %.3f, "
                      "\"elsewhere_p99_ms\": %.3f, \"control_p99_ms\": %.3f, "
                      "\"attacked_ratio\": %.2f, \"elsewhere_ratio\": %.2f, "
                      "\"control_ratio\": %.2f}\n"
                    : "  %s, p99 of a %s, median of %zu: quiet %.2f, attacked %.2f, elsewhere "
                      "%.2f, control %.2f ms; of the quiet one: attacked %.2f, elsewhere %.2f, "
                      "control %.2f\n",
               attack, kind_names[kind], rounds->count, median_p99(rounds, kind, LOAD_QUIET),
               median_p99(rounds, kind, LOAD_ATTACKED), median_p99(rounds, kind, LOAD_ELSEWHERE),
               median_p99(rounds, kind, LOAD_CONTROL), median_ratio(rounds, kind, LOAD_ATTACKED),
               median_ratio(rounds, kind, LOAD_ELSEWHERE),
               median_ratio(rounds, kind, LOAD_CONTROL));
    }
}
