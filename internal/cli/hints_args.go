package cli

import "github.com/ryeos/rye/diag"

// argumentHints are the hints about command lines.
func argumentHints() map[situation]string {
	return map[situation]string{
		{diag.UnknownCommand, "nearest"}:        "did you mean \"{command} {nearest}\"?",
		{diag.UnknownCommand, "other_name"}:     "did you mean {nearest}?",
		{diag.UnknownCommand, "words"}:          "did you mean {nearest}?",
		{diag.UnknownCommand, "sentence"}:       "write the prompt as one argument, after the flags",
		{diag.UnknownCommand, "subcommand"}:     "{command} --help",
		{diag.UnknownCommand, "topics"}:         "rye help topics",
		{diag.UnknownFlag, "flags"}:             "{command} --help lists its flags",
		{diag.UnknownFlag, "nearest"}:           "did you mean {nearest}? {command} --help lists its flags",
		{diag.UnknownFlag, "parameter"}:         "parameters have no dashes: {nearest}",
		{diag.UnknownFlag, "subcommand"}:        "did you mean {nearest}?",
		{diag.Usage, "codes"}:                   "rye explain",
		{diag.Usage, "count"}:                   "usage: {usage}",
		{diag.Usage, "early_flag"}:              "write it after {command}",
		{diag.Usage, "flag_twice"}:              "give {flag} once",
		{diag.Usage, "flag_value"}:              "if {value} is the value, write {flag}={value}",
		{diag.Usage, "nearest"}:                 "did you mean {nearest}?",
		{diag.Usage, "no_prompt"}:               "rye -p \"What is here?\"",
		{diag.TooLarge, "prompt_input"}:         "write it to a file, and give its path with --attach",
		{diag.ValidationFailed, "prompt_input"}: "write it to a file, and give its path with --attach",
		{diag.Usage, "prompt_ref"}:              "rye -p {name}",
		{diag.Usage, "prompt_continue"}:         `rye -p --continue "TEXT"`,
		{diag.Usage, "no_subcommand"}:           "{command} --help lists them: {subcommands}",
		{diag.Usage, "values"}:                  "the values are {values}",
	}
}
