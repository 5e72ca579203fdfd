/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_foreign: recognises the output of programs that scan.c does not read, and says what works
 * instead on the system that has such a program.
 */
#include <string.h>

#include "client/context/build.h"

/* A line of such a program begins with `begin`, behind blanks, and has both parts. */
struct foreign {
    const char *begin;
    const char *part;
    const char *other;
    const char *instead;
};

#define MACOS                                                                                   \
    "what macOS says of WiFi is not read, and it hides most addresses; if it shows some, give " \
    "each with its strength in dBm"
#define ANDROID                                                                                  \
    "of Android, but not a scan that is read; ask for `termux-wifi-scaninfo`, which comes with " \
    "Termux:API"
#define WINDOWS                                                                               \
    "`netsh` of Windows is not read; give each address with its strength in dBm, where 77 % " \
    "is -62 dBm (percent / 2 - 100)"
#define NMCLI                                                                                \
    "not what nmcli prints with the options that are read here; ask for `nmcli -c no -t -f " \
    "BSSID,SIGNAL device wifi list`"
#define LINUX "`iwctl` prints no addresses of access points; ask for `iw dev wlan0 scan`"
#define RECORD                                                                              \
    "a record of scans of many places, which is not read; a scan of this place is `iw dev " \
    "wlan0 scan`, on Android `termux-wifi-scaninfo`"
#define OWN                                                                                      \
    "of the access point in use only; a scan of all is `iw dev wlan0 scan`, on OpenWrt `iwinfo " \
    "wlan0 scan`"
#define FAILED                                                                                \
    "the program that should scan has failed; run it again alone, as root if it needs that, " \
    "and after a while if the device is busy"
/* The command reads it itself: client/cli/input/scan_json.c. */
#define JSON                                                                                  \
    "JSON, which libhearsay does not read; give the address and the strength of each access " \
    "point to hearsay_context_add_sightings"

/* The first row that fits counts. */
static const struct foreign foreigners[] = {
    {"", "\x1b[", "", NMCLI}, /* colours */
    {"", "WigleWifi-", "", RECORD},
    {"", "MAC,SSID,AuthMode", "", RECORD},
    {"BSSID, First time seen", "", "", RECORD}, /* airodump-ng */
    {"Network;NetType;ESSID;BSSID", "", "", RECORD},
    {"", "BSSID", "Age", ANDROID}, /* dumpsys wifi, cmd wifi list-scan-results */
    {"Latest scan results", "", "", ANDROID},
    {"Wi-Fi is ", "", "", ANDROID},
    {"Wifi is ", "", "", ANDROID},
    {"", "BSSID", "RSSI", MACOS}, /* airport -s */
    {"", "SPAirPort", "", MACOS},
    {"Wi-Fi:", "", "", MACOS},
    {"Software Versions:", "", "", MACOS}, /* system_profiler */
    {"Current Network Information:", "", "", MACOS},
    {"Other Local Wi-Fi Networks:", "", "", MACOS},
    {"", "<redacted>", "", MACOS},
    {"BSSID ", ":", "", WINDOWS},
    {"SSID 1", ":", "", WINDOWS},
    {"IN-USE", "", "", NMCLI},
    {"BSSID", "", "", NMCLI},
    {"NAME", "BSSID", "", NMCLI},
    {"", "SSID", "BSSID", NMCLI},
    {"*:", "", "", NMCLI},
    {"", "\\:", "", NMCLI}, /* other columns, or in another order */
    {"", "Available networks", "", LINUX},
    {"", "Network name", "Security", LINUX}, /* iwctl */
    {"Connected to ", "", "", OWN},          /* iw dev wlan0 link */
    {"Not connected", "", "", OWN},
    {"", "Access Point:", "", OWN}, /* iwconfig, iwinfo */
    {"", "IEEE 802.11", "", OWN},
    {"OK", "", "",
     "the answer of `wpa_cli scan`; ask for `wpa_cli scan_results` a few seconds later"},
    {"FAIL", "", "", FAILED}, /* wpa_cli */
    {"", "ommand failed", "", FAILED},
    {"Usage:", "", "", FAILED},
    {"Error:", "", "", FAILED},
    {"", "ermission denied", "", FAILED},
    {"", "not permitted", "", FAILED},
    {"", "No such ", "", FAILED},
    {"", "not found", "", FAILED},
    {"", "oesn't support scanning", "", FAILED},
    {"[", "", "", JSON},
    {"{", "", "", JSON},
};

const char *context_foreign_scan(const char *text, size_t length)
{
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    for (size_t i = 0; i < sizeof(foreigners) / sizeof(foreigners[0]); i++) {
        const struct foreign *foreign = &foreigners[i];
        size_t begin = strlen(foreign->begin);

        if (length >= begin && memcmp(text, foreign->begin, begin) == 0 &&
            memmem(text, length, foreign->part, strlen(foreign->part)) != NULL &&
            memmem(text, length, foreign->other, strlen(foreign->other)) != NULL) {
            return foreign->instead;
        }
    }
    return NULL;
}
