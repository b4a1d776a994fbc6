# fish completion for job-cleanup(1)
# Written by TestCompletions from the program's own options.

# __job_cleanup_takes VERB OPTION: whether a word of its own follows the option.
function __job_cleanup_takes
    switch "$argv"
        case '* --access-key-id' '* --address' '* --column' '* --database' '* --datacenter' '* --db' '* --description' '* --dsn' '* --endpoint' '* --equals' '* --exec' '* --forget' '* --host' '* --invocation' '* --lock-timeout-sec' '* --namespace' '* --partition' '* --pid' '* --port' '* --profile' '* --region' '* --service' '* --session' '* --session-name' '* --statement-timeout-sec' '* --step' '* --timeout' '* --upload-id' '* --username' '* --value' '* --version-id' '* --vhost'
            return 0
        case '* --calendar'
            return 0
        case '* --binary' '* --ca-cert' '* --exclude' '* --file' '* --html' '* --log-file' '* --metrics-file' '* --pass-file' '* --plan' '* --service-file' '* --within'
            return 0
        case '* --output' '* --root' '* --runtime-dir' '* --state-dir'
            return 0
        case '* --holder'
            return 0
        case '* --result'
            return 0
        case '* --credentials' '* --identity' '* --password' '* --secret-access-key' '* --session-token' '* --token'
            return 0
        case '* --ssl-mode'
            return 0
        case '* --only' '* --skip'
            return 0
        case '* --since' '* --until'
            return 0
        case '* --unit'
            return 0
        case '* --run-as'
            return 0
        case '* --defer' '* --lazy' '* --path-style' '* --tls' 'track --force'
            return 0
    end
    return 1
end

# __job_cleanup_arguments: the verb and its arguments before the cursor, without
# options. For exec, what stands behind the options.
function __job_cleanup_arguments
    set -l words (commandline -opc)
    set -l verb $words[2]
    set -l skip no
    echo $verb
    for i in (seq 3 (count $words))
        set -l word $words[$i]
        if test $skip = yes
            set skip no
        else if test "$verb $word" = 'exec --'
            printf '%s\n' $words[$i..-1]
            return
        else if string match -q -- '-*' $word
            not string match -q -- '*=*' $word
            and __job_cleanup_takes $verb $word
            and set skip yes
        else if test "$verb" = exec
            printf '%s\n' $words[$i..-1]
            return
        else
            echo $word
        end
    end
end

# __job_cleanup_at VERB [N [FIRST...]]: whether the cursor is in that verb, at
# its Nth argument, behind one of those.
function __job_cleanup_at
    set -l words (__job_cleanup_arguments)
    test "$words[1]" = $argv[1]
    or return
    set -q argv[2]
    or begin
        # Options of exec end where its command begins.
        test "$argv[1]" != exec -o (count $words) = 1
        return
    end
    test (count $words) = $argv[2]
    or return
    set -q argv[3]
    or return 0
    contains -- $words[2] $argv[3..]
end

function __job_cleanup_starts
    test (count (commandline -opc)) = 1
end

function __job_cleanup_tracks
    set -l words (__job_cleanup_arguments)
    test "$words[1]" = track
    and contains -- "$words[2]" $argv
end

# __job_cleanup_units [template]: services, and templates too.
function __job_cleanup_units
    set -l manager
    contains -- --user (commandline -opc)
    and set manager --user
    set -l units (begin
        systemctl $manager list-unit-files --no-legend --no-pager --plain --full --type=service
        systemctl $manager list-units --no-legend --no-pager --plain --full --all --type=service
    end 2>/dev/null | string replace -r ' .*' '')
    if set -q argv[1]
        string join -- \n $units
    else
        string match -v -- '*@.service' $units
    end | sort -u
end

# __job_cleanup_command: the command of exec, as if it stood alone.
function __job_cleanup_command
    set -l words (__job_cleanup_arguments)
    test "$words[2]" = --
    and set -e words[2]
    complete -C (string join ' ' -- (string escape -- $words[2..]) (commandline -ct))
end

function __job_cleanup_exec
    set -l words (__job_cleanup_arguments)
    test "$words[1]" = exec
    and begin
        test (count $words) -gt 1
        or not string match -q -- '-*' (commandline -ct)
    end
end

