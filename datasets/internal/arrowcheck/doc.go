// Package arrowcheck looks at a stream of Arrow record batches before a library
// reads it.
//
// Libraries trust the FlatBuffers tables that describe a batch: one that says it
// has 2^38 columns makes them ask for so much memory, which ends the process. This
// package passes on what is well-formed and says no more than the stream holds. It
// owns the framing of messages and the shape of their tables (Message.fbs and
// Schema.fbs of the Arrow format), and knows nothing of rows.
package arrowcheck
