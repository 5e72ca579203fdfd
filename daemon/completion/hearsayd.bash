# SPDX-License-Identifier: Apache-2.0
# bash completion for hearsayd(8)

_hearsayd()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $current == '=' ]]; then
        current='' # --config=: the sign is a word of its own
    elif [[ $previous == '=' && COMP_CWORD -gt 1 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    case $previous in
    --config | --restore | --listen)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        ;;
    --data)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        ;;
    --print-config)
        mapfile -t COMPREPLY < <(compgen -W 'cafe festival library' -- "$current")
        ;;
    --log-level)
        mapfile -t COMPREPLY < <(compgen -W 'error warning info debug' -- "$current")
        ;;
    --durability)
        mapfile -t COMPREPLY < <(compgen -W 'storage relaxed' -- "$current")
        ;;
    *)
        mapfile -t COMPREPLY < <(compgen -W '--config --data --listen --log-level --durability \
            --restore --check-config --print-config --version --help' -- "$current")
        ;;
    esac
}

complete -o filenames -F _hearsayd hearsayd
