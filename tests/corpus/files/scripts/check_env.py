import os

assert os.environ["ENV_CHECK"] == "ENV_CHECK"
