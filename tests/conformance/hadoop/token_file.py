"""Hadoop's token files, which clients find by $HADOOP_TOKEN_FILE_LOCATION, in the Writable format."""

import base64
import json
import struct

from common import RM_WEB, hdfs, open_one_of, site


def _text(content):
    return (struct.pack("b", len(content)) if len(content) < 128 else b"\x8f" + bytes([len(content)])) + content


class Reader:
    def __init__(self, content):
        self.left = content

    def take(self, size):
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def number(self):
        (first,) = struct.unpack("b", self.take(1))
        return first if first >= -112 else int.from_bytes(self.take(-112 - first), "big")

    def text(self):
        return self.take(self.number())

    def token(self):
        """Returns identifier, password, kind and service."""
        return self.text(), self.text(), self.text(), self.text()


def read(content):
    """Returns the tokens and the secrets by name."""
    if content[:5] != b"HDTS\0":
        raise ValueError("not a token file")
    reader = Reader(content[5:])
    tokens = [(reader.text(), reader.token())[1] for _ in range(reader.number())]
    return tokens, {reader.text().decode(): reader.text() for _ in range(reader.number())}


def _issued(text):
    return Reader(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))).token()


def write_new(path, renewer="rm"):
    """Writes new tokens of the cluster's owner for HDFS and the ResourceManager, as the web servers issue them."""
    answer = json.loads(hdfs("GET", "/", op="GETDELEGATIONTOKEN", renewer=renewer))
    identifier, password, _, _ = _issued(answer["Token"]["urlString"])
    place = site("fs.defaultFS").removeprefix("hdfs://")
    service = (place.replace("localhost", "127.0.0.1") if ":" in place else f"ha-hdfs:{place}").encode()
    tokens = [(identifier, password, b"HDFS_DELEGATION_TOKEN", service)]
    with open_one_of(RM_WEB, (".rm1", ".rm2"), "/ws/v1/cluster/delegation-token", method="POST",
                     data=json.dumps({"renewer": renewer})) as answer:
        tokens.append(_issued(json.load(answer)["token"]))
    content = b"".join(_text(b"%d" % number) + b"".join(map(_text, token)) for number, token in enumerate(tokens))
    path.write_bytes(b"HDTS\0" + bytes([len(tokens)]) + content + b"\0")
