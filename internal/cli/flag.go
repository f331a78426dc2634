package cli

import urfave "github.com/urfave/cli/v2"

// The kinds of flags. The library under this package stays inside it.
type (
	Flag            = urfave.Flag
	BoolFlag        = urfave.BoolFlag
	StringFlag      = urfave.StringFlag
	StringSliceFlag = urfave.StringSliceFlag
	IntFlag         = urfave.IntFlag
	DurationFlag    = urfave.DurationFlag
)
