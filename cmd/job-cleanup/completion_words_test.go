package main

import (
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// shellWords are what the templates of the completions call.
var shellWords = template.FuncMap{
	"quote":      singleQuoted,
	"pattern":    bashPattern,
	"spec":       zshSpec,
	"zshWord":    zshWord,
	"fish":       fishQuoted,
	"fishOption": fishOption,
}

// singleQuoted is a word for bash and zsh.
func singleQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// bashPattern is "* --unit" or "run --force" as a pattern of case.
func bashPattern(word string) string {
	if rest, ok := strings.CutPrefix(word, "*"); ok {
		return "*" + singleQuoted(rest)
	}
	return singleQuoted(word)
}

// zshArguments are the arguments of the verbs.
var zshArguments = map[string][]string{
	"run":      {"1::unit:_job_cleanup_units"},
	"plan":     {"1::unit:_job_cleanup_units"},
	"status":   {"1::unit:_job_cleanup_units"},
	"history":  {"1::unit:_job_cleanup_units"},
	"check":    {"*:unit:_job_cleanup_units_or_files"},
	"generate": {"1:what:(unit timer dropin)", "2:name:_job_cleanup_generate"},
	"exec":     {"(-)1:command: _command_names -e", "*::argument: _normal"},
}

// zshSpec is an option for _arguments.
func zshSpec(f completedFlag) string {
	text := "--" + f.Name
	if f.Repeats {
		text = "*" + text
	}
	if f.What != "" {
		text += "="
	}
	text += "[" + strings.NewReplacer("[", `\[`, "]", `\]`).Replace(f.Doc) + "]"
	if f.What != "" {
		text += ":" + f.Value + ":" + zshAction(f.What)
	}
	return singleQuoted(text)
}

func zshAction(what string) string {
	switch what {
	case "unit":
		return "_job_cleanup_units"
	case "file":
		return "_files"
	case "folder":
		return "_files -/"
	case "user":
		return "_users"
	case "secret":
		return `{compadd -S "" - file\: env\: credential\: stash\:}`
	}
	for _, list := range lists() {
		if list.What == what {
			return "(" + strings.Join(list.Words, " ") + ")"
		}
	}
	return " "
}

var special = regexp.MustCompile(`[^\w.-]`)

// zshWord is a description in a list of words.
func zshWord(text string) string { return special.ReplaceAllString(text, `\$0`) }

func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// fishOption is an option for complete.
func fishOption(f completedFlag) string {
	words := ""
	switch f.What {
	case "":
	case "file":
		words = " -r -F"
	case "unit":
		words = " -x -a '(__job_cleanup_units)'"
	case "folder":
		words = " -x -a '(__fish_complete_directories)'"
	case "user":
		words = " -x -a '(__fish_complete_users)'"
	default:
		words = " -x"
		for _, list := range lists() {
			if list.What == f.What {
				words = " -x -a " + fishQuoted(strings.Join(list.Words, " "))
			}
		}
	}
	return fmt.Sprintf("-l %s%s -d %s", f.Name, words, fishQuoted(f.Doc))
}
