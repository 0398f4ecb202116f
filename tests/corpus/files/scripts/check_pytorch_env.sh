# What TonY's PyTorch programs read.
[ -n "$RANK" ] && [ "$WORLD" = 2 ] && [ "${INIT_METHOD%%//*}" = tcp: ]
