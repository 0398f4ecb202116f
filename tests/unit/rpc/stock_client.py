"""Talks to the server at the Unix socket SOCKET with the stock Thrift library and freshly generated code.

Usage: stock_client.py GENERATED_FOLDER SOCKET. Exits 0 if every answer is as it should be.
"""
import sys

sys.path.insert(0, sys.argv[1])

from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

from tony_rpc import ClientService, ExecutorService
from tony_rpc.constants import PROTOCOL_VERSION
from tony_rpc.ttypes import (Caller, CommandKind, KillAnswer, KillOrder, Phase, Progress, RefusalReason, Refused, Registration, TaskOutcome)


def connect(client_class):
    socket = TSocket.TSocket(unix_socket=sys.argv[2])
    socket.setTimeout(10_000)
    transport = TTransport.TFramedTransport(socket)
    transport.open()
    return client_class(TBinaryProtocol.TBinaryProtocol(transport))


def refusal_of(call, *args):
    try:
        call(*args)
    except Refused as refused:
        return refused.reason
    raise AssertionError("not refused")


def caller(token="secret"):
    return Caller(job="local-1", role="worker", index=3, attempt=2, container="c-17", generation=0, epoch=1,
                  token=token)


def main():
    executors = connect(ExecutorService.Client)
    here = Registration(protocol=PROTOCOL_VERSION, host="127.0.0.1", port=4711, phase=Phase.WAITING, pid=0)
    assert executors.Register(caller(), here).epoch == 7
    assert refusal_of(executors.Register, caller("guessed"), here) == RefusalReason.BAD_TOKEN
    later = Registration(protocol=PROTOCOL_VERSION + 1, host="127.0.0.1", port=4711, phase=Phase.WAITING, pid=0)
    assert refusal_of(executors.Register, caller(), later) == RefusalReason.BAD_PROTOCOL
    unknown = Progress(phase=77, pid=0)
    assert refusal_of(executors.Heartbeat, caller(), unknown) == RefusalReason.BAD_REQUEST

    command = executors.Await(caller(), 0)  # parked, answered later
    assert (command.number, command.kind, command.grace_ms) == (9, CommandKind.STOP, 250), command
    executors.Heartbeat(caller(), Progress(phase=Phase.RUNNING, pid=1234))
    executors.ReportOutcome(caller(), TaskOutcome(outcome_class="user_error", exit_code=3, message="bad",
                                                  stderr_tail="Traceback: \u00e4"))

    clients = connect(ClientService.Client)
    status = clients.GetStatus("secret")
    assert status.seq == 12 and status.epoch == 7 and not status.ended and '"local-1"' in status.status, status
    assert refusal_of(clients.GetStatus, "guessed") == RefusalReason.BAD_TOKEN
    clients.Kill("secret", "from Python", -1)
    order = KillOrder(reason="from Python", grace_ms=-1, if_owner="o1", if_watcher="", due_ms=0)
    assert clients.KillIf("secret", order).answer == KillAnswer.FENCED
    assert clients.Attach("secret", "o2", 60_000).attached


main()
