package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"harness/datasets/internal/source"
	"harness/datasets/internal/strictcsv"
)

// readCSV reads a file whose first record names the columns. Each record becomes
// a row of text, as a JSON object would hold it: lists stand in it as JSON.
func (l *loader) readCSV(ctx context.Context) error {
	f, err := source.Open(l.ds.Path, l.opts.MaxBytes)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	in := strictcsv.New(f, l.opts.MaxRecordBytes)
	columns, err := csvHeader(in)
	if err != nil {
		return err
	}
	var r row
	var rec []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		fields, line, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil && len(fields) != len(columns):
			err = fmt.Errorf("%w: it has %s, the first record names %s", errBadRecord, plural(len(fields), "field"), plural(len(columns), "column"))
		case err == nil:
			rec = csvRow(rec[:0], columns, fields)
		case errors.As(err, new(*strictcsv.SyntaxError)), errors.As(err, new(*strictcsv.TooLargeError)):
			err = fmt.Errorf("%w: %w", errBadRecord, err)
		default:
			return fmt.Errorf("line %d: %w", line, err)
		}
		if err := l.record(&r, rec, line, err); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// csvHeader reads the names of the columns.
func csvHeader(in *strictcsv.Reader) ([]string, error) {
	fields, line, err := in.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil // there are no rows, which the caller says
	case err != nil:
		return nil, fmt.Errorf("line %d: read the names of the columns: %w", line, err)
	}
	seen := make(map[string]bool)
	var columns []string
	for i, f := range fields {
		name := string(f.Text)
		switch {
		case seen[name]:
			return nil, fmt.Errorf("line %d: two columns are named %s", line, quote(name))
		case len(fields) == 1 && strings.ContainsAny(name, ";\t|"):
			return nil, fmt.Errorf("line %d: the first line is one field, %s; fields must be separated by commas", line, quote(name))
		case name == "" && i > 0: // at 0 it is the index that pandas writes
			return nil, fmt.Errorf("line %d: column %d has no name; the first line must name the columns", line, i+1)
		}
		seen[name] = true
		columns = append(columns, name)
	}
	return columns, nil
}

// csvRow writes a record as a JSON object. CSV has no null: a field that is
// empty and stands without quotes is "" where a text is required, else null.
func csvRow(to []byte, columns []string, fields []strictcsv.Field) []byte {
	to = append(to, '{')
	for i, f := range fields {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendJSONText(to, columns[i]), ':')
		if len(f.Text) == 0 && !f.Quoted && !requiredText(columns[i]) {
			to = append(to, "null"...)
			continue
		}
		to = appendJSONText(to, f.Text)
	}
	return append(to, '}')
}

func requiredText(column string) bool {
	i, known := fieldIndex[column]
	return known && fields[i].required && fields[i].shape == shapeText
}

// appendJSONText writes s as a JSON string, its bytes as they are: what is not
// UTF-8 is then refused like that of any JSON file, with its place.
func appendJSONText[T string | []byte](to []byte, s T) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c < ' ':
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			to = append(to, c)
		}
	}
	return append(to, '"')
}
