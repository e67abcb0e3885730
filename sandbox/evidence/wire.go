package evidence

import (
	"encoding/binary"
	"errors"
)

// The protocol of gVisor's remote sink (pkg/sentry/seccheck/sinks/remote/wire): one
// packet is one message, a header and a protobuf. Packets are exchanged once
// before: each side sends its version as a Handshake.
const (
	wireVersion = 1
	headerSize  = 8
)

// header of a message, in the byte order of the machine.
//
//	| size of the header 16 | message type 16 | dropped so far 32 |
type header struct {
	size    uint16
	typ     uint16
	dropped uint32 // wraps around
}

// Why a message made no sense; the names are keys of Summary.Malformed.
var (
	errShort     = errors.New("short header")
	errHeader    = errors.New("header size")
	errTruncated = errors.New("message too long")
	errType      = errors.New("unknown type")
	errProto     = errors.New("not the protobuf it says")
	errNobody    = errors.New("no thread id")
	errHandshake = errors.New("handshake")
)

func parseHeader(b []byte) (header, []byte, error) {
	if len(b) < headerSize {
		return header{}, nil, errShort
	}
	h := header{
		size:    binary.NativeEndian.Uint16(b),
		typ:     binary.NativeEndian.Uint16(b[2:]),
		dropped: binary.NativeEndian.Uint32(b[4:]),
	}
	// A later version may have a longer header; what is new in it is skipped.
	if h.size < headerSize || int(h.size) > len(b) {
		return h, nil, errHeader
	}
	return h, b[h.size:], nil
}

// Message types, MessageType in pkg/sentry/seccheck/points/common.proto.
const (
	msgStart    = 1
	msgClone    = 2
	msgExec     = 3
	msgTaskExit = 5
	msgRaw      = 6
	msgOpen     = 7
	msgConnect  = 10
	msgExecve   = 11
	msgSocket   = 12
	msgSetid    = 14
	msgSetresid = 15
	msgBind     = 24
)

// slot is where a protobuf field goes in a record.
type slot int

const (
	slotContext slot = iota // message ContextData
	slotExit                // message Exit
	slotCreds               // message Credentials
	slotTime
	slotTID
	slotPID
	slotPPID
	slotUID
	slotGID
	slotCwd
	slotResult
	slotErrno
	slotSysno
	slotPath
	slotFD
	slotFDPath
	slotArg
	slotDigest
	slotAddress
	slotChildTID
	slotChildPID
	slotStatus
	slotFlags
	slotValue0 // six of them
)

const slotValues = 6

// isBytes tells length-delimited fields from varints.
func (s slot) isBytes() bool {
	switch s {
	case slotContext, slotExit, slotCreds, slotCwd, slotPath, slotFDPath, slotArg, slotDigest, slotAddress:
		return true
	}
	return false
}

// fields of a message by number: pkg/sentry/seccheck/points/{common,container,sentry,syscall}.proto.
type fields map[int32]slot

var (
	contextFields = fields{1: slotTime, 2: slotTID, 4: slotPID, 7: slotCreds, 8: slotCwd, 10: slotPPID}
	credsFields   = fields{2: slotUID, 5: slotGID}
	exitFields    = fields{1: slotResult, 2: slotErrno}

	messages = map[uint16]fields{
		msgStart:    {1: slotContext, 3: slotCwd, 4: slotArg},
		msgClone:    {1: slotContext, 3: slotChildTID, 4: slotChildPID, 6: slotFlags},
		msgExec:     {1: slotContext, 2: slotPath, 3: slotArg, 8: slotDigest},
		msgTaskExit: {1: slotContext, 2: slotStatus},
		msgRaw: {1: slotContext, 2: slotExit, 4: slotSysno, 5: slotValue0, 6: slotValue0 + 1, 7: slotValue0 + 2,
			8: slotValue0 + 3, 9: slotValue0 + 4, 10: slotValue0 + 5},
		msgOpen:     {1: slotContext, 2: slotExit, 3: slotSysno, 4: slotFD, 5: slotFDPath, 6: slotPath, 7: slotFlags},
		msgConnect:  {1: slotContext, 2: slotExit, 3: slotSysno, 6: slotAddress},
		msgExecve:   {1: slotContext, 3: slotSysno, 4: slotFD, 5: slotFDPath, 6: slotPath, 7: slotArg},
		msgSocket:   {1: slotContext, 2: slotExit, 3: slotSysno, 4: slotValue0, 5: slotValue0 + 1, 6: slotValue0 + 2},
		msgSetid:    {1: slotContext, 2: slotExit, 3: slotSysno, 4: slotValue0},
		msgSetresid: {1: slotContext, 2: slotExit, 3: slotSysno, 4: slotValue0, 5: slotValue0 + 1, 6: slotValue0 + 2},
		msgBind:     {1: slotContext, 2: slotExit, 3: slotSysno, 6: slotAddress},
	}
)
