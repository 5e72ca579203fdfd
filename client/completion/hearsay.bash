# SPDX-License-Identifier: Apache-2.0
# bash completion for hearsay(1). Commands, options, and what they take are those of the program's help.

# Fills `words` with what stands before the cursor, as the program would be given it but for quotes.
# COMP_WORDS has other pieces: readline also splits at : and =, as in --server=NAME:PORT.
_hearsay_words()
{
    local line=${COMP_LINE:0:COMP_POINT} word
    local -a pieces
    read -ra pieces <<< "$line"
    if [[ $line == *[[:blank:]] ]]; then
        pieces+=('')
    fi
    words=()
    for word in "${pieces[@]}"; do
        if [[ $word == --*=* ]]; then
            words+=("${word%%=*}" "${word#*=}")
        else
            words+=("$word")
        fi
    done
}

# The names of the hosts of the server that the line names, or else the environment; nothing where it
# does not answer at once.
_hearsay_hosts()
{
    local -a how=()
    local i
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        case ${words[i]} in
        --server | --pin | --ca | --cert | --key | -s) how+=("${words[i]}" "${words[i + 1]}") ;;
        --tls) how+=(--tls) ;;
        esac
    done
    "${words[0]}" "${how[@]}" --timeout 500ms hosts 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# The servers that the user has met with --tls.
_hearsay_known()
{
    "$1" known 2>/dev/null | awk '{ print $1 }'
}

# The names of the user's channels.
_hearsay_channels()
{
    "$1" channel list 2>/dev/null | awk '{ print $1 }'
}

# Reads the help of a command: its usage, the commands below it, its options, and in `takes` the value
# of each option that has one.
_hearsay_help()
{
    local line section=''
    while IFS= read -r line; do
        if [[ $line == Usage:* ]]; then
            usage=${line#*" hearsay $*"}
        elif [[ $line =~ ^[A-Z].*:$ || -z $line ]]; then
            section=$line
        elif [[ $section == Commands: && $line =~ ^\ \ ([a-z-]+)\  ]]; then
            commands+=("${BASH_REMATCH[1]}")
        elif [[ $section == Options* && $line =~ ^\ \ (-.,\ |\ {4})(--[a-z-]+)(\ [^\ ]+)? ]]; then
            options+=("${BASH_REMATCH[2]}")
            if [[ -n ${BASH_REMATCH[3]} ]]; then
                takes[${BASH_REMATCH[2]}]=${BASH_REMATCH[3]# }
                takes[${BASH_REMATCH[1]%, }]=${BASH_REMATCH[3]# }
            fi
        fi
    done < <("${words[0]}" help "$@" 2>/dev/null)
}

# What may stand at a place of the usage line, such as FILE or open|review: the alternatives of
# "save NAME CONTEXT... [OPTION]... | remove NAME" that begin with the arguments there are.
_hearsay_place()
{
    local -a alternatives pieces
    local alternative option='(--[a-z-]+|-[a-z])( [A-Z.]+)?'
    while [[ $usage =~ \[OPTION\]...|$option ]]; do
        usage=${usage/"${BASH_REMATCH[0]}"/}
    done
    usage=${usage//[\[\]]/}
    IFS=';' read -ra alternatives <<< "${usage// | /;}"
    for alternative in "${alternatives[@]}"; do
        read -ra pieces <<< "$alternative"
        if (($# == 0)) || [[ ${pieces[0]} == "$1" ]]; then
            printf '%s|' "${pieces[$#]}"
        fi
    done
}

# Completes a value by what the help calls it: FILE, or words like a|b.
_hearsay_value()
{
    local kind
    local -a kinds found=()
    IFS='|' read -ra kinds <<< "$1"
    for kind in "${kinds[@]}"; do
        case $kind in
        FILE | ADDRESS) mapfile -t found < <(compgen -f -- "$current") ;; # the path of a socket, too
        HOST) mapfile -t found < <(compgen -W "$(_hearsay_hosts)" -- "$current") ;;
        HOST:PORT) mapfile -t found < <(compgen -W "$(_hearsay_known "${words[0]}")" -- "$current") ;;
        NAME) mapfile -t found < <(compgen -W "$(_hearsay_channels "${words[0]}")" -- "$current") ;;
        [a-z]*) mapfile -t found < <(compgen -W "$kind" -- "$current") ;;
        *) found=() ;;
        esac
        COMPREPLY+=("${found[@]}")
    done
}

_hearsay()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    if [[ $current == [:=] ]]; then
        current='' # a word of its own for readline: nothing of the value is there yet
    fi
    local -a words commands=() options=() command=() arguments=()
    local -A takes=()
    local usage='' i
    COMPREPLY=()
    _hearsay_words
    _hearsay_help
    commands+=(help)
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        if [[ ${words[i]} == -* ]]; then
            if [[ -n ${takes[${words[i]}]:-} ]]; then
                ((i++))
            fi
        elif [[ ${words[i]} == help && ${#command[@]} == 0 ]]; then
            commands+=(connection)
        elif ((${#commands[@]} > 0)); then # the name of a command, or of one below it
            command+=("${words[i]}")
            commands=()
            _hearsay_help "${command[@]}"
        else
            arguments+=("${words[i]}")
        fi
    done
    local value=''
    if ((${#words[@]} > 2)); then
        value=${takes[${words[${#words[@]} - 2]}]:-}
    fi
    if [[ -n $value ]]; then
        _hearsay_value "$value"
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${options[*]}" -- "$current")
    elif ((${#commands[@]} > 0)); then
        mapfile -t COMPREPLY < <(compgen -W "${commands[*]}" -- "$current")
    elif ((${#arguments[@]} < 2)); then
        _hearsay_value "$(_hearsay_place "${arguments[@]}")"
    fi
}

complete -o filenames -F _hearsay hearsay
