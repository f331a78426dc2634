// Package threadhost runs the threads of an opened project: it starts, resumes and continues a
// thread, gives the kernel of package threads the steps, tools, hooks and answers of persons, and
// writes the record of a thread that has ended.
//
// It selects no model and no permissions: they are in the prepared directive.
package threadhost
