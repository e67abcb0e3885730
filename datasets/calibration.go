package datasets

import (
	"os"
	"path/filepath"
	"strings"
)

// A calibration is a table about a dataset and lies beside it; it is no dataset.
const calibrationName = "calibration.parquet"

// IsCalibration reports whether a file of that name holds a calibration.
func IsCalibration(name string) bool {
	return name == calibrationName || strings.HasSuffix(name, "."+calibrationName)
}

// CalibrationPaths are the files in which the calibration of the dataset at path
// is looked for, the more particular one first: beside tasks.jsonl, that is
// tasks.calibration.parquet and then calibration.parquet. There is none for a
// dataset that is no local file or folder.
func CalibrationPaths(path string) []string {
	st, err := os.Stat(path)
	if err != nil {
		return nil
	}
	dir, stem := path, ""
	if !st.IsDir() {
		dir = filepath.Dir(path)
		stem, _, _ = strings.Cut(filepath.Base(path), ".")
	}
	whole := filepath.Join(dir, calibrationName)
	if stem == "" || stem == "dataset" {
		return []string{whole}
	}
	return []string{filepath.Join(dir, stem+"."+calibrationName), whole}
}
