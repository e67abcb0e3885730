# Runs all tests, from the folder of the project.
status=0
for t in tests/get.sh tests/set.sh; do
	sh "$t" || status=1
done
exit $status
