package policy

// ShellCommand is one program that a text of the shell starts.
type ShellCommand struct {
	Args     []string // the first one is the program; parts that the shell computes are left out
	Computed bool     // a part of it is computed
}

// Commands returns the programs that a text of the shell starts, also by other programs
// such as sudo and xargs. whole is false if a part of the text cannot be read.
func (k *Risk) Commands(text string) (commands []ShellCommand, whole bool) {
	k, err := k.whole()
	if err != nil {
		return nil, false
	}
	s := k.table.scan(text)
	for _, c := range s.commands {
		if len(c.argv) == 0 {
			continue
		}
		one := ShellCommand{}
		for _, word := range c.argv {
			one.Args = append(one.Args, word.text)
			one.Computed = one.Computed || word.dynamic
		}
		commands = append(commands, one)
	}
	return commands, len(s.unclear) == 0
}