complete -c job-cleanup -f
complete -c job-cleanup -n __job_cleanup_starts -l help -d 'show the verbs'
complete -c job-cleanup -n __job_cleanup_starts -l version -d 'print the version'
complete -c job-cleanup -n __job_cleanup_starts -a run -d 'the hook: clean up now after a job'
complete -c job-cleanup -n __job_cleanup_starts -a arm -d 'before the job: write down what will have to go'
complete -c job-cleanup -n __job_cleanup_starts -a track -d 'add residue to this job\'s ledger, during the job'
complete -c job-cleanup -n __job_cleanup_starts -a sweep -d 'clean up what jobs that are over still owe'
complete -c job-cleanup -n __job_cleanup_starts -a plan -d 'what run would remove, and why not the rest'
complete -c job-cleanup -n __job_cleanup_starts -a status -d 'what is owed now, and why'
complete -c job-cleanup -n __job_cleanup_starts -a check -d 'what is wrong with plans and their wiring, and the fix'
complete -c job-cleanup -n __job_cleanup_starts -a generate -d 'write units, timers and drop-ins with the wiring'
complete -c job-cleanup -n __job_cleanup_starts -a exec -d 'run a command as the job, then clean up after it'
complete -c job-cleanup -n __job_cleanup_starts -a history -d 'past cleanups, from the journal'
complete -c job-cleanup -n __job_cleanup_starts -a version -d 'print the version'
complete -c job-cleanup -n __job_cleanup_starts -a help -d 'the list of verbs, or the help of one'

