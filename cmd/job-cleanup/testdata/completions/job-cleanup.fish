# fish completion for job-cleanup(1)
# Written by TestCompletions from the program's own options.

# __job_cleanup_takes VERB OPTION: whether a word of its own follows the option.
function __job_cleanup_takes
    switch "$argv"
{{- range .Takes}}
        case {{range $i, $p := .Words}}{{if $i}} {{end}}{{quote $p}}{{end}}
            return 0
{{- end}}
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
{{- range .Verbs}}
complete -c job-cleanup -n __job_cleanup_starts -a {{.Name}} -d {{fish .Short}}
{{- end}}
{{range .Verbs}}{{$verb := .Name}}
{{- if eq .Name "track"}}
{{- range $.TrackFlags}}
complete -c job-cleanup -n '__job_cleanup_at track' {{fishOption .}}
{{- end}}
{{- else}}
{{- range .Flags}}
complete -c job-cleanup -n '__job_cleanup_at {{$verb}}' {{fishOption .}}
{{- end}}
{{- end}}
complete -c job-cleanup -n '__job_cleanup_at {{$verb}}' -l help -d 'show the options'
{{- end}}
{{range .NounFlags}}
complete -c job-cleanup -n '__job_cleanup_tracks{{range .Nouns}} {{.}}{{end}}' {{fishOption .Flag}}
{{- end}}

for verb in run plan status history
    complete -c job-cleanup -n "__job_cleanup_at $verb 1" -a '(__job_cleanup_units)'
end
complete -c job-cleanup -n '__job_cleanup_at check' -F -a '(__job_cleanup_units template)'
{{- range .Nouns}}
complete -c job-cleanup -n '__job_cleanup_at track 1' -a {{.Name}} -d {{fish .Doc}}
{{- end}}
complete -c job-cleanup -n '__job_cleanup_at track 2{{range .FileNouns}} {{.}}{{end}}' -F
complete -c job-cleanup -n '__job_cleanup_at generate 1' -a 'unit timer dropin'
complete -c job-cleanup -n '__job_cleanup_at generate 2 timer dropin' -a '(__job_cleanup_units template)'
complete -c job-cleanup -n '__job_cleanup_at help 1' -a '{{range $i, $v := .Verbs}}{{if $i}} {{end}}{{.Name}}{{end}}'
complete -c job-cleanup -n __job_cleanup_exec -a '(__job_cleanup_command)'
