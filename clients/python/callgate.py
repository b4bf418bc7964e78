"""Asks callgate before a call is dialed.

    client = Client("http://127.0.0.1:8480", key)
    result = client.decide("212-555-0106", "ai")
    if result:
        result.dial(lambda number: place_call(number))
    elif isinstance(result, Blocked):
        print(result.reason, result.next_allowed_at)

Only ``Allowed`` is true, and only it has something to dial with. An outage is an ``Undecided``, never an
exception. With asyncio: ``await asyncio.to_thread(client.decide, number, "ai")``.
"""

from __future__ import annotations

import http.client
import io
import json
import re
import socket
import ssl
import threading
import time
import unicodedata
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)
from urllib.parse import quote, urlsplit

__all__ = [
    "Allowed",
    "Blocked",
    "CallgateError",
    "Client",
    "Decision",
    "DialRefused",
    "Disclosure",
    "Finding",
    "Undecided",
    "WaitingApproval",
]

T = TypeVar("T")

CALL_KINDS = ("manual", "autodialed", "ai")
_MAX_BODY_BYTES = 1_048_576
# The most that gate.allowValidMs can be.
_MAX_VALID_SECONDS = 3_600.0
_made_by_decide = object()


class DialRefused(Exception):
    """The call may not be dialed any more: the time of its allow is over, or it was used."""


class CallgateError(Exception):
    """A request other than ``decide`` that did not succeed; ``status`` is ``None`` without an answer."""

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Finding:
    """The result of one check. New values may come with any release of the service."""

    check: str
    verdict: str
    reason: str
    detail: str


class _Moment(NamedTuple):
    monotonic: float
    wall: float


def _now() -> _Moment:
    return _Moment(time.monotonic(), time.time())


def _elapsed(since: _Moment) -> float:
    # The monotonic clock stands still while a machine is suspended, and the other may be set back.
    monotonic, wall = _now()
    return max(monotonic - since.monotonic, wall - since.wall)


@dataclass(frozen=True)
class Disclosure:
    """What must be said in the call, in words of your own. New keys may come with any release."""

    key: str
    # Citations of the rules that ask for it.
    rules: Tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Allowed:
    """A call that may be dialed once. Only ``Client.decide`` makes one."""

    id: str
    reason: str
    message: str
    valid_until: str
    findings: Tuple[Finding, ...]
    # What is to be dialed: ten digits, a service code, or what policy allows unchecked.
    number: str
    degraded: Tuple[str, ...]
    # Calls that the key may still ask for: "hour" and "day", if they are limited.
    remaining: Mapping[str, float]
    # In the order in which it is said; empty if nothing must be.
    disclosures: Tuple[Disclosure, ...]
    _since: _Moment = field(repr=False)
    _valid_seconds: float = field(repr=False)
    _proof: InitVar[object]
    _use: Any = field(init=False, repr=False)

    may_dial = True

    def __post_init__(self, _proof: object) -> None:
        if _proof is not _made_by_decide:
            raise TypeError("an allow comes only from Client.decide")
        object.__setattr__(self, "_use", threading.Lock())

    def __bool__(self) -> bool:
        return True

    def dial(self, place: Callable[[str], T]) -> T:
        """Calls ``place`` with the number to dial and returns its result.

        Raises ``DialRefused``, without calling it, at or after ``valid_until`` and at the second use.
        """
        if not callable(place):
            raise TypeError("dial needs a function that places the call")
        if _elapsed(self._since) >= self._valid_seconds:
            raise DialRefused(f"decision {self.id} was valid until {self.valid_until}; ask again")
        if not self._use.acquire(blocking=False):
            raise DialRefused(f"decision {self.id} was used; ask again")
        return place(self.number)


@dataclass(frozen=True)
class WaitingApproval:
    """The approval that a call waits for: ask again with its id once a person has given it."""

    id: str
    # A person can give it before then; ISO 8601, UTC.
    expires_at: str


@dataclass(frozen=True)
class Blocked:
    """The call must not be placed."""

    id: str
    reason: str
    message: str
    valid_until: str
    findings: Tuple[Finding, ...]
    # When the call may be asked about again, if only the time blocks it; ISO 8601, UTC.
    next_allowed_at: Optional[str]
    approval: Optional[WaitingApproval] = None
    # The call may be asked about again at next_allowed_at at the latest, and perhaps earlier.
    next_allowed_at_latest: bool = False

    may_dial = False

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Undecided:
    """There is no decision, so the call must not be placed.

    ``cause`` is ``timeout``, ``network``, ``unreadable``, ``refused`` (400 to 499), ``unavailable`` (500
    or more), ``wrong-call``, ``expired`` or ``unsupported-number``. ``message`` never contains the key.
    """

    cause: str
    message: str
    status: Optional[int] = None

    may_dial = False

    def __bool__(self) -> bool:
        return False


