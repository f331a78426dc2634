// Package control handles the threads and runs of an opened project from outside of their processes:
// it lists, finds, answers, wakes and ends them, waits for them, and starts detached ones.
//
// It runs none itself: packages threadhost and graphhost do.
package control
