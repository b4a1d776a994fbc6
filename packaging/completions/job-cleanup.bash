# bash completion for job-cleanup(1)
# Written by TestCompletions from the program's own options.

# _job_cleanup_options VERB [NOUN]: the options to offer, a line each.
_job_cleanup_options() {
    case "$*" in
    run) printf '%s\n' --unit --invocation --user --plan --step --skip --only --timeout --result --strict --force --json --state-dir --runtime-dir --log-file --metrics-file --help ;;
    arm) printf '%s\n' --unit --invocation --user --plan --step --skip --only --state-dir --runtime-dir --log-file --help ;;
    track) printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --help ;;
    sweep) printf '%s\n' --boot --all --json --state-dir --runtime-dir --log-file --metrics-file --help ;;
    plan) printf '%s\n' --unit --invocation --user --plan --step --skip --only --json --state-dir --runtime-dir --log-file --help ;;
    status) printf '%s\n' --json --state-dir --help ;;
    check) printf '%s\n' --all --user --json --help ;;
    generate) printf '%s\n' --exec --run-as --description --step --calendar --output --binary --user --root --kmsg --help ;;
    exec) printf '%s\n' --unit --user --plan --step --skip --only --timeout --force --state-dir --runtime-dir --log-file --metrics-file --help ;;
    history) printf '%s\n' --invocation --user --since --until --result --owed --follow --json --html --help ;;
    version) printf '%s\n' --help ;;
    help) printf '%s\n' --help ;;
    'track amqp-messages') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --address --vhost --username --password --ca-cert --force --help ;;
    'track amqp-queue') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --address --vhost --username --password --ca-cert --force --help ;;
    'track amqp-exchange') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --address --vhost --username --password --ca-cert --force --help ;;
    'track aws-profile') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --file --access-key-id --within --help ;;
    'track aws-cache') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --file --access-key-id --within --help ;;
    'track consul-lock') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --session --address --tls --ca-cert --token --session-name --datacenter --namespace --partition --help ;;
    'track consul-semaphore') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --session --address --tls --ca-cert --token --session-name --datacenter --namespace --partition --help ;;
    'track consul-session') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --address --tls --ca-cert --token --session-name --datacenter --namespace --partition --help ;;
    'track consul-keys') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --address --tls --ca-cert --token --session-name --datacenter --namespace --partition --help ;;
    'track lockfile') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --pid --holder --within --help ;;
    'track path-mount') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --exclude --within --lazy --defer --help ;;
    'track path') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --exclude --within --lazy --defer --help ;;
    'track postgres-backend') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --pid --dsn --service --service-file --host --port --database --password --pass-file --ssl-mode --ca-cert --column --equals --force --lock-timeout-sec --statement-timeout-sec --help ;;
    'track postgres-prepared') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --dsn --service --service-file --host --port --database --password --pass-file --ssl-mode --ca-cert --column --equals --force --lock-timeout-sec --statement-timeout-sec --help ;;
    'track postgres-slot') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --dsn --service --service-file --host --port --database --password --pass-file --ssl-mode --ca-cert --column --equals --force --lock-timeout-sec --statement-timeout-sec --help ;;
    'track postgres-rows') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --dsn --service --service-file --host --port --database --password --pass-file --ssl-mode --ca-cert --column --equals --force --lock-timeout-sec --statement-timeout-sec --help ;;
    'track postgres-table') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --dsn --service --service-file --host --port --database --password --pass-file --ssl-mode --ca-cert --column --equals --force --lock-timeout-sec --statement-timeout-sec --help ;;
    'track postgres-schema') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --dsn --service --service-file --host --port --database --password --pass-file --ssl-mode --ca-cert --column --equals --force --lock-timeout-sec --statement-timeout-sec --help ;;
    'track postgres-database') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --dsn --service --service-file --host --port --database --password --pass-file --ssl-mode --ca-cert --column --equals --force --lock-timeout-sec --statement-timeout-sec --help ;;
    'track redis-keys') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --address --username --password --db --tls --ca-cert --value --token --help ;;
    'track redis-lock') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --address --username --password --db --tls --ca-cert --value --token --help ;;
    'track s3-upload') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --upload-id --endpoint --region --path-style --ca-cert --access-key-id --secret-access-key --session-token --credentials --profile --help ;;
    'track s3-object') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --version-id --endpoint --region --path-style --ca-cert --access-key-id --secret-access-key --session-token --credentials --profile --help ;;
    'track vault-token') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --token --identity --address --namespace --ca-cert --help ;;
    'track vault-lease') printf '%s\n' --unit --invocation --user --state-dir --runtime-dir --log-file --forget --token --identity --address --namespace --ca-cert --help ;;
    esac
}

