# As the property set gives it.
[ "$ENV_CHECK" = ENV_CHECK ]