Decision = Union[Allowed, Blocked, Undecided]


class Client:
    """One callgate and one key. May be used by several threads; each request has its own connection.

    ``key`` is an API key, or an access token, which may permit less than its key.
    """

    def __init__(self, url: str, key: str, *, deadline_ms: float = 1_000) -> None:
        # What else a header may not hold would be refused with a message that repeats it.
        if not isinstance(key, str) or not re.fullmatch(r"[!-~]+", key):
            raise TypeError("key must be an API key of callgate")
        self._server = _Server(*_read_url(url), key=key)
        self._deadline_ms = _read_deadline(deadline_ms)

    def decide(
        self,
        number: str,
        call_kind: str,
        *,
        project_id: Optional[str] = None,
        campaign_id: Optional[str] = None,
        postal_code: Optional[str] = None,
        caller_id: Optional[str] = None,
        purpose: Optional[str] = None,
        subject: Optional[str] = None,
        person_id: Optional[str] = None,
        reference: Optional[str] = None,
        approval_id: Optional[str] = None,
        deadline_ms: Optional[float] = None,
    ) -> Decision:
        """Asks about one call. Raises only for misuse. Never asks twice.

        ``approval_id`` is the approval of exactly this call, named by ``Blocked.approval`` before.
        """
        if not isinstance(number, str):
            raise TypeError("number must be text")
        if call_kind not in CALL_KINDS:
            raise TypeError(f"call_kind must be one of {', '.join(CALL_KINDS)}")
        deadline = self._deadline(deadline_ms)
        asked = _normalize(number)
        if asked is None:
            rule = "must be digits, with an optional + and spaces or ( ) . - / between them"
            return Undecided("unsupported-number", f"the number {rule}")
        fields = {
            "number": number,
            "callKind": call_kind,
            "projectId": project_id,
            "campaignId": campaign_id,
            "postalCode": postal_code,
            "callerId": caller_id,
            "purpose": purpose,
            "subject": subject,
            "personId": person_id,
            "reference": reference,
            "approvalId": approval_id,
        }
        body = {name: value for name, value in fields.items() if value is not None}
        try:
            answer = self._server.send("POST", "v1/decisions", body, deadline)
        except _NoAnswer as error:
            return Undecided(error.cause, str(error))
        if answer.status == 200:
            return _read_decision(asked, call_kind, answer)
        below_500 = "refused" if answer.status >= 400 else "unreadable"
        cause = "unavailable" if answer.status >= 500 else below_500
        return Undecided(cause, self._describe(answer), answer.status)

    def opt_out(
        self,
        numbers: Union[str, Sequence[str]],
        *,
        project_id: Optional[str] = None,
        said: Optional[str] = None,
        deadline_ms: Optional[float] = None,
    ) -> None:
        """Puts numbers on the internal do-not-call lists of all projects, one after the other.

        ``said`` are the words of the person, at most 500 characters. The deadline is for each number. Raises
        ``CallgateError`` if one was not acknowledged: then repeat all, which does no harm.
        """
        each = [numbers] if isinstance(numbers, str) else list(numbers)
        normalized = list(map(_read_ten_digits, each))
        if not normalized:
            raise TypeError("numbers must not be empty")
        optional = {"projectId": project_id, "said": said}
        about = {name: value for name, value in optional.items() if value is not None}
        failure = "the opt-out was not acknowledged"
        for number in normalized:
            body = {"number": number, **about}
            answer = self._ask("POST", "v1/opt-outs", body, deadline_ms, failure)
            if answer.get("recorded") is not True:
                raise CallgateError(f"{failure}: the answer is another", 200)

    def explain(self, id: str, *, deadline_ms: Optional[float] = None) -> Dict[str, Any]:
        """Reads a recorded decision. Raises ``CallgateError`` if there is none, or it cannot be read."""
        if not isinstance(id, str) or id == "":
            raise TypeError("id must be that of a decision")
        failure = "the decision was not read"
        path = f"v1/decisions/{quote(id, safe='')}"
        answer = self._ask("GET", path, None, deadline_ms, failure)
        if answer.get("id") != id or not isinstance(answer.get("findings"), list):
            raise CallgateError(f"{failure}: the answer is another", 200)
        return answer

    def _deadline(self, deadline_ms: Optional[float]) -> float:
        ms = self._deadline_ms if deadline_ms is None else _read_deadline(deadline_ms)
        return time.monotonic() + ms / 1_000

    def _ask(
        self,
        method: str,
        path: str,
        body: Optional[Dict[str, Any]],
        deadline_ms: Optional[float],
        failure: str,
    ) -> Dict[str, Any]:
        try:
            answer = self._server.send(method, path, body, self._deadline(deadline_ms))
        except _NoAnswer as error:
            raise CallgateError(f"{failure}: {error}") from None
        read = _read_object(answer) if answer.status == 200 else None
        if read is None:
            raise CallgateError(f"{failure}: {self._describe(answer)}", answer.status)
        return read

    def _describe(self, answer: _Answer) -> str:
        own = re.match(r"(application/(problem\+)?json|text/plain)\b", answer.type, re.I)
        text = answer.body.decode("utf-8", "replace") if own else ""
        text = text.replace(self._server.key, "***")[:500]
        return f"callgate answered {answer.status}" + (f": {text}" if text else "")


