# SPDX-License-Identifier: Apache-2.0
# /lib/functions/hearsay.sh, for the init scripts of hearsayd and of hearsay-web: makes the file of a
# program from sections of /etc/config/hearsayd. Each option becomes a line `option = value`, and the
# program's --check-config judges the lines. Only `enabled`, `network` and `port` are no keys of a
# program.
#
# A script sets HEARSAY_PROGRAM, the program's path, HEARSAY_FILE, and HEARSAY_PAGE where the program has
# a first argument, and has these functions:
#     hearsay_takes TYPE    whether sections of this type belong to the program
#     hearsay_listeners     adds the lines `listen` for hearsay_addresses
#     fixed_lines           prints what SIGHUP cannot change of HEARSAY_FILE
#     prepare               calls hearsay_prepare
# shellcheck shell=dash disable=SC2034,SC2154,SC2317,SC3043 # rc.common, scripts, uci_load use and set more

# shellcheck source=/dev/null
. /lib/functions/network.sh

hearsay_say() { # PRIORITY TEXT
	logger -s -t "${HEARSAY_PROGRAM##*/}" -p "daemon.$1" -- "$2"
}

# Sets hearsay_enabled, hearsay_port and hearsay_networks from the section NAME. Returns 1 if the
# file has a mistake, or has no such section: uci leaves an empty file when the flash is full. Returns 1 if
# port or networks are wrong: a new line in them would become a line of the program's file.
hearsay_load() { # NAME PORT
	local type report

	reset_cb
	hearsay_enabled=0 hearsay_networks='' hearsay_port="$2"
	if ! report=$(uci show hearsayd 2>&1); then
		hearsay_say err "/etc/config/hearsayd: ${report#uci: }"
		return 1
	fi
	config_load hearsayd
	config_get type "$1" TYPE
	if [ -z "$type" ]; then
		hearsay_say err "/etc/config/hearsayd has no section '$1': was the flash full? (df /overlay)"
		return 1
	fi
	config_get_bool hearsay_enabled "$1" enabled 0
	[ "$hearsay_enabled" = 1 ] || return 0
	hearsay_section="$1"
	config_get hearsay_networks "$1" network
	config_get hearsay_port "$1" port "$2"
	hearsay_is_port "$hearsay_port" ||
		hearsay_wrong port "must be a number from 1 to 65535; not \`$hearsay_port\`" || return 1
	case "$hearsay_networks" in
	*[!A-Za-z0-9_.\ -]*)
		hearsay_wrong network "must be names of networks, such as guest; not \`$hearsay_networks\`"
		;;
	esac
}

hearsay_is_port() { # TEXT
	case "$1" in
	'' | 0* | *[!0-9]* | ??????*) return 1 ;;
	esac
	[ "$1" -le 65535 ]
}

# Sets hearsay_addresses: the first IPv4 and the first IPv6 address of each network. A link-local address
# (fe80::1) holds on one link, and a listener has no word for the link.
hearsay_find_addresses() {
	local network address addresses found

	hearsay_addresses=''
	network_flush_cache
	for network in $hearsay_networks; do
		found=
		if network_get_ipaddr address "$network"; then
			append hearsay_addresses "$address"
			found=1
		fi
		network_get_ipaddrs6 addresses "$network"
		for address in $addresses; do
			case "$address" in
			[Ff][Ee][89ABab]?:*) continue ;;
			esac
			append hearsay_addresses "[$address]"
			found=1
			break
		done
		[ -n "$found" ] ||
			hearsay_say notice "network $network has no address yet: waiting for one"
	done
	network_flush_cache
}

hearsay_add() { # LINE
	hearsay_text="$hearsay_text$1
"
}

# Returns 1.
hearsay_wrong() { # OPTION SENTENCE
	hearsay_say err "hearsayd.$hearsay_section${1:+.$1} $(printf %s "$2" | tr '\n' ' ')"
	hearsay_is_wrong=1
	return 1
}

# --- what uci_load calls for each section, option and item of a list ------------------------------

