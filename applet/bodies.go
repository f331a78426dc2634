package applet

import "context"

func runBash(ctx context.Context, p Params, in map[string]any) (any, error)      { return nil, nil }
func runEditLines(ctx context.Context, p Params, in map[string]any) (any, error) { return nil, nil }
func runGlob(ctx context.Context, p Params, in map[string]any) (any, error)      { return nil, nil }
func runGrep(ctx context.Context, p Params, in map[string]any) (any, error)      { return nil, nil }
func runLS(ctx context.Context, p Params, in map[string]any) (any, error)        { return nil, nil }
func runRead(ctx context.Context, p Params, in map[string]any) (any, error)      { return nil, nil }
func runSystem(ctx context.Context, p Params, in map[string]any) (any, error)    { return nil, nil }
func runWrite(ctx context.Context, p Params, in map[string]any) (any, error)     { return nil, nil }
