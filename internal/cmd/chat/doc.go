// Package chat has the command rye chat, a conversation with a model at the terminal.
//
// It decides no permission and keeps no state of a conversation, which is a thread in a process of its
// own; package session is the client.
package chat
