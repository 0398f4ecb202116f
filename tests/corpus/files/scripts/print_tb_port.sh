# Waits for the file $UNTIL, if there is such a variable.
echo "TB_PORT=${TB_PORT-not set}"
until [ -z "$UNTIL" ] || [ -e "$UNTIL" ]; do sleep 0.05; done
