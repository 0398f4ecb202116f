# The variable, and the environment's files.
[ "$ENV_CHECK" = ENV_CHECK ] && [ -e venv/123.xml ]
