# fish.fish COMPLETIONS LINE: prints what fish would offer at the end of the line.
source $argv[1]
or exit
complete -C $argv[2] | string replace -r '\t.*' ''
exit 0
