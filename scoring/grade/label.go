package grade

import "io"

// InfraLabel looks in the text of logs for signatures of a broken environment,
// in the official order, and returns the first ("" for none) and whether it is
// one that a patch is unlikely to cause. It is advice for people.
func InfraLabel(log io.Reader) (reason string, environment bool, err error) {
	s, err := infraLabel(log)
	if s == nil || err != nil {
		return "", false, err
	}
	return s.reason, s.environment, nil
}