def _read_url(url: str) -> Tuple[bool, str, int, str]:
    rule = "url must be an address such as http://127.0.0.1:8480, without password, query and #"
    try:
        parts = urlsplit(url)
        port = parts.port
    except (ValueError, AttributeError, TypeError):
        raise TypeError(rule) from None
    plain = not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise TypeError(rule)
    if not re.fullmatch(r"[!-~]*", url):
        raise TypeError(rule)
    secure = parts.scheme == "https"
    path = parts.path if parts.path.endswith("/") else parts.path + "/"
    return secure, parts.hostname, port or (443 if secure else 80), path


def _read_deadline(ms: float) -> float:
    if isinstance(ms, (int, float)) and 1 <= ms <= 60_000:
        return ms
    raise TypeError("deadline_ms must be 1 to 60000")


def _read_ten_digits(text: str) -> str:
    number = _normalize(text) if isinstance(text, str) else None
    if number is None or not re.fullmatch(r"[0-9]{10}", number):
        raise TypeError("an opt-out is of North American numbers, of 10 digits; none was recorded")
    return number


def _normalize(text: str) -> Optional[str]:
    """The digits that two spellings of a number have in common; ``None`` for what is no plain number."""
    if len(text) > 128:
        return None
    plain = "".join(c for c in text if c not in "().-/" and unicodedata.category(c) != "Zs")
    if not re.fullmatch(r"\+?[0-9]+", plain):
        return None
    # Some telephone systems put a plus before service codes too.
    return re.sub(r"^(?:\+|011|00)?1(?=[0-9]{10}\Z)|^\+(?=[0-9]{3}\Z)", "", plain)


# What an answer says.


def _read_decision(asked: str, call_kind: str, answer: _Answer) -> Decision:
    unreadable = Undecided("unreadable", "the answer is not a decision of callgate", answer.status)
    body = _read_object(answer)
    date = _parse_http_date(answer.date)
    if body is None or date is None:
        return unreadable
    id, reason, message = body.get("id"), body.get("reason"), body.get("message")
    number, valid_until = body.get("number"), body.get("validUntil")
    texts = (id, reason, message, number, valid_until)
    findings = _read_findings(body.get("findings"))
    if not all(isinstance(one, str) for one in texts) or not id or not reason or findings is None:
        return unreadable
    decision = body.get("decision")
    of_number = _normalize(number) == asked or (decision == "block" and number == "")
    # Whatever else a call to a service code says, it is allowed.
    of_kind = body.get("callKind") == call_kind or reason == "service-code"
    if not of_number or not of_kind or body.get("whatIf") is not False:
        return Undecided("wrong-call", "the answer is about another call", answer.status)
    answered = (id, reason, message, valid_until, findings)
    mandate = _read_dict(body.get("mandate"))
    if decision == "block":
        next_allowed_at = body.get("nextAllowedAt")
        opens_at = next_allowed_at if isinstance(next_allowed_at, str) else None
        latest = body.get("nextAllowedAtLatest") is True
        return Blocked(*answered, opens_at, _read_approval(mandate.get("approval")), latest)
    degraded = body.get("degraded")
    valid_seconds = _read_valid_seconds(body, date)
    if decision != "allow" or body.get("dial") != number or valid_seconds is None:
        return unreadable
    disclosures = _read_disclosures(body.get("disclosures", []))
    if disclosures is None:
        return unreadable
    if not isinstance(degraded, list) or not all(isinstance(one, str) for one in degraded):
        return unreadable
    if _elapsed(answer.sent_at) >= valid_seconds:
        message = f"the allow was valid until {valid_until}"
        return Undecided("expired", message, answer.status)
    remaining = _read_remaining(mandate.get("remaining"))
    return Allowed(
        *answered,
        number,
        tuple(degraded),
        remaining,
        disclosures,
        answer.sent_at,
        valid_seconds,
        _made_by_decide,
    )


