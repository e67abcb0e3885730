// Package grade turns the raw log of a trial into a verdict, by the rules of a
// profile.
//
// It owns the profiles (recipe and rules), the reading of a log's markers, the
// expected-test rules and the outcome that follows from host facts and log. It
// knows nothing of how a log came to be or where it is kept, and log grammars
// belong to package logparse.
//
// Differences between graders are fields of Rules; there is no rule that asks
// for a profile's name.
package grade
