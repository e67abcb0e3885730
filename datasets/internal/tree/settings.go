package tree

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// Both decoders bound how deep values nest, and the YAML one how often aliases
// are followed: a file of settings can't exhaust stack or memory. They compare each
// key with those before it, so the number of keys is bounded here.
const (
	maxYAMLMarks = 10_000
	maxTOMLMarks = 2_000
)

// settings reads a file with at most that many of the characters that keys come with.
func (f *Folder) settings(name, marks string, most int) (string, error) {
	text, err := f.Text(name, MaxConfigBytes)
	if err != nil {
		return "", err
	}
	n := 0
	for _, mark := range marks {
		n += strings.Count(text, string(mark))
	}
	if n > most {
		return "", &Problem{File: f.Path(name), Reason: fmt.Sprintf("it has %d of the characters %s, at most %d are allowed in settings", n, marks, most), Fix: "leave out what the task does not need"}
	}
	return text, nil
}

// YAML decodes a file of settings. Keys that into does not have are ignored.
// Errors are *Problem, with the line.
func (f *Folder) YAML(name string, into any) error {
	text, err := f.settings(name, ":,?", maxYAMLMarks)
	if err != nil {
		return err
	}
	err = yaml.Unmarshal([]byte(text), into)
	if err == nil {
		return nil
	}
	p := &Problem{File: f.Path(name), Fix: "correct the file"}
	message := err.Error()
	if te := (*yaml.TypeError)(nil); errors.As(err, &te) && len(te.Errors) > 0 {
		message = te.Errors[0]
	}
	message = strings.TrimPrefix(message, "yaml: ")
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		message = m[2]
	}
	if m := yamlType.FindStringSubmatch(message); m != nil {
		message = "a value of type " + m[1] + " is where another one is expected"
	}
	p.Reason = "it can't be read as YAML: " + message
	return p
}

var (
	yamlLine = regexp.MustCompile(`(?s)^line (\d+): (.*)$`)
	yamlType = regexp.MustCompile(`(?s)^cannot unmarshal !!(\w+) .*into `)
)

// TOML decodes a file of settings. Keys that into does not have are returned as
// warnings. Errors are *Problem, with the line.
func (f *Folder) TOML(name string, into any) ([]Problem, error) {
	text, err := f.settings(name, "=[", maxTOMLMarks)
	if err != nil {
		return nil, err
	}
	err = toml.NewDecoder(bytes.NewReader([]byte(text))).DisallowUnknownFields().Decode(into)
	var unknown *toml.StrictMissingError
	if !errors.As(err, &unknown) {
		return nil, f.tomlProblem(name, err)
	}
	var out []Problem
	for i := range unknown.Errors {
		e := &unknown.Errors[i]
		line, _ := e.Position()
		out = append(out, Problem{
			File: f.Path(name), Line: line, Field: strings.Join(e.Key(), "."), Warning: true,
			Reason: "this key is not known and is ignored", Fix: "look for a slip in its name",
		})
		if len(out) == maxUnknown {
			break
		}
	}
	return out, nil
}

// maxUnknown bounds the warnings for one file.
const maxUnknown = 20

func (f *Folder) tomlProblem(name string, err error) error {
	if err == nil {
		return nil
	}
	p := &Problem{File: f.Path(name), Reason: "it can't be read as TOML: " + strings.TrimPrefix(err.Error(), "toml: "), Fix: "correct the file"}
	var de *toml.DecodeError
	if !errors.As(err, &de) {
		return p
	}
	p.Line, _ = de.Position()
	if m := tomlType.FindStringSubmatch(err.Error()); m != nil {
		p.Field = strings.Join(de.Key(), ".")
		p.Reason = fmt.Sprintf("it is a TOML %s, another type is expected", m[1])
	}
	return p
}

var tomlType = regexp.MustCompile(`^toml: cannot decode TOML (\w+) into `)