hearsay_section_cb() { # TYPE NAME
	hearsay_type="$1" hearsay_section="$2"
	{ [ -n "$1" ] && hearsay_takes "$1"; } || {
		hearsay_type=
		return 0
	}
	hearsay_add "# hearsayd.$2"
	case "$1" in
	host)
		case "$2" in
		cfg[0-9]*) hearsay_wrong '' 'is a host without a name: write config host '\''NAME'\' ;;
		esac
		# A section of UCI cannot have a hyphen in its name, and a host cannot have an underscore.
		hearsay_add "[host $(echo "$2" | tr _ -)]"
		;;
	*) hearsay_add "[$1]" ;;
	esac
	case "$1" in
	daemon | web | moderate) hearsay_listeners ;;
	esac
}

hearsay_option_cb() { # OPTION VALUE
	case "$hearsay_type:$1" in
	:*) return 0 ;;
	daemon:enabled | daemon:network | daemon:port) return 0 ;;
	web:enabled | web:network | web:port) return 0 ;;
	moderate:enabled | moderate:network | moderate:port) return 0 ;;
	esac
	case "$2" in
	'') ;;
	*"
"*) hearsay_wrong "$1" 'has more than one line: use a list' ;;
	*) hearsay_add "$1 = $2" ;;
	esac
}

# --------------------------------------------------------------------------------------------------

