package inbox

import (
	"context"
	"os"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/procwatch"
	"github.com/ryeos/rye/threads/transcript"
)

// Attended is the file of which each attached client has a shared lock. The system releases the
// lock when the client ends in any way.
const Attended = "attended"

// attendPause is the time between two reads where the system reports no changes.
const attendPause = 250 * time.Millisecond

// openAttended opens the file of the clients of a thread.
func openAttended(project, id string) (*os.File, error) {
	f, err := transcript.Base(project, id).OpenFile(Attended, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, diag.Doing("attaching to "+id, err)
	}
	return f, nil
}

// Attach marks a thread as attended until release is called or the process ends.
func Attach(ctx context.Context, project, id string) (release func() error, err error) {
	f, err := openAttended(project, id)
	if err != nil {
		return nil, err
	}
	l, err := filelock.Share(ctx, f)
	if err != nil {
		return nil, diag.Doing("attaching to "+id, err)
	}
	return l.Release, nil
}

// Await returns when the thread has a message, no client is attached, or ctx ends. The system
// wakes it where it can.
func Await(ctx context.Context, project, id string) error {
	base := transcript.Base(project, id)
	if err := base.MkdirAll(Dir); err != nil {
		return diag.Doing("waiting for a message for "+id, err)
	}
	f, err := openAttended(project, id)
	if err != nil {
		return err
	}
	defer f.Close()
	watch := procwatch.New()
	defer watch.Close()
	// The file of the clients stays open: to open and close it in the loop would wake this
	// process again.
	reported := watch.Changes(base.Path(Dir)) == nil &&
		watch.Closed(base.Path(Attended)) == nil
	for {
		free, err := filelock.Free(f)
		if err != nil {
			return diag.Doing("waiting for a message for "+id, err)
		}
		if free || len(Files(project, id)) > 0 {
			return nil
		}
		if err := awaitChange(ctx, watch, reported); err != nil {
			return err
		}
	}
}

// awaitChange waits for a change, or a time if the system reports none.
func awaitChange(ctx context.Context, watch *procwatch.Watch, reported bool) error {
	if reported {
		return watch.Wait(ctx)
	}
	within, cancel := context.WithTimeout(ctx, attendPause)
	defer cancel()
	<-within.Done()
	return ctx.Err()
}
