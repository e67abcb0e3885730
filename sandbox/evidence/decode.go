package evidence

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// What is read of strings. Paths are read whole, or names could be hidden behind
// "/././": an event keeps less of them.
const (
	maxPathText = 4096 // PATH_MAX
	maxArgText  = 512
	maxArgs     = 24
	maxArgsText = 4096 // of all arguments together
	digestSize  = 32
)

// record is one decoded message, whatever its type. It holds no reference to the
// packet it was read from.
type record struct {
	typ     uint16
	dropped uint32

	time           int64 // nanoseconds, 0 when not told
	tid, pid, ppid int32
	uid, gid       *uint32
	cwd            string

	ended         bool // the call's end, with result and errno
	result, errno int64

	sysno    uint64
	path     string
	fd       int64
	fdPath   string
	args     []string
	argc     int
	argBytes int
	digest   []byte
	address  []byte
	childTID int32
	childPID int32
	status   int32
	flags    uint64
	values   [slotValues]uint64
	cut      bool
}

// decode reads one packet. Fields that aren't known are skipped, as protobuf has
// it; one that is known but of another wire type makes the message malformed.
func decode(packet []byte) (*record, error) {
	h, body, err := parseHeader(packet)
	if err != nil {
		return nil, err
	}
	layout, ok := messages[h.typ]
	if !ok {
		return nil, errType
	}
	r := &record{typ: h.typ, dropped: h.dropped}
	if err := r.read(body, layout); err != nil {
		return nil, err
	}
	if r.tid <= 0 || r.pid <= 0 {
		return nil, errNobody
	}
	return r, nil
}

// read takes fields from b. Messages nest as deep as the tables do.
func (r *record) read(b []byte, layout fields) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errProto
		}
		b = b[n:]
		s, known := layout[int32(num)]
		switch {
		case !known:
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return errProto
			}
		case s.isBytes() && typ == protowire.BytesType:
			var v []byte
			if v, n = protowire.ConsumeBytes(b); n < 0 {
				return errProto
			}
			if err := r.setBytes(s, v); err != nil {
				return err
			}
		case !s.isBytes() && typ == protowire.VarintType:
			var v uint64
			if v, n = protowire.ConsumeVarint(b); n < 0 {
				return errProto
			}
			r.setNumber(s, v)
		default:
			return errProto
		}
		b = b[n:]
	}
	return nil
}

func (r *record) setBytes(s slot, v []byte) error {
	switch s {
	case slotContext:
		return r.read(v, contextFields)
	case slotCreds:
		// proto3 leaves out a zero: root's ids are known by the message being there.
		r.uid, r.gid = new(uint32), new(uint32)
		return r.read(v, credsFields)
	case slotExit:
		r.ended = true
		return r.read(v, exitFields)
	case slotCwd:
		r.cwd = r.text(v, maxPathText)
	case slotPath:
		r.path = r.text(v, maxPathText)
	case slotFDPath:
		r.fdPath = r.text(v, maxPathText)
	case slotArg:
		r.addArg(v)
	case slotDigest:
		if len(v) != digestSize {
			return errProto
		}
		r.digest = append([]byte(nil), v...)
	case slotAddress:
		r.address = append([]byte(nil), v[:min(len(v), maxAddrText)]...)
	}
	return nil
}

func (r *record) setNumber(s slot, v uint64) {
	switch s {
	case slotTime:
		r.time = int64(v)
	case slotTID:
		r.tid = int32(v)
	case slotPID:
		r.pid = int32(v)
	case slotPPID:
		r.ppid = int32(v)
	case slotUID:
		*r.uid = uint32(v)
	case slotGID:
		*r.gid = uint32(v)
	case slotResult:
		r.result = int64(v)
	case slotErrno:
		r.errno = int64(v)
	case slotSysno:
		r.sysno = v
	case slotFD:
		r.fd = int64(v)
	case slotChildTID:
		r.childTID = int32(v)
	case slotChildPID:
		r.childPID = int32(v)
	case slotStatus:
		r.status = int32(v)
	case slotFlags:
		r.flags = v
	default:
		r.values[s-slotValue0] = v
	}
}

func (r *record) addArg(v []byte) {
	r.argc++
	left := maxArgsText - r.argBytes
	if len(r.args) == maxArgs || left <= 0 {
		r.cut = true
		return
	}
	s := r.text(v, min(maxArgText, left))
	r.argBytes += len(s) + 1
	r.args = append(r.args, s)
}

func (r *record) text(b []byte, limit int) string {
	s, cut := text(b, limit)
	r.cut = r.cut || cut
	return s
}
