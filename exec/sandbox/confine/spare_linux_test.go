package confine

import (
	"syscall"
	"testing"
)

// While the limits of the program are set, the helper must get memory: it ended when
// another of its threads asked for some at that moment.
func TestMemoryOfTheHelper(t *testing.T) {
	p := &program{spec: &Spec{Namespaces: true}}
	p.prepare()
	defer syscall.Close(p.io)
	if own := ownData(); own == 0 || p.spare < own {
		t.Fatalf("%d bytes for %d of data", p.spare, own)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &before); err != nil {
		t.Fatal(err)
	}
	give, err := setLimits([]Rlimit{{Resource: syscall.RLIMIT_DATA, Soft: 1 << 20, Hard: 1 << 20, Child: true}}, p.spare)
	if err != nil {
		t.Fatal(err)
	}
	b, mapped := syscall.Mmap(-1, 0, 8<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	_, more := syscall.Mmap(-1, 0, 256<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err := give(1 << 30); err != nil { // a process that does not exist
		t.Fatal(err)
	}
	if mapped != nil || more == nil {
		t.Errorf("8 MB: %v; 256 MB: %v", mapped, more)
	}
	_ = syscall.Munmap(b)
	var after syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &after); err != nil || after != before {
		t.Errorf("%+v after %+v, %v", after, before, err)
	}
}