complete -c job-cleanup -n '__job_cleanup_at run' -l unit -x -a '(__job_cleanup_units)' -d 'the job\'s UNIT, instead of finding out'
complete -c job-cleanup -n '__job_cleanup_at run' -l invocation -x -d 'the job\'s invocation ID, instead of finding out'
complete -c job-cleanup -n '__job_cleanup_at run' -l user -d 'the unit belongs to the caller\'s user manager'
complete -c job-cleanup -n '__job_cleanup_at run' -l plan -r -F -d 'read the [X-Cleanup] sections of FILE instead of the unit\'s'
complete -c job-cleanup -n '__job_cleanup_at run' -l step -x -d 'a step in one LINE: \'Path Remove=/var/tmp/batch-%i\''
complete -c job-cleanup -n '__job_cleanup_at run' -l skip -x -a 'amqp aws command consul lockfile path postgres redis s3 unit vault' -d 'leave out steps of this NAME or kind'
complete -c job-cleanup -n '__job_cleanup_at run' -l only -x -a 'amqp aws command consul lockfile path postgres redis s3 unit vault' -d 'take only steps of this NAME or kind'
complete -c job-cleanup -n '__job_cleanup_at run' -l timeout -x -d 'take at most this SPAN instead of TimeoutSec='
complete -c job-cleanup -n '__job_cleanup_at run' -l result -x -a 'success failure lost unknown exit-code signal core-dump timeout oom-kill watchdog protocol resources exec-condition start-limit-hit cancelled aborted unstable' -d 'how the job ended, in a WORD: success, failure, cancelled, …'
complete -c job-cleanup -n '__job_cleanup_at run' -l strict -d 'exit 1 when something is owed or refused'
complete -c job-cleanup -n '__job_cleanup_at run' -l force -d 'also while the unit is active'
complete -c job-cleanup -n '__job_cleanup_at run' -l json -d 'print records as JSON lines'
complete -c job-cleanup -n '__job_cleanup_at run' -l state-dir -x -a '(__fish_complete_directories)' -d 'keep the ledgers below DIR'
complete -c job-cleanup -n '__job_cleanup_at run' -l runtime-dir -x -a '(__fish_complete_directories)' -d 'keep stashed secrets below DIR'
complete -c job-cleanup -n '__job_cleanup_at run' -l log-file -r -F -d 'append the journal\'s records to FILE as JSON lines'
complete -c job-cleanup -n '__job_cleanup_at run' -l metrics-file -r -F -d 'keep FILE for node_exporter\'s textfile collector'
complete -c job-cleanup -n '__job_cleanup_at run' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at arm' -l unit -x -a '(__job_cleanup_units)' -d 'the job\'s UNIT, instead of finding out'
complete -c job-cleanup -n '__job_cleanup_at arm' -l invocation -x -d 'the job\'s invocation ID, instead of finding out'
complete -c job-cleanup -n '__job_cleanup_at arm' -l user -d 'the unit belongs to the caller\'s user manager'
complete -c job-cleanup -n '__job_cleanup_at arm' -l plan -r -F -d 'read the [X-Cleanup] sections of FILE instead of the unit\'s'
complete -c job-cleanup -n '__job_cleanup_at arm' -l step -x -d 'a step in one LINE: \'Path Remove=/var/tmp/batch-%i\''
complete -c job-cleanup -n '__job_cleanup_at arm' -l skip -x -a 'amqp aws command consul lockfile path postgres redis s3 unit vault' -d 'leave out steps of this NAME or kind'
complete -c job-cleanup -n '__job_cleanup_at arm' -l only -x -a 'amqp aws command consul lockfile path postgres redis s3 unit vault' -d 'take only steps of this NAME or kind'
complete -c job-cleanup -n '__job_cleanup_at arm' -l state-dir -x -a '(__fish_complete_directories)' -d 'keep the ledgers below DIR'
complete -c job-cleanup -n '__job_cleanup_at arm' -l runtime-dir -x -a '(__fish_complete_directories)' -d 'keep stashed secrets below DIR'
complete -c job-cleanup -n '__job_cleanup_at arm' -l log-file -r -F -d 'append the journal\'s records to FILE as JSON lines'
complete -c job-cleanup -n '__job_cleanup_at arm' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at track' -l unit -x -a '(__job_cleanup_units)' -d 'the job\'s UNIT, instead of finding out'
complete -c job-cleanup -n '__job_cleanup_at track' -l invocation -x -d 'the job\'s invocation ID, instead of finding out'
complete -c job-cleanup -n '__job_cleanup_at track' -l user -d 'the unit belongs to the caller\'s user manager'
complete -c job-cleanup -n '__job_cleanup_at track' -l state-dir -x -a '(__fish_complete_directories)' -d 'keep the ledgers below DIR'
complete -c job-cleanup -n '__job_cleanup_at track' -l runtime-dir -x -a '(__fish_complete_directories)' -d 'keep stashed secrets below DIR'
complete -c job-cleanup -n '__job_cleanup_at track' -l log-file -r -F -d 'append the journal\'s records to FILE as JSON lines'
complete -c job-cleanup -n '__job_cleanup_at track' -l forget -x -d 'take back what was tracked with this ID'
complete -c job-cleanup -n '__job_cleanup_at track' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at sweep' -l boot -d 'only what is on this machine, rested or not: for a boot, before there is a network'
complete -c job-cleanup -n '__job_cleanup_at sweep' -l all -d 'also what rests after a try in vain'
complete -c job-cleanup -n '__job_cleanup_at sweep' -l json -d 'print records as JSON lines'
complete -c job-cleanup -n '__job_cleanup_at sweep' -l state-dir -x -a '(__fish_complete_directories)' -d 'keep the ledgers below DIR'
complete -c job-cleanup -n '__job_cleanup_at sweep' -l runtime-dir -x -a '(__fish_complete_directories)' -d 'keep stashed secrets below DIR'
complete -c job-cleanup -n '__job_cleanup_at sweep' -l log-file -r -F -d 'append the journal\'s records to FILE as JSON lines'
complete -c job-cleanup -n '__job_cleanup_at sweep' -l metrics-file -r -F -d 'keep FILE for node_exporter\'s textfile collector'
complete -c job-cleanup -n '__job_cleanup_at sweep' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at plan' -l unit -x -a '(__job_cleanup_units)' -d 'the job\'s UNIT, instead of finding out'
complete -c job-cleanup -n '__job_cleanup_at plan' -l invocation -x -d 'the job\'s invocation ID, instead of finding out'
complete -c job-cleanup -n '__job_cleanup_at plan' -l user -d 'the unit belongs to the caller\'s user manager'
complete -c job-cleanup -n '__job_cleanup_at plan' -l plan -r -F -d 'read the [X-Cleanup] sections of FILE instead of the unit\'s'
complete -c job-cleanup -n '__job_cleanup_at plan' -l step -x -d 'a step in one LINE: \'Path Remove=/var/tmp/batch-%i\''
complete -c job-cleanup -n '__job_cleanup_at plan' -l skip -x -a 'amqp aws command consul lockfile path postgres redis s3 unit vault' -d 'leave out steps of this NAME or kind'
complete -c job-cleanup -n '__job_cleanup_at plan' -l only -x -a 'amqp aws command consul lockfile path postgres redis s3 unit vault' -d 'take only steps of this NAME or kind'
complete -c job-cleanup -n '__job_cleanup_at plan' -l json -d 'print records as JSON lines'
complete -c job-cleanup -n '__job_cleanup_at plan' -l state-dir -x -a '(__fish_complete_directories)' -d 'keep the ledgers below DIR'
complete -c job-cleanup -n '__job_cleanup_at plan' -l runtime-dir -x -a '(__fish_complete_directories)' -d 'keep stashed secrets below DIR'
complete -c job-cleanup -n '__job_cleanup_at plan' -l log-file -r -F -d 'append the journal\'s records to FILE as JSON lines'
complete -c job-cleanup -n '__job_cleanup_at plan' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at status' -l json -d 'print one JSON object a line'
complete -c job-cleanup -n '__job_cleanup_at status' -l state-dir -x -a '(__fish_complete_directories)' -d 'read the ledgers below DIR'
complete -c job-cleanup -n '__job_cleanup_at status' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at check' -l all -d 'also list the loaded oneshots that have no cleanup at all'
complete -c job-cleanup -n '__job_cleanup_at check' -l user -d 'the units belong to the caller\'s user manager'
complete -c job-cleanup -n '__job_cleanup_at check' -l json -d 'print one JSON object a line'
complete -c job-cleanup -n '__job_cleanup_at check' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at generate' -l exec -x -d 'of unit: the job\'s COMMAND line'
complete -c job-cleanup -n '__job_cleanup_at generate' -l run-as -x -a '(__fish_complete_users)' -d 'of unit: the job\'s USER, instead of root'
complete -c job-cleanup -n '__job_cleanup_at generate' -l description -x -d 'of unit: a TEXT for people'
complete -c job-cleanup -n '__job_cleanup_at generate' -l step -x -d 'of unit: a step in one LINE: \'Path Remove=/var/tmp/batch-%i\''
complete -c job-cleanup -n '__job_cleanup_at generate' -l calendar -x -a 'minutely hourly daily weekly monthly quarterly semiannually yearly' -d 'of timer: WHEN it runs, as on OnCalendar='
complete -c job-cleanup -n '__job_cleanup_at generate' -l output -x -a '(__fish_complete_directories)' -d 'write the file into DIR instead of printing it'
complete -c job-cleanup -n '__job_cleanup_at generate' -l binary -r -F -d 'the PATH of job-cleanup that units name'
complete -c job-cleanup -n '__job_cleanup_at generate' -l user -d 'the units belong to the caller\'s user manager'
complete -c job-cleanup -n '__job_cleanup_at generate' -l root -x -a '(__fish_complete_directories)' -d 'of generator: look for units below DIR, as in an image'
complete -c job-cleanup -n '__job_cleanup_at generate' -l kmsg -d 'of generator: complain to the kernel\'s log, as there is no other yet'
complete -c job-cleanup -n '__job_cleanup_at generate' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at exec' -l unit -x -a '(__job_cleanup_units)' -d 'be a job of this UNIT: its sections, its specifiers'
complete -c job-cleanup -n '__job_cleanup_at exec' -l user -d 'the unit belongs to the caller\'s user manager'
complete -c job-cleanup -n '__job_cleanup_at exec' -l plan -r -F -d 'read the [X-Cleanup] sections of FILE instead of the unit\'s'
complete -c job-cleanup -n '__job_cleanup_at exec' -l step -x -d 'a step in one LINE: \'Path Remove=/var/tmp/batch-%i\''
complete -c job-cleanup -n '__job_cleanup_at exec' -l skip -x -a 'amqp aws command consul lockfile path postgres redis s3 unit vault' -d 'leave out steps of this NAME or kind'
complete -c job-cleanup -n '__job_cleanup_at exec' -l only -x -a 'amqp aws command consul lockfile path postgres redis s3 unit vault' -d 'take only steps of this NAME or kind'
complete -c job-cleanup -n '__job_cleanup_at exec' -l timeout -x -d 'clean for at most this SPAN instead of TimeoutSec='
complete -c job-cleanup -n '__job_cleanup_at exec' -l force -d 'also while the unit is active'
complete -c job-cleanup -n '__job_cleanup_at exec' -l state-dir -x -a '(__fish_complete_directories)' -d 'keep the ledgers below DIR'
complete -c job-cleanup -n '__job_cleanup_at exec' -l runtime-dir -x -a '(__fish_complete_directories)' -d 'keep stashed secrets below DIR'
complete -c job-cleanup -n '__job_cleanup_at exec' -l log-file -r -F -d 'append the journal\'s records to FILE as JSON lines'
complete -c job-cleanup -n '__job_cleanup_at exec' -l metrics-file -r -F -d 'keep FILE for node_exporter\'s textfile collector'
complete -c job-cleanup -n '__job_cleanup_at exec' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at history' -l invocation -x -d 'show all records of the job with this invocation ID'
complete -c job-cleanup -n '__job_cleanup_at history' -l user -d 'only the caller\'s own records'
complete -c job-cleanup -n '__job_cleanup_at history' -l since -x -a 'now today yesterday' -d 'from this TIME on, as journalctl takes it: \'-2h\', yesterday'
complete -c job-cleanup -n '__job_cleanup_at history' -l until -x -a 'now today yesterday' -d 'up to this TIME'
complete -c job-cleanup -n '__job_cleanup_at history' -l result -x -a 'success failure lost unknown exit-code signal core-dump timeout oom-kill watchdog protocol resources exec-condition start-limit-hit cancelled aborted unstable' -d 'only jobs that ended with one of these WORDs, failure for all bad ones'
complete -c job-cleanup -n '__job_cleanup_at history' -l owed -d 'only cleanups that left something owed'
complete -c job-cleanup -n '__job_cleanup_at history' -l follow -d 'go on as cleanups happen'
complete -c job-cleanup -n '__job_cleanup_at history' -l json -d 'print one JSON object a line'
complete -c job-cleanup -n '__job_cleanup_at history' -l html -r -F -d 'write one page with a timeline to FILE, - for standard output'
complete -c job-cleanup -n '__job_cleanup_at history' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at version' -l help -d 'show the options'
complete -c job-cleanup -n '__job_cleanup_at help' -l help -d 'show the options'