# Names section and option instead of file and line.
hearsay_explain() { # REPORT
	echo "$1" | awk -v file="$HEARSAY_FILE.new:" '
		NR == FNR { if (/^# hearsayd\./) section = $2; at[FNR] = section; next }
		{
			sub(/^[a-z-]*: /, "")
			if (index($0, file) == 1) {
				$0 = substr($0, length(file) + 1)
				line = $0 + 0
				sub(/^[0-9]*:? */, "")
				if (line in at) $0 = at[line] ": " $0
			}
			print
		}' "$HEARSAY_FILE.new" - | while read -r line; do
		hearsay_say err "$line"
	done
}

# Makes HEARSAY_FILE, which the program's user may read. If something is wrong, says what, leaves the
# file of before as it is, and returns 1.
hearsay_make_file() {
	local report user

	hearsay_text='' hearsay_is_wrong='' hearsay_type=''
	hearsay_add "# port $hearsay_port"
	hearsay_add "# networks $hearsay_networks"
	hearsay_add "# addresses $hearsay_addresses"
	config_cb() { hearsay_section_cb "$@"; }
	option_cb() { hearsay_option_cb "$@"; }
	list_cb() { hearsay_option_cb "$@"; }
	config_load hearsayd
	reset_cb
	[ -z "$hearsay_is_wrong" ] || return 1
	if ! { mkdir -p "${HEARSAY_FILE%/*}" && (umask 027 && printf '%s' "$hearsay_text" >"$HEARSAY_FILE.new"); }; then
		hearsay_say err "cannot write $HEARSAY_FILE.new: is /tmp full?"
		return 1
	fi
	if ! report=$("$HEARSAY_PROGRAM" ${HEARSAY_PAGE:+"$HEARSAY_PAGE"} --check-config --config "$HEARSAY_FILE.new" 2>&1); then
		hearsay_explain "$report"
		return 1
	fi
	user=$(sed -n 's/^user = //p' "$HEARSAY_FILE.new")
	chgrp "$(id -g "${user:-root}")" "$HEARSAY_FILE.new" && mv "$HEARSAY_FILE.new" "$HEARSAY_FILE"
}

# Makes the file of an enabled program. If something is wrong, the file of before stays in force, with its
# port, networks and addresses: sets hearsay_refused, leaves a file .refused for LuCI, and returns 1.
hearsay_prepare() { # SECTION PORT
	hearsay_refused='' hearsay_addresses=''
	if hearsay_load "$1" "$2"; then
		[ "$hearsay_enabled" != 1 ] || hearsay_find_addresses
		if [ "$hearsay_enabled" != 1 ] || hearsay_make_file; then
			rm -f "$HEARSAY_FILE.refused"
			return 0
		fi
	fi
	mkdir -p "${HEARSAY_FILE%/*}"
	touch "$HEARSAY_FILE.refused"
	rm -f "$HEARSAY_FILE.new"
	hearsay_refused=1 hearsay_enabled=0 hearsay_networks=''
	if [ -e "$HEARSAY_FILE" ]; then
		hearsay_enabled=1
		hearsay_port=$(hearsay_note port)
		hearsay_networks=$(hearsay_note networks)
		hearsay_addresses=$(hearsay_note addresses)
		hearsay_say err 'the configuration of before stays in force'
	else
		hearsay_say err 'not started'
	fi
	return 1
}

hearsay_note() { # WORD
	sed -n "s/^# $1 //p" "$HEARSAY_FILE"
}

# The values of the keys that match, in HEARSAY_FILE.
hearsay_value() { # KEY
	sed -n "s/^$1 = //p" "$HEARSAY_FILE"
}

# --- procd's jail -----------------------------------------------------------------------------------

# Folders of sockets, and the usual one of certificates and the like. OpenWrt has /run from 25.12 on.
hearsay_make_folders() {
	[ -e /run ] || ln -s /var/run /run
	mkdir -p /var/run/hearsay /var/run/hearsay-web
	mkdir -p /etc/hearsay 2>/dev/null # not on a read-only root
}

# What a program in a jail sees: folders of the files that HEARSAY_FILE names, and some more. Not the files
# themselves: in the jail, a file that somebody replaces stays the old one. A certificate may be a link to a file
# in another folder.
hearsay_folders() {
	local path

	[ -e "$HEARSAY_FILE" ] || return 0
	{
		printf '%s\n' /etc/passwd /etc/group /etc/TZ /etc/localtime /etc/hearsay /usr/share/hearsay /run/hearsay \
			/run/hearsay-web "${HEARSAY_FILE%/*}"
		sed -n 's/^[a-z_]* = \(\/[^ ]*\).*/\1/p' "$HEARSAY_FILE" | while read -r path; do
			for path in "$path" "$(readlink -f "$path")"; do
				[ -d "$path" ] || path="${path%/*}"
				echo "$path"
			done
		done
	} | sort -u
}

# Between procd_open_instance and procd_close_instance: the program sees its own processes, its libraries and
# hearsay_folders, and writes only to the FOLDERs. Without ujail, procd starts it without a jail.
hearsay_jail() { # NAME [FOLDER]...
	local name="$1" folder written

	shift
	written="$*"
	procd_set_param env HEARSAY_END_WITH_PARENT=1
	procd_add_jail "$name" procfs ronly
	for folder in $(hearsay_folders); do
		list_contains written "$folder" || procd_add_jail_mount "$folder"
	done
	procd_add_jail_mount_rw "$@"
}

# --- what dnsmasq tells clients ---------------------------------------------------------------------

# The domain of the names that clients of dnsmasq use.
hearsay_domain() {
	local domain

	# shellcheck disable=SC2018,SC2019 # a domain has no other letters
	domain=$(uci -q get dhcp.@dnsmasq[0].domain | tr A-Z a-z)
	case "$domain" in
	'' | *[!a-z0-9.-]*) domain=lan ;;
	esac
	echo "$domain"
}

# With `localise_queries`, as in OpenWrt's /etc/config/dhcp, a client gets the address of its own network.
hearsay_host_records() { # NAME
	local address

	for address in $hearsay_addresses; do
		address="${address#[}"
		echo "host-record=$1,${address%]}"
	done
}

# dnsmasq reads its folders only when it starts.
hearsay_announce() { # TEXT
	local folder file changed=

	for folder in /tmp/dnsmasq.d /tmp/dnsmasq.*.d; do
		file="$folder/hearsay-${HEARSAY_FILE##*/}"
		[ -d "$folder" ] || continue
		[ "$(cat "$file" 2>/dev/null)" != "$1" ] || continue
		changed=1
		if [ -n "$1" ]; then
			echo "$1" >"$file"
		else
			rm -f "$file"
		fi
	done
	[ -z "$changed" ] || ! /etc/init.d/dnsmasq enabled || /etc/init.d/dnsmasq restart
}

# --- what rc.common calls in both scripts ----------------------------------------------------------

service_started() {
	[ -z "$hearsay_refused" ]
}

# procd sends SIGHUP if the file has changed. What SIGHUP cannot change needs another process, and so do other
# folders in the jail. The file is made only once: UCI may change between two times.
reload_service() {
	local before

	before=$(fixed_lines; hearsay_folders)
	prepare || return
	[ "$before" = "$(fixed_lines; hearsay_folders)" ] || stop
	hearsay_is_prepared=1
	start
}

# rc.common calls this for the stop in a restart and in a reload, too.
service_stopped() {
	[ "$action" != stop ] || hearsay_announce ''
}

hearsay_triggers() {
	local network

	procd_add_reload_trigger hearsayd
	for network in $hearsay_networks; do
		procd_add_reload_interface_trigger "$network"
	done
}

service_triggers() {
	hearsay_triggers
}