def _read_dict(value: Any) -> Dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_approval(value: Any) -> Optional[WaitingApproval]:
    members = _read_dict(value)
    id, expires_at = members.get("id"), members.get("expiresAt")
    if not isinstance(id, str) or not id or not isinstance(expires_at, str):
        return None
    return WaitingApproval(id, expires_at)


# ``None`` if it cannot be read: a call of which it is not known what must be said is not placed.
def _read_disclosures(value: Any) -> Optional[Tuple[Disclosure, ...]]:
    if not isinstance(value, list):
        return None
    disclosures = []
    for one in value:
        key, rules = _read_dict(one).get("key"), _read_dict(one).get("rules")
        if not isinstance(key, str) or not key or not isinstance(rules, list):
            return None
        if not all(isinstance(rule, str) for rule in rules):
            return None
        disclosures.append(Disclosure(key, tuple(rules)))
    return tuple(disclosures)


def _read_remaining(value: Any) -> Mapping[str, float]:
    members = {name: _read_dict(value).get(name) for name in ("hour", "day")}
    numbers = {name: one for name, one in members.items() if type(one) in (int, float)}
    return MappingProxyType(numbers)


def _read_findings(value: Any) -> Optional[Tuple[Finding, ...]]:
    names = ("check", "verdict", "reason", "detail")
    if not isinstance(value, list):
        return None
    findings = []
    for one in value:
        texts = [one.get(name) for name in names] if isinstance(one, dict) else [None]
        if not all(isinstance(text, str) for text in texts):
            return None
        findings.append(Finding(*texts))
    return tuple(findings)


def _read_valid_seconds(body: Dict[str, Any], date: float) -> Optional[float]:
    """How long an allow is valid, from when its request was sent.

    By the clock of the server, which was at most at the end of the second in ``Date``, or at
    ``decidedAt``, when it answered, and no earlier than the request.
    """
    instants = [_parse_instant(body.get(name)) for name in ("decidedAt", "judgedAt", "validUntil")]
    decided_at, judged_at, valid_until = instants
    if decided_at is None or judged_at is None or valid_until is None:
        return None
    if valid_until - judged_at > _MAX_VALID_SECONDS or abs(decided_at - date) > _MAX_VALID_SECONDS:
        return None
    # The sandbox may have its own time, in which it judges.
    sandbox = body.get("accountId") == "sandbox"
    expires_at = decided_at + valid_until - judged_at if sandbox else valid_until
    valid_seconds = expires_at - max(date + 1, decided_at)
    return None if valid_seconds > _MAX_VALID_SECONDS else valid_seconds


def _read_object(answer: _Answer) -> Optional[Dict[str, Any]]:
    # An answer from a cache has an age.
    if answer.has_age or not re.match(r"application/json\s*(;|\Z)", answer.type, re.I):
        return None
    try:
        body = json.loads(
            answer.body.decode("utf-8"),
            object_pairs_hook=_read_members,
            parse_int=lambda text: int(text) if len(text) < 20 else float(text),
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _read_members(members: List[Tuple[str, Any]]) -> Dict[str, Any]:
    read = dict(members)
    # Readers differ on which of two counts.
    if len(read) != len(members):
        raise ValueError("a name is given twice")
    return read


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_INSTANT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,3}))?Z")
_HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT")


def _parse_instant(text: Any) -> Optional[float]:
    found = _INSTANT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    try:
        whole = datetime.fromisoformat(found[1] + "+00:00").timestamp()
    except (ValueError, OverflowError):
        return None
    return whole + float("0." + (found[2] or "0"))


def _parse_http_date(text: str) -> Optional[float]:
    if _HTTP_DATE.fullmatch(text) is None:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


