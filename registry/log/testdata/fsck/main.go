// Command fsck checks a log in a directory with tessera, an implementation of C2SP
// tlog-tiles that shares no code with package log.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
)

func main() {
	// It waits without an end for an entry bundle that does not fit.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	go func() {
		<-ctx.Done()
		time.Sleep(time.Second)
		fmt.Fprintln(os.Stderr, "fsck: no result")
		os.Exit(3)
	}()
	if err := check(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "fsck:", err)
		os.Exit(1)
	}
	fmt.Println("the tree is complete")
}

func check(ctx context.Context, dir, origin, key string) error {
	v, err := note.NewVerifier(key)
	if err != nil {
		return err
	}
	hash := func(b []byte) ([][]byte, error) {
		var eb api.EntryBundle
		if err := eb.UnmarshalText(b); err != nil {
			return nil, err
		}
		var out [][]byte
		for _, e := range eb.Entries {
			out = append(out, rfc6962.DefaultHasher.HashLeaf(e))
		}
		return out, nil
	}
	f := fsck.New(origin, v, client.FileFetcher{Root: dir}, hash, fsck.Opts{N: 1})
	return f.Check(ctx)
}
