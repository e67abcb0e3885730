package predictions

import (
	"errors"
	"fmt"

	"harness/datasets/internal/strictjson"
	"harness/eval"
)

// errOnePrediction means that what looked like a map of predictions is a prediction.
var errOnePrediction = errors.New("the file holds a prediction where a list or a map of predictions is expected; name it .jsonl if it has one prediction a line")

// mapValue returns the value of the one member of rec.
func mapValue(rec []byte) ([]byte, error) {
	var value []byte
	err := strictjson.Members(rec, func(key []byte, v strictjson.Value) error {
		if v.Kind != strictjson.Object {
			if k := string(key); k == "instance_id" || k == "model_patch" || k == "model_name_or_path" {
				return errOnePrediction
			}
			return fmt.Errorf("the value of key %.80q is %s, a prediction is expected", key, v.Kind)
		}
		value = v.Raw
		return nil
	})
	if err == nil && value == nil {
		err = errors.New("a key with a prediction is expected")
	}
	return value, err
}

// parse reads one prediction. Fields other than the three are ignored.
func parse(rec []byte) (eval.Prediction, error) {
	var id, model, patch *string
	var found strictjson.Kind // of instance_id
	seen := make(map[string]bool, 3)
	err := strictjson.Members(rec, func(key []byte, v strictjson.Value) error {
		var into **string
		switch string(key) {
		case "instance_id":
			into, found = &id, v.Kind
		case "model_name_or_path":
			into = &model
		case "model_patch":
			into = &patch
		default:
			return nil
		}
		name := string(key)
		if seen[name] {
			return fmt.Errorf("%s is given twice in the record", name)
		}
		seen[name] = true
		switch v.Kind {
		case strictjson.Null:
		case strictjson.String:
			s, err := v.Text()
			if err != nil {
				return fmt.Errorf("%s has %w; write it as valid UTF-8", name, err)
			}
			*into = &s
		default:
			return fmt.Errorf("%s is %s, a string is expected", name, v.Kind)
		}
		return nil
	})
	switch {
	case err != nil:
		return eval.Prediction{}, err
	case found == strictjson.Absent:
		return eval.Prediction{}, errors.New("instance_id is missing")
	case id == nil:
		return eval.Prediction{}, errors.New("instance_id is null")
	}
	if err := eval.ValidateInstanceID(*id); err != nil {
		return eval.Prediction{}, err
	}
	p := eval.Prediction{InstanceID: *id, Model: NoModel, Patch: patch}
	if model != nil {
		if err := eval.ValidateModelName(*model); err != nil {
			return eval.Prediction{}, err
		}
		p.Model = *model
	}
	return p, nil
}