# One request and its whole answer, within a deadline. Nothing is sent twice.


class _NoAnswer(Exception):
    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


@dataclass(frozen=True)
class _Answer:
    status: int
    type: str
    date: str
    has_age: bool
    body: bytes = field(repr=False)
    sent_at: _Moment


@dataclass(frozen=True)
class _Server:
    secure: bool
    host: str
    port: int
    path: str
    key: str = field(repr=False)

    def send(
        self, method: str, path: str, body: Optional[Dict[str, Any]], deadline: float
    ) -> _Answer:
        """``deadline`` is an instant of the monotonic clock. Raises only ``_NoAnswer``."""
        sent_at = _now()
        try:
            return self._exchange(method, self.path + path, body, deadline, sent_at)
        except _NoAnswer:
            raise
        except (socket.timeout, TimeoutError):
            raise _NoAnswer("timeout", "no answer before the deadline") from None
        except (OSError, http.client.HTTPException) as error:
            # The texts of these may repeat what the server sent.
            raise _NoAnswer("network", f"the request failed: {type(error).__name__}") from None

    def _exchange(
        self,
        method: str,
        path: str,
        body: Optional[Dict[str, Any]],
        deadline: float,
        sent_at: _Moment,
    ) -> _Answer:
        # Neither follows redirects nor reads the addresses of proxies from the environment.
        connection = http.client.HTTPConnection(self.host, self.port)
        headers = {
            **_credential_header(self.key),
            "Accept": "application/json",
            # A compressed answer may be a thousand times as long as it looks.
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        with self._connect(deadline) as connected:
            connection.sock = _TimedSocket(connected, deadline)  # type: ignore
            connection.request(method, path, content, headers)
            with connection.getresponse() as response:
                return _read_answer(response, sent_at)

    def _connect(self, deadline: float) -> socket.socket:
        failure: Optional[OSError] = None
        for family, kind, protocol, _, address in _resolve(self.host, self.port, deadline):
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(_remaining(deadline))
                connection.connect(address)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if not self.secure:
                    return connection
                context = ssl.create_default_context()
                connection.settimeout(_remaining(deadline))
                return context.wrap_socket(connection, server_hostname=self.host)
            except OSError as error:
                connection.close()
                failure = error
        raise failure or OSError("the host has no address")


def _credential_header(key: str) -> Dict[str, str]:
    """The server reads a token only there, and a key in its own header with less work."""
    return {"Authorization": f"Bearer {key}"} if key.startswith("cgt_") else {"loginId": key}


def _read_answer(response: http.client.HTTPResponse, sent_at: _Moment) -> _Answer:
    headers = response.headers
    if (headers.get("content-encoding") or "identity").lower() != "identity":
        raise _NoAnswer("unreadable", "the answer is compressed")
    body = b""
    while True:
        part = response.read(65_536)
        if not part:
            break
        body += part
        if len(body) > _MAX_BODY_BYTES:
            raise _NoAnswer("unreadable", "the answer is longer than 1 MiB")
    if response.length:
        raise _NoAnswer("unreadable", "the answer ended too early")
    dates = headers.get_all("date") or []
    types = headers.get_all("content-type") or []
    return _Answer(
        status=response.status,
        type=types[0] if len(types) == 1 else "",
        date=dates[0] if len(dates) == 1 else "",
        has_age="age" in headers,
        body=body,
        sent_at=sent_at,
    )


def _remaining(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise socket.timeout()
    return seconds


def _resolve(host: str, port: int, deadline: float) -> List[Any]:
    """In another thread, since the system's look-up of a name has no deadline."""
    found: List[Any] = []
    failure: List[OSError] = []

    def look_up() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError):
            failure.append(OSError("the host is unknown"))

    thread = threading.Thread(target=look_up, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        raise OSError("no thread for the look-up of the host") from None
    thread.join(_remaining(deadline))
    if failure:
        raise failure[0]
    if thread.is_alive():
        raise socket.timeout()
    return found


class _TimedSocket:
    """A socket each of whose reads and writes ends at the deadline; a timeout of its own is for each read."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline

    def sendall(self, content: bytes) -> None:
        self._connection.settimeout(_remaining(self._deadline))
        self._connection.sendall(content)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._connection, self._deadline))

    def close(self) -> None:
        """HTTPConnection closes it before the body of a last answer is read."""


class _TimedReader(io.RawIOBase):
    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(_remaining(self._deadline))
        return self._connection.recv_into(buffer)
