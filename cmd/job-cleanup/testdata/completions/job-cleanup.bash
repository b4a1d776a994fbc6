# bash completion for job-cleanup(1)
# Written by TestCompletions from the program's own options.

# _job_cleanup_options VERB [NOUN]: the options to offer, a line each.
_job_cleanup_options() {
    case "$*" in
{{- range .Verbs}}
    {{.Name}}) printf '%s\n' {{range .Flags}}--{{.Name}} {{end}}--help ;;
{{- end}}
{{- range .Nouns}}
    'track {{.Name}}') printf '%s\n' {{range .Flags}}--{{.Name}} {{end}}--help ;;
{{- end}}
    esac
}

# _job_cleanup_takes VERB OPTION: what the option takes, nothing for a switch.
_job_cleanup_takes() {
    case "$*" in
{{- range .Takes}}
    {{range $i, $w := .Words}}{{if $i}} | {{end}}{{pattern $w}}{{end}}) echo {{.What}} ;;
{{- end}}
    esac
}

_job_cleanup_units() {
    {
        systemctl "${manager[@]}" list-unit-files --no-legend --no-pager --plain --full --type=service
        systemctl "${manager[@]}" list-units --no-legend --no-pager --plain --full --all --type=service
    } 2>/dev/null | {
        while read -r name _; do
            [[ $1 == "templates too" || $name != *@.service ]] && printf '%q\n' "$name"
        done
    } | sort -u
}

# _job_cleanup_values WHAT: candidates for an option or an argument, a line each.
# Files are left to readline, which knows how to quote them.
_job_cleanup_values() {
    case $1 in
{{- range .Words}}
    {{.What}}) printf '%s\n' {{range $i, $w := .Words}}{{if $i}} {{end}}{{quote $w}}{{end}} ;;
{{- end}}
    unit) _job_cleanup_units ;;
    template) _job_cleanup_units "templates too" ;;
    user) compgen -u -- "$current" ;;
    options) _job_cleanup_options "$verb" ${first:+"$first"} ;;
    esac
}

# _job_cleanup_words: puts together what readline broke, since it breaks at = @
# and : too, up to the cursor. starts has where each word begins in COMP_WORDS.
_job_cleanup_words() {
    local rest=${COMP_LINE:0:COMP_POINT} trimmed word i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        trimmed=${rest#"${rest%%[![:blank:]]*}"}
        word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$trimmed
        if [[ $i == 0 || $trimmed != "$rest" ]]; then
            words+=("$word") starts+=("$i")
        else
            words[-1]+=$word
        fi
        rest=${trimmed#"$word"}
    done
}

# _job_cleanup_read: what stands before the current word: the number of
# arguments, the first of them, and where the command of exec begins.
_job_cleanup_read() {
    local i word takes=
    for ((i = 2; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $takes ]]; then
            takes=
        elif [[ $verb == exec && $word == -- ]]; then
            command=$((i + 1))
            return
        elif [[ $word == --*=* ]]; then
            continue
        elif [[ $word == -* ]]; then
            takes=$(_job_cleanup_takes "$verb" "$word")
        elif [[ $verb == exec ]]; then
            command=$i
            return
        else
            ((++arguments == 1)) && first=$word
        fi
    done
    expected=$takes
}

# _job_cleanup_argument: what the verb takes at this place.
_job_cleanup_argument() {
    case $verb:$arguments in
    run:0 | plan:0 | status:0 | history:0) echo unit ;;
    check:*) echo template file ;;
    track:0) echo noun ;;
    track:1) case $first in {{range $i, $n := .FileNouns}}{{if $i}} | {{end}}{{$n}}{{end}}) echo file ;; esac ;;
    generate:0) echo generated ;;
    generate:1) [[ $first != unit ]] && echo template ;;
    help:0) echo verb ;;
    esac
}

# _job_cleanup_command: the command of exec, as if it stood alone.
_job_cleanup_command() {
    if ((command == ${#words[@]} - 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current" | sort -u)
    elif declare -F _command_offset >/dev/null; then
        _command_offset "${starts[command]}"
    else
        compopt -o default
    fi
}

_job_cleanup() {
    local current verb first='' expected='' what value kept arguments=0 command=0
    local -a words=() starts=() manager=()
    COMPREPLY=()
    _job_cleanup_words
    current=${words[-1]} verb=${words[1]-}
    [[ " ${words[*]} " == *" --user "* ]] && manager=(--user)

    if [[ ${#words[@]} -le 2 ]]; then
        what=verb
        [[ $current == -* ]] && what=start
    else
        _job_cleanup_read
        if [[ $verb == exec && $command == 0 && -z $expected && $current != -* ]]; then
            command=$((${#words[@]} - 1))
        fi
        if ((command > 0)); then
            _job_cleanup_command
            return
        elif [[ $expected ]]; then
            what=$expected
        elif [[ $current == --*=* ]]; then
            what=$(_job_cleanup_takes "$verb" "${current%%=*}")
            current=${current#*=}
        elif [[ $current == -* ]]; then
            what=options
        else
            what=$(_job_cleanup_argument)
        fi
    fi

    # Readline replaces only what stands behind the last of its breaks.
    kept=${current%"${current##*[$COMP_WORDBREAKS]}"}
    while IFS= read -r value; do
        [[ $value == "$current"* ]] && COMPREPLY+=("${value#"$kept"}")
    done < <(for value in $what; do _job_cleanup_values "$value"; done)
    case " $what " in
    *" file "*) compopt -o default ;;
    *" folder "*) compopt -o dirnames ;;
    *" secret "*) compopt -o nospace ;;
    esac
}

complete -F _job_cleanup job-cleanup
