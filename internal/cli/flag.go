package cli

import (
	"errors"
	"flag"
	"slices"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

// Flag describes one flag of a command. Bool, String, Strings, Int and Duration
// make one that fills a field of the command's options struct.
type Flag = urfave.Flag

// Option is a flag bound to a field of an options struct, so that a command
// reads typed values and a misspelled flag does not compile.
type Option struct {
	names   []string // the name without dashes, then aliases
	usage   string   // the word in backquotes represents the value
	text    string   // the current value as text; before parsing, the default
	kind    optionKind
	set     func(text string) error
	target  any // the field's address
	choices []string
	given   bool
}

type optionKind int

const (
	switchOption optionKind = iota
	valueOption
	listOption
)

// Bool returns a switch.
func Bool(target *bool, name, usage string) *Option {
	return &Option{
		names:  []string{name},
		usage:  usage,
		text:   strconv.FormatBool(*target),
		kind:   switchOption,
		target: target,
		set: func(text string) (err error) {
			*target, err = strconv.ParseBool(text)
			return err
		},
	}
}

// String returns a flag with a text; the field's value is the default.
func String[T ~string](target *T, name, usage string) *Option {
	return &Option{
		names:  []string{name},
		usage:  usage,
		text:   string(*target),
		kind:   valueOption,
		target: target,
		set: func(text string) error {
			*target = T(text)
			return nil
		},
	}
}

// Strings returns a flag that may be given several times.
func Strings(target *[]string, name, usage string) *Option {
	return &Option{
		names:  []string{name},
		usage:  usage,
		kind:   listOption,
		target: target,
		set: func(text string) error {
			*target = append(*target, text)
			return nil
		},
	}
}

// Lists is Strings whose values are split at commas.
func Lists(target *[]string, name, usage string) *Option {
	o := Strings(target, name, usage)
	o.set = func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*target = append(*target, part)
			}
		}
		return nil
	}
	return o
}

// Int returns a flag with a whole number; the field's value is the default.
func Int(target *int, name, usage string) *Option {
	return &Option{
		names:  []string{name},
		usage:  usage,
		text:   strconv.Itoa(*target),
		kind:   valueOption,
		target: target,
		set: func(text string) (err error) {
			if *target, err = strconv.Atoi(text); err != nil {
				err = errors.New("not a whole number")
			}
			return err
		},
	}
}

// Duration returns a flag with a length of time; the field's value is the
// default.
func Duration(target *time.Duration, name, usage string) *Option {
	return &Option{
		names:  []string{name},
		usage:  usage,
		text:   target.String(),
		kind:   valueOption,
		target: target,
		set: func(text string) (err error) {
			if *target, err = time.ParseDuration(text); err != nil {
				err = errors.New("not a length of time such as 90s or 5m")
			}
			return err
		},
	}
}

// Alias adds names for the flag; one letter is its short form.
func (o *Option) Alias(names ...string) *Option {
	o.names = append(o.names, names...)
	return o
}

// OneOf restricts the values and completes them.
func (o *Option) OneOf(values ...string) *Option {
	o.choices = values
	return o
}

// Apply implements Flag.
func (o *Option) Apply(set *flag.FlagSet) error {
	for _, name := range o.names {
		set.Var(optionValue{o}, name, o.usage)
	}
	return nil
}

// Names implements Flag.
func (o *Option) Names() []string {
	return o.names
}

// String implements Flag.
func (o *Option) String() string {
	return "--" + o.names[0]
}

// IsSet implements Flag.
func (o *Option) IsSet() bool {
	return o.given
}

// The rest of what help needs.

func (o *Option) TakesValue() bool {
	return o.kind != switchOption
}
func (o *Option) IsSliceFlag() bool {
	return o.kind == listOption
}
func (o *Option) GetUsage() string {
	return o.usage
}
func (o *Option) GetValue() string {
	return o.text
}
func (o *Option) GetDefaultText() string {
	return o.text
}
func (o *Option) GetEnvVars() []string {
	return nil
}

// optionValue is an Option as the flag package writes it.
type optionValue struct{ o *Option }

func (v optionValue) String() string {
	if v.o == nil {
		return ""
	}
	return v.o.text
}

func (v optionValue) IsBoolFlag() bool {
	return v.o.kind == switchOption
}

func (v optionValue) Set(text string) error {
	if err := v.o.set(text); err != nil {
		return err
	}
	v.o.text = text
	v.o.given = true
	return nil
}

// joinOr lists alternatives: "a, b or c".
func joinOr(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Given reports whether the user gave the flag that fills a field, named by its
// address. A flag may be given with its default or an empty value.
func (c *Call) Given(target any) bool {
	o := c.cmd.option(target)
	return o != nil && o.given
}

// option returns the flag that fills a field, or nil.
func (c *Command) option(target any) *Option {
	for _, f := range c.Flags {
		if o, ok := f.(*Option); ok && o.target == target {
			return o
		}
	}
	return nil
}

// checkFlags returns an error if a flag has a value outside of its set, if flags
// exclude each other, or if one is given without the flag that it needs.
func (c *Command) checkFlags() error {
	for _, f := range c.Flags {
		o, ok := f.(*Option)
		if !ok ||
			!o.given ||
			len(o.choices) == 0 ||
			slices.Contains(o.choices, o.text) {
			continue
		}
		err := diag.New(diag.Usage, "reading flag %s: %q is not %s", o, o.text, joinOr(o.choices))
		if near := Nearest(o.text, o.choices); near != "" {
			return err.WithReason("nearest").WithDetail("nearest", near)
		}
		return err
	}
	for _, group := range c.Exclusive {
		var given []string
		for _, target := range group {
			if o := c.option(target); o.given {
				given = append(given, o.String())
			}
		}
		if len(given) > 1 {
			return diag.New(diag.Usage, "reading arguments: %s exclude each other", strings.Join(given, " and "))
		}
	}
	for _, need := range c.Needs {
		o := c.option(need.Flag)
		if o.given && !c.option(need.With).given {
			return diag.New(diag.Usage, "reading arguments: %s needs %s", o, c.option(need.With))
		}
	}
	return nil
}

// Need states that a flag has no meaning without a second flag. Both are named by the
// addresses of their fields.
type Need struct{ Flag, With any }
