package image

// Ref is the name under which the image of r is found once it is built:
// harness.local/<name>:<first 12 hex digits of Digest>.
func (r *Recipe) Ref() (string, error) {
	address, err := r.Digest()
	if err != nil {
		return "", err
	}
	return r.ref(address), nil
}