# _job_cleanup_takes VERB OPTION: what the option takes, nothing for a switch.
_job_cleanup_takes() {
    case "$*" in
    *' --access-key-id' | *' --address' | *' --column' | *' --database' | *' --datacenter' | *' --db' | *' --description' | *' --dsn' | *' --endpoint' | *' --equals' | *' --exec' | *' --forget' | *' --host' | *' --invocation' | *' --lock-timeout-sec' | *' --namespace' | *' --partition' | *' --pid' | *' --port' | *' --profile' | *' --region' | *' --service' | *' --session' | *' --session-name' | *' --statement-timeout-sec' | *' --step' | *' --timeout' | *' --upload-id' | *' --username' | *' --value' | *' --version-id' | *' --vhost') echo anything ;;
    *' --calendar') echo calendar ;;
    *' --binary' | *' --ca-cert' | *' --exclude' | *' --file' | *' --html' | *' --log-file' | *' --metrics-file' | *' --pass-file' | *' --plan' | *' --service-file' | *' --within') echo file ;;
    *' --output' | *' --root' | *' --runtime-dir' | *' --state-dir') echo folder ;;
    *' --holder') echo holder ;;
    *' --result') echo result ;;
    *' --credentials' | *' --identity' | *' --password' | *' --secret-access-key' | *' --session-token' | *' --token') echo secret ;;
    *' --ssl-mode') echo ssl ;;
    *' --only' | *' --skip') echo step ;;
    *' --since' | *' --until') echo time ;;
    *' --unit') echo unit ;;
    *' --run-as') echo user ;;
    *' --defer' | *' --lazy' | *' --path-style' | *' --tls' | 'track --force') echo yesno ;;
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
    start) printf '%s\n' '--help' '--version' ;;
    verb) printf '%s\n' 'run' 'arm' 'track' 'sweep' 'plan' 'status' 'check' 'generate' 'exec' 'history' 'version' 'help' ;;
    noun) printf '%s\n' 'amqp-messages' 'amqp-queue' 'amqp-exchange' 'aws-profile' 'aws-cache' 'consul-lock' 'consul-semaphore' 'consul-session' 'consul-keys' 'lockfile' 'path-mount' 'path' 'postgres-backend' 'postgres-prepared' 'postgres-slot' 'postgres-rows' 'postgres-table' 'postgres-schema' 'postgres-database' 'redis-keys' 'redis-lock' 's3-upload' 's3-object' 'vault-token' 'vault-lease' ;;
    generated) printf '%s\n' 'unit' 'timer' 'dropin' ;;
    step) printf '%s\n' 'amqp' 'aws' 'command' 'consul' 'lockfile' 'path' 'postgres' 'redis' 's3' 'unit' 'vault' ;;
    result) printf '%s\n' 'success' 'failure' 'lost' 'unknown' 'exit-code' 'signal' 'core-dump' 'timeout' 'oom-kill' 'watchdog' 'protocol' 'resources' 'exec-condition' 'start-limit-hit' 'cancelled' 'aborted' 'unstable' ;;
    calendar) printf '%s\n' 'minutely' 'hourly' 'daily' 'weekly' 'monthly' 'quarterly' 'semiannually' 'yearly' ;;
    time) printf '%s\n' 'now' 'today' 'yesterday' ;;
    yesno) printf '%s\n' 'yes' 'no' ;;
    holder) printf '%s\n' 'auto' 'pid' 'flock' ;;
    ssl) printf '%s\n' 'disable' 'allow' 'prefer' 'require' 'verify-ca' 'verify-full' ;;
    secret) printf '%s\n' 'file:' 'env:' 'credential:' 'stash:' ;;
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
    track:1) case $first in aws-cache | lockfile | path-mount | path) echo file ;; esac ;;
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
