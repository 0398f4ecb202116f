# For the file $UNTIL.
until [ -e "$UNTIL" ]; do sleep 0.05; done
