import collections
import json
import sys

requests, errors, time = 0, 0, collections.Counter()
with open(sys.argv[1]) as log:
    for line in log:
        if line.startswith("#"):
            continue
        _, _, _, path, status, ms = line.split()
        requests += 1
        errors += int(status) >= 500
        time[path] += int(ms)
json.dump({"requests": requests, "errors": errors, "slowest": time.most_common(1)[0][0]}, sys.stdout)
