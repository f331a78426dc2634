package cli

import "github.com/ryeos/rye/diag"

// shellHints are the hints about values that a shell would read as a part of a program.
func shellHints() map[situation]string {
	return map[situation]string{
		{diag.ValidationFailed, "shell_value"}:         "write `{variable}={value}` on its own at the start of the text, and {use} in its place",
		{diag.ValidationFailed, "shell_value_number"}:  "declare the value as integer in config_schema or state_schema, and write `{variable}={value}` at the start of the text; or compare with `[ {use} -gt 1 ]` and compute with expr",
		{diag.ValidationFailed, "braced_name"}:         "write the value as the finding has it, or a backslash before the brace if the text is meant",
		{diag.ValidationFailed, "shell_value_option"}:  "write `--` before {value} in the command, or a text of the command before the value, such as ./",
		{diag.ValidationFailed, "shell_value_program"}: "make the program and its text constants, and pass the value as an argument",
	}
}
