package logparse

import (
	"bytes"
	"encoding/json"
	"strings"
)

// parseDart reads events: a test's name comes when it starts, its result when it
// is done.
func parseDart(in *input) error {
	names := &boundedNames{}
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		if line == "" || line[0] != '{' && line[0] != '[' {
			return nil
		}
		for _, e := range dartEvents(line) {
			in.place()
			if err := in.dartEvent(e, names); err != nil {
				return err
			}
		}
		return nil
	})
}

// dartEvents are the objects of a line that is an object or a list of them.
func dartEvents(line string) []map[string]json.RawMessage {
	if line[0] == '{' {
		var e map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &e) != nil {
			return nil
		}
		return []map[string]json.RawMessage{e}
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(line), &list) != nil {
		return nil
	}
	var events []map[string]json.RawMessage
	for _, raw := range list {
		var e map[string]json.RawMessage
		if raw[0] == '{' && json.Unmarshal(raw, &e) == nil {
			events = append(events, e)
		}
	}
	return events
}

func (in *input) dartEvent(e map[string]json.RawMessage, names *boundedNames) error {
	switch jsonText(e["type"]) {
	case "testStart":
		var test map[string]json.RawMessage
		if json.Unmarshal(e["test"], &test) != nil || test == nil {
			return nil
		}
		id, name := jsonID(test["id"]), test["name"]
		if id == "" || !jsonTrue(name) {
			return nil
		}
		if name[0] != '"' {
			return in.raise("AttributeError", "a test's name is not text")
		}
		if s := jsonText(name); !strings.HasPrefix(s, "loading ") {
			names.set(id, s)
		}
	case "testDone":
		id := jsonID(e["testID"])
		name, ok := names.get(id)
		if !ok || jsonTrue(e["hidden"]) {
			return nil
		}
		switch jsonText(e["result"]) {
		case "success":
			in.out.Set(name, Passed)
		case "failure":
			in.out.Set(name, Failed)
		case "error":
			in.out.Set(name, Error)
		default:
			if jsonTrue(e["skipped"]) {
				in.out.Set(name, Skipped)
			}
		}
	}
	return nil
}

// jsonText is the text of a JSON string, or "" for anything else.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// jsonTrue is Python's truth of a JSON value.
func jsonTrue(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "false", `""`, "[]", "{}", "0", "0.0", "-0":
		return false
	}
	return true
}

// jsonID makes equal ids equal; "" is none.
func jsonID(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || len(raw) > 64 {
		return ""
	}
	return string(raw)
}

// boundedNames maps a stream's ids to names, within the bounds of a StatusMap.
type boundedNames struct {
	names map[string]string
	bytes int
}

func (b *boundedNames) set(id, name string) {
	if len(b.names) >= MaxNames || b.bytes+len(name) > MaxNameBytes || len(name) > MaxName {
		return
	}
	if b.names == nil {
		b.names = make(map[string]string)
	}
	b.bytes += len(name) - len(b.names[id])
	b.names[id] = strings.Clone(name)
}

func (b *boundedNames) get(id string) (string, bool) {
	name, ok := b.names[id]
	return name, ok
}

var dartV2Line = re(`^\[\w+\]:\s+\d{2}:\d{2}\s+\+\d+:\s+(/[^:]+\.dart):\s+(.+)$`)

// parseDartV2 reads progress lines: a test that is named once did not end.
func parseDartV2(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		m := dartV2Line.FindStringSubmatch(line)
		if m == nil || strings.Contains(strings.ToLower(line), "loading") {
			return nil
		}
		name := m[1] + ": " + m[2]
		if _, twice := in.out.Get(name); twice {
			in.out.revise(name, Passed)
		} else {
			in.out.Set(name, Error)
		}
		in.place()
		return nil
	})
}

var (
	dartV3Line    = re(`^\d+:\d+\s+\+\d+(?:\s+-\d+)?:\s+(/[^:]+\.dart):\s+(.+?)(?:\s+\[E\])?$`)
	dartV3Loading = re(`^\d+:\d+\s+\+\d+\s+-\d+:\s+loading\s+(/[^:]+\.dart)\s+\[E\]$`)
)

// parseDartV3 reads progress lines: "[E]" is a failure, and a file that does not
// load an error.
func parseDartV3(in *input) error {
	return in.eachPyLine(func(line string) error {
		line = strip(line)
		if m := dartV3Loading.FindStringSubmatch(line); m != nil {
			in.out.Set(m[1], Error)
			return nil
		}
		m := dartV3Line.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		name := m[1] + ": " + strip(m[2])
		if strings.Contains(line, "[E]") {
			in.out.Set(name, Failed)
		} else {
			in.out.setDefault(name, Passed)
		}
		return nil
	})
}
