# SPDX-License-Identifier: Apache-2.0
# bash completion for hearsay(1)

# The options of a command, and after which of them a file is wanted.
_hearsay_options()
{
    local sensed='--label --wifi --scan --at --time --topic'
    # shellcheck disable=SC2086 # several words
    case $1 in
    deposit) printf '%s\n' $sensed --no-here --ttl --file --type --reach --channel --group --epoch --host --json ;;
    channel) printf '%s\n' $sensed --here --group --host --json ;;
    context) printf '%s\n' $sensed --profile --host --json ;;
    query) printf '%s\n' $sensed --no-here --count --contains --max-distance --since --until --order \
        --metric --memory --unseen --miss --batch --channel --group --epoch --host --hood --fresh --ids --json ;;
    watch) printf '%s\n' $sensed --no-here --contains --max-distance --after-seq --since --count --metric \
        --memory --channel --group --epoch --host --ids --json ;;
    here) printf '%s\n' --memory $sensed --rounds --host --profile --json ;;
    get) printf '%s\n' --host --group --json ;;
    report) printf '%s\n' --kind --host ;;
    withdraw | export | 'admin accept') printf '%s\n' --host ;;
    'admin restore' | 'admin hide') printf '%s\n' --host --why --reason ;;
    'admin feed') printf '%s\n' --after --follow --host ;;
    'admin wait') printf '%s\n' --reported --host ;;
    'admin log') printf '%s\n' --count --host --json ;;
    import) printf '%s\n' --host --state --group --epoch --json ;;
    summary) printf '%s\n' --host --json ;;
    hosts | ping | known) printf '%s\n' --json ;;
    'admin similar') printf '%s\n' --within --limit --host --json ;;
    'admin remove') printf '%s\n' --host --why --reason --ban ;;
    'admin ban') printf '%s\n' --text --hash --label --host --distance ;;
    'admin unban') printf '%s\n' --text --hash --label --host ;;
    'admin notice') printf '%s\n' --until --lang --drop --host ;;
    'admin bans' | 'admin notices') printf '%s\n' --host --json ;;
    'admin list') printf '%s\n' --reported --pending --hidden --all --count --host --json ;;
    'admin check' | 'admin hosts') printf '%s\n' --json ;;
    'admin stats') printf '%s\n' --host --watch --interval --json --prometheus --output ;;
    profile) printf '%s\n' --labels --fpr --json ;;
    esac
    printf '%s\n' --server --tls --pin --ca --cert --key --timeout --help --version
}

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

_hearsay()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    if [[ $current == [:=] ]]; then
        current='' # a word of its own for readline: nothing of the value is there yet
    fi
    local -a words
    _hearsay_words
    local previous=''
    if ((${#words[@]} > 1)); then
        previous=${words[${#words[@]} - 2]}
    fi
    local commands='deposit query watch channel here get withdraw report import export hosts ping known summary profile
        context admin help'
    local administrative='stats hosts list restore hide remove log wait feed ban unban bans accept notice notices
        similar check backup compact reload log-level pin'
    local command='' i
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        case ${words[i]} in
        --server | --timeout | --pin | --ca | --cert | --key | -s) ((i++)) ;;
        -*) ;;
        help) ;;
        *)
            if [[ ${words[i]} == admin && -z $command ]]; then
                command=admin
                continue
            fi
            command=${command:+$command }${words[i]}
            break
            ;;
        esac
    done
    COMPREPLY=()
    case $previous in
    --file | -f | --batch | -b | --state | --scan | --memory | --unseen | -u | --group | -g | \
        --ca | --cert | --key)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --server | -s)
        # A socket's path; names of machines are for people to know.
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --channel)
        mapfile -t COMPREPLY < <(compgen -W "$(_hearsay_channels "${words[0]}")" -- "$current")
        return
        ;;
    --order | -o)
        mapfile -t COMPREPLY < <(compgen -W 'similarity time newest' -- "$current")
        return
        ;;
    --time)
        mapfile -t COMPREPLY < <(compgen -W 'now' -- "$current")
        return
        ;;
    --epoch | -e)
        mapfile -t COMPREPLY < <(compgen -W 'auto open current' -- "$current")
        return
        ;;
    --metric | -m)
        mapfile -t COMPREPLY < <(compgen -W 'phi bits' -- "$current")
        return
        ;;
    --host)
        mapfile -t COMPREPLY < <(compgen -W "$(_hearsay_hosts)" -- "$current")
        return
        ;;
    esac
    if [[ $previous == help ]]; then
        commands+=' connection'
    fi
    if [[ -z $command ]]; then
        if [[ $current == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$(_hearsay_options '')" -- "$current")
        else
            mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
        fi
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_hearsay_options "$command")" -- "$current")
    elif [[ $command == admin ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$administrative" -- "$current")
    elif [[ $command == 'admin backup' || $command == 'admin pin' ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ $command == 'admin accept' ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'open review closed auto' -- "$current")
    elif [[ $command == 'admin log-level' ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'error warning info debug' -- "$current")
    elif [[ $command == channel ]]; then
        if [[ $previous == channel ]]; then
            mapfile -t COMPREPLY < <(compgen -W 'save list remove' -- "$current")
        else
            mapfile -t COMPREPLY < <(compgen -W "$(_hearsay_channels "${words[0]}")" -- "$current")
        fi
    elif [[ $command == known && $previous == known ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'remove' -- "$current")
    elif [[ $command == known ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_hearsay_known "${words[0]}")" -- "$current")
    elif [[ $command == import ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -o filenames -F _hearsay hearsay
