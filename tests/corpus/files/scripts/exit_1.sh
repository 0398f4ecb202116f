echo "this program fails" >&2
exit 1