complete -c job-cleanup -n '__job_cleanup_tracks amqp-messages amqp-queue amqp-exchange consul-lock consul-semaphore consul-session consul-keys redis-keys redis-lock vault-token vault-lease' -l address -x -d 'Address= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks amqp-messages amqp-queue amqp-exchange' -l vhost -x -d 'Vhost= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks amqp-messages amqp-queue amqp-exchange redis-keys redis-lock' -l username -x -d 'Username= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks amqp-messages amqp-queue amqp-exchange postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database redis-keys redis-lock' -l password -x -a 'file: env: credential: stash:' -d 'Password= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks amqp-messages amqp-queue amqp-exchange consul-lock consul-semaphore consul-session consul-keys postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database redis-keys redis-lock s3-upload s3-object vault-token vault-lease' -l ca-cert -r -F -d 'CACert= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks amqp-messages amqp-queue amqp-exchange postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l force -x -a 'yes no' -d 'Force= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks aws-profile aws-cache' -l file -r -F -d 'File= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks aws-profile aws-cache s3-upload s3-object' -l access-key-id -x -d 'AccessKeyID= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks aws-profile aws-cache lockfile path-mount path' -l within -r -F -d 'Within= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks consul-lock consul-semaphore' -l session -x -d 'The id of the session that holds it, or will'
complete -c job-cleanup -n '__job_cleanup_tracks consul-lock consul-semaphore consul-session consul-keys redis-keys redis-lock' -l tls -x -a 'yes no' -d 'TLS= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks consul-lock consul-semaphore consul-session consul-keys redis-keys redis-lock vault-token vault-lease' -l token -x -a 'file: env: credential: stash:' -d 'Token= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks consul-lock consul-semaphore consul-session consul-keys' -l session-name -x -d 'SessionName= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks consul-lock consul-semaphore consul-session consul-keys' -l datacenter -x -d 'Datacenter= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks consul-lock consul-semaphore consul-session consul-keys vault-token vault-lease' -l namespace -x -d 'Namespace= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks consul-lock consul-semaphore consul-session consul-keys' -l partition -x -d 'Partition= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks lockfile' -l pid -x -d 'The process that holds the lock, where the file does not say it'
complete -c job-cleanup -n '__job_cleanup_tracks lockfile' -l holder -x -a 'auto pid flock' -d 'Holder= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks path-mount path' -l exclude -r -F -d 'Exclude= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks path-mount path' -l lazy -x -a 'yes no' -d 'Lazy= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks path-mount path' -l defer -x -a 'yes no' -d 'Defer= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend' -l pid -x -d 'the backend\'s process id, as pg_backend_pid() says'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l dsn -x -d 'DSN= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l service -x -d 'Service= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l service-file -r -F -d 'ServiceFile= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l host -x -d 'Host= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l port -x -d 'Port= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l database -x -d 'Database= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l pass-file -r -F -d 'PassFile= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l ssl-mode -x -a 'disable allow prefer require verify-ca verify-full' -d 'SSLMode= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l column -x -d 'Column= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l equals -x -d 'Equals= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l lock-timeout-sec -x -d 'LockTimeoutSec= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks postgres-backend postgres-prepared postgres-slot postgres-rows postgres-table postgres-schema postgres-database' -l statement-timeout-sec -x -d 'StatementTimeoutSec= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks redis-keys redis-lock' -l db -x -d 'DB= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks redis-keys redis-lock' -l value -x -d 'Value= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks s3-upload' -l upload-id -x -d 'The id of the upload, as CreateMultipartUpload returned it'
complete -c job-cleanup -n '__job_cleanup_tracks s3-upload s3-object' -l endpoint -x -d 'Endpoint= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks s3-upload s3-object' -l region -x -d 'Region= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks s3-upload s3-object' -l path-style -x -a 'yes no' -d 'PathStyle= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks s3-upload s3-object' -l secret-access-key -x -a 'file: env: credential: stash:' -d 'SecretAccessKey= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks s3-upload s3-object' -l session-token -x -a 'file: env: credential: stash:' -d 'SessionToken= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks s3-upload s3-object' -l credentials -x -a 'file: env: credential: stash:' -d 'Credentials= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks s3-upload s3-object' -l profile -x -d 'Profile= of the plan'
complete -c job-cleanup -n '__job_cleanup_tracks s3-object' -l version-id -x -d 'The version of the object; without it all that were written within the job'
complete -c job-cleanup -n '__job_cleanup_tracks vault-token vault-lease' -l identity -x -a 'file: env: credential: stash:' -d 'Identity= of the plan'

