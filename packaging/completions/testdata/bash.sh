# bash.sh COMPLETIONS LINE: prints what bash would offer at the end of the line.
# The words are broken as readline breaks them. LIBRARY is bash-completion, which
# few scripts have and most people.
[[ -z $LIBRARY ]] || source "$LIBRARY" || exit
source "$1" || exit
compopt() { options+=" $*"; }

words() {
    local line=$1 word='' i c quoted=
    COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=()
    for ((i = 0; i < ${#line}; i++)); do
        c=${line:i:1}
        if [[ $c == "'" ]]; then
            word+=$c
            [[ $quoted ]] && quoted= || quoted=yes
        elif [[ $quoted ]]; then
            word+=$c
        elif [[ $c == ' ' ]]; then
            [[ $word ]] && COMP_WORDS+=("$word")
            word=
        elif [[ $word && ($c == [=@:] && $word != [=@:]* || $c != [=@:] && $word == [=@:]*) ]]; then
            COMP_WORDS+=("$word")
            word=$c
        else
            word+=$c
        fi
    done
    COMP_WORDS+=("$word")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
}

COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
options=
words "$2"
_job_cleanup job-cleanup "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
[[ $options ]] && echo "compopt$options"
exit 0
