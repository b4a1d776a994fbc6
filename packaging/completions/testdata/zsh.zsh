# zsh.zsh FOLDER LINE ERRORS: prints what zsh would offer at the end of the line,
# with the completions of FOLDER. What they complain about goes to ERRORS.
zmodload zsh/zpty || exit
hits=$(mktemp) || exit
export FOLDER=$1 LINE=$2 ERRORS=$3 HITS=$hits

inside='
  exec 2>>$ERRORS
  PS1= fpath=($FOLDER $fpath)
  autoload -Uz compinit && compinit -u -d $HOME/compdump
  compadd() {
    if (( ${@[(I)-[AOD]*]} )); then builtin compadd "$@"; return; fi
    local -a found
    builtin compadd -A found "$@"
    (( $#found )) && print -rl -- $found >>$HITS
    builtin compadd "$@"
  }
  capture() { BUFFER=$LINE CURSOR=$#LINE; zle list-choices; exit }
  zle -N capture
  bindkey "^I" capture
  print begun
'
zpty shell TERM=dumb zsh -f -i || exit
zpty -w shell "eval ${(qqqq)inside}"
zpty -r -m shell output $'*begun\r\n*' || exit
zpty -w -n shell $'\t'
while zpty -r shell output; do :; done
sort -u $hits
rm -f $hits