for verb in run plan status history
    complete -c job-cleanup -n "__job_cleanup_at $verb 1" -a '(__job_cleanup_units)'
end
complete -c job-cleanup -n '__job_cleanup_at check' -F -a '(__job_cleanup_units template)'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a amqp-messages -d 'PurgeQueue= of X-Cleanup.Amqp'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a amqp-queue -d 'DeleteQueue= of X-Cleanup.Amqp'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a amqp-exchange -d 'DeleteExchange= of X-Cleanup.Amqp'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a aws-profile -d 'RemoveProfile= of X-Cleanup.Aws'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a aws-cache -d 'RemoveCache= of X-Cleanup.Aws'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a consul-lock -d 'ReleaseLock= of X-Cleanup.Consul'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a consul-semaphore -d 'ReleaseSemaphore= of X-Cleanup.Consul'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a consul-session -d 'DestroySession= of X-Cleanup.Consul'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a consul-keys -d 'DeleteKeys= of X-Cleanup.Consul'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a lockfile -d 'Remove= of X-Cleanup.Lockfile'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a path-mount -d 'Unmount= of X-Cleanup.Path'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a path -d 'Remove= of X-Cleanup.Path'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a postgres-backend -d 'TerminateBackends= of X-Cleanup.Postgres'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a postgres-prepared -d 'RollbackPrepared= of X-Cleanup.Postgres'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a postgres-slot -d 'DropSlot= of X-Cleanup.Postgres'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a postgres-rows -d 'DeleteFrom= of X-Cleanup.Postgres'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a postgres-table -d 'Truncate= of X-Cleanup.Postgres'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a postgres-schema -d 'DropSchema= of X-Cleanup.Postgres'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a postgres-database -d 'DropDatabase= of X-Cleanup.Postgres'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a redis-keys -d 'DeleteKeys= of X-Cleanup.Redis'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a redis-lock -d 'ReleaseLock= of X-Cleanup.Redis'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a s3-upload -d 'AbortUploads= of X-Cleanup.S3'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a s3-object -d 'DeleteObjects= of X-Cleanup.S3'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a vault-token -d 'Revoke= of X-Cleanup.Vault'
complete -c job-cleanup -n '__job_cleanup_at track 1' -a vault-lease -d 'Revoke=lease of X-Cleanup.Vault'
complete -c job-cleanup -n '__job_cleanup_at track 2 aws-cache lockfile path-mount path' -F
complete -c job-cleanup -n '__job_cleanup_at generate 1' -a 'unit timer dropin'
complete -c job-cleanup -n '__job_cleanup_at generate 2 timer dropin' -a '(__job_cleanup_units template)'
complete -c job-cleanup -n '__job_cleanup_at help 1' -a 'run arm track sweep plan status check generate exec history version help'
complete -c job-cleanup -n __job_cleanup_exec -a '(__job_cleanup_command)'
