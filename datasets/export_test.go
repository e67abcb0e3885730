package datasets

import (
	"bytes"
)

// For tests of the package from outside.

// NumFields is the number of fields of the row schema.
const NumFields = numFields

// HasField reports whether the row schema has a field.
func HasField(name string) bool { _, ok := fieldIndex[name]; return ok }

// ParquetWithDigest writes ds under the digest it claims to have.
func ParquetWithDigest(ds *Dataset) ([]byte, error) {
	var b bytes.Buffer
	err := writeParquet(&b, ds)
	return b.Bytes(), err
}
