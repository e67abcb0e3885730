package releasepinned

import (
	"context"
	"strings"
	"testing"

	"harness/sandbox/image"
)

type files []string

func (f files) Files(context.Context, string) ([]image.IndexFile, error) {
	var out []image.IndexFile
	for _, n := range f {
		out = append(out, image.IndexFile{Name: n, SHA256: strings.Repeat("0", 64), Size: 1})
	}
	return out, nil
}

func TestChooseFile(t *testing.T) {
	for name, tc := range map[string]struct {
		have    files
		version string
		want    string
	}{
		"own build":           {files{"p-1.0-py3-none-any.whl", "p-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", "p-1.0.tar.gz"}, "1.0", "p-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"},
		"stable interface":    {files{"p-1.0-cp36-abi3-manylinux_2_24_x86_64.whl", "p-1.0-cp312-abi3-manylinux_2_24_x86_64.whl", "p-1.0.tar.gz"}, "1.0", "p-1.0-cp36-abi3-manylinux_2_24_x86_64.whl"},
		"newest glibc":        {files{"p-1.0-cp311-cp311-manylinux_2_17_x86_64.whl", "p-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", "p-1.0-cp311-cp311-manylinux_2_39_x86_64.whl"}, "1.0", "p-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"},
		"both Pythons":        {files{"p-1.0-py2.py3-none-any.whl", "p-1.0.tar.gz"}, "1.0", "p-1.0-py2.py3-none-any.whl"},
		"other machines only": {files{"p-1.0-cp311-cp311-win_amd64.whl", "p-1.0-cp311-cp311-musllinux_1_1_x86_64.whl", "p-1.0-cp311-cp311-manylinux_2_17_aarch64.whl", "p-1.0-cp310-cp310-manylinux_2_17_x86_64.whl", "p-1.0-py2-none-any.whl", "p-1.0.zip"}, "1.0", "p-1.0.zip"},
		"pre-release":         {files{"p-3.2.tar.gz", "p-3.2a1.tar.gz", "p-3.2b1.tar.gz"}, "3.2a1", "p-3.2a1.tar.gz"},
		"final":               {files{"p-3.2a1.tar.gz", "p-3.2.0.tar.gz", "p-3.2.1.tar.gz"}, "3.2", "p-3.2.0.tar.gz"},
		"ten is not one":      {files{"p-1.10.tar.gz", "p-1.1.tar.gz"}, "1.1", "p-1.1.tar.gz"},
		"another project":     {files{"p-extra-1.0.tar.gz", "p_extra-1.0-py3-none-any.whl"}, "1.0", ""},
		"no fit":              {files{"p-1.0-cp311-cp311-win_amd64.whl"}, "1.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := chooseFile(context.Background(), tc.have, "p", tc.version)
			if got.Name != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("= %q, %v, want %q", got.Name, err, tc.want)
			}
		})
	}
}

func TestPinsFollowRequirements(t *testing.T) {
	r := &Row{InstanceID: "x__x-1", Release: Release{Package: "Flask", VerifiedWith: []string{"trustme==0.9.0", "Werkzeug==2.0.3"}}}
	p, err := r.pins()
	if err != nil {
		t.Fatal(err)
	}
	if p["werkzeug"] != "2.0.3" || p["cryptography"] == "" || p["pycparser"] == "" || p["jinja2"] == "" {
		t.Errorf("pins = %v", p)
	}
	if _, ok := p["flask"]; ok {
		t.Error("the package under test is installed beside itself")
	}
}
