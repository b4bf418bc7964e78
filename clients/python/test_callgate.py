"""With a running callgate and a hostile server, whose addresses come in environment variables.

    npx vitest run --project imports test/process/clients/python.test.ts
"""

import dataclasses
import json
import os
import threading
import time
import unittest
from unittest import mock

import callgate
from callgate import (
    Allowed,
    Blocked,
    CallgateError,
    Client,
    DialRefused,
    Disclosure,
    Undecided,
    WaitingApproval,
)

URL = os.environ["CALLGATE_TEST_URL"]
KEY = os.environ["CALLGATE_TEST_KEY"]
TOKEN = os.environ["CALLGATE_TEST_TOKEN"]
HOSTILE_URL = os.environ["CALLGATE_TEST_HOSTILE_URL"]
HOSTILE_KEY = os.environ["CALLGATE_TEST_HOSTILE_KEY"]
HOSTILE_CASES = json.loads(os.environ["CALLGATE_TEST_HOSTILE_CASES"])
NUMBER = "2125550106"


def hostile(name, deadline_ms=20_000):
    return Client(f"{HOSTILE_URL}/{name}", HOSTILE_KEY, deadline_ms=deadline_ms)


def allow():
    result = hostile("sound").decide(NUMBER, "ai")
    assert isinstance(result, Allowed), result
    return result


def kind_of(result):
    if isinstance(result, Undecided):
        return "timeout" if result.cause == "timeout" else "undecided"
    return "allowed" if isinstance(result, Allowed) else "blocked"


class Hostile(unittest.TestCase):
    def test_only_a_sound_allow_may_be_dialed(self):
        self.assertGreater(len(HOSTILE_CASES), 50)
        for name, expected in HOSTILE_CASES.items():
            with self.subTest(name):
                client = hostile(name, 200 if expected == "timeout" else 20_000)
                result = client.decide(NUMBER, "ai")
                self.assertEqual(kind_of(result), expected, result)
                self.assertEqual(bool(result), expected == "allowed")
                self.assertEqual(result.may_dial, expected == "allowed")
                self.assertEqual(hasattr(result, "dial"), expected == "allowed")
                self.assertNotIn(HOSTILE_KEY, repr(result))

    def test_no_opt_out_is_acknowledged_and_nothing_explained(self):
        for name, expected in HOSTILE_CASES.items():
            with self.subTest(name):
                client = hostile(name, 200 if expected == "timeout" else 20_000)
                with self.assertRaises(CallgateError) as failure:
                    client.opt_out(NUMBER)
                self.assertNotIn(HOSTILE_KEY, str(failure.exception))
                with self.assertRaises(CallgateError):
                    client.explain("another")

    def test_the_deadline_is_for_the_whole_answer(self):
        for name in ("silent", "slow-head", "slow-body"):
            started = time.monotonic()
            self.assertEqual(kind_of(hostile(name, 300).decide(NUMBER, "ai")), "timeout")
            self.assertGreaterEqual(time.monotonic() - started, 0.29)

    def test_a_slow_look_up_of_the_host_ends_at_the_deadline(self):
        asked = threading.Event()
        with mock.patch("socket.getaddrinfo", side_effect=lambda *_, **__: [asked.wait(60)]):
            result = Client("http://callgate.example", KEY, deadline_ms=100).decide(NUMBER, "ai")
            asked.set()
        self.assertEqual(kind_of(result), "timeout")

    def test_is_undecided_when_no_thread_can_be_started(self):
        with mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")):
            self.assertEqual(hostile("sound").decide(NUMBER, "ai").cause, "network")

    def test_says_what_must_be_said(self):
        said = hostile("with-disclosures").decide(NUMBER, "ai").disclosures
        self.assertEqual(said, (Disclosure("identity", ("a rule",)),))
        self.assertEqual(hostile("sound").decide(NUMBER, "ai").disclosures, ())

    def test_names_the_approval_that_a_call_waits_for(self):
        waiting = hostile("waits").decide(NUMBER, "ai")
        self.assertEqual(waiting.approval, WaitingApproval("ap-1", "2026-11-23T17:15:00.000Z"))
        allowed = hostile("waits").decide(NUMBER, "ai", approval_id=waiting.approval.id)
        self.assertEqual((bool(allowed), dict(allowed.remaining)), (True, {"hour": 2}))
        self.assertEqual(dict(hostile("strange-mandate").decide(NUMBER, "ai").remaining), {})
        self.assertIsNone(hostile("block-of-strange-mandate").decide(NUMBER, "ai").approval)

    def test_proxies_of_the_environment_are_not_used(self):
        with mock.patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:1"}):
            self.assertTrue(hostile("sound").decide(NUMBER, "ai"))


class Running(unittest.TestCase):
    def setUp(self):
        self.client = Client(URL, KEY, deadline_ms=20_000)

    def test_returns_what_may_be_dialed(self):
        for number in (NUMBER, "+1 (212) 555-0106", "911", "+911"):
            result = self.client.decide(number, "ai", reference="lead-7")
            self.assertIsInstance(result, Allowed, result)
            dialed = result.dial(lambda text: text)
            self.assertEqual(dialed, "911" if len(number) < 5 else NUMBER)

    def test_returns_why_not(self):
        result = self.client.decide("2125550100", "ai")
        self.assertIsInstance(result, Blocked)
        self.assertEqual(result.reason, "no-consent")
        self.assertIn("permission", [finding.check for finding in result.findings])
        self.assertEqual(self.client.explain(result.id)["id"], result.id)

    def test_asks_with_a_token_that_permits_less(self):
        client = Client(URL, TOKEN, deadline_ms=20_000)
        self.assertIsInstance(client.decide(NUMBER, "ai"), Allowed)
        self.assertEqual(client.decide(NUMBER, "manual").reason, "key-kind")

    def test_returns_undecided_for_what_is_refused(self):
        self.assertEqual(Client(URL, "a" * 44).decide(NUMBER, "ai").status, 401)
        result = self.client.decide(NUMBER, "ai", postal_code="x")
        self.assertEqual((result.cause, result.status), ("refused", 400))
        self.assertEqual(self.client.decide("sip:911@x", "ai").cause, "unsupported-number")

    def test_returns_undecided_when_nothing_listens(self):
        self.assertEqual(Client("http://127.0.0.1:1", KEY).decide(NUMBER, "ai").cause, "network")

    def test_enforces_an_opt_out(self):
        self.client.opt_out(["+1 303 555 0100", "3035550101"])
        self.assertEqual(self.client.decide("3035550100", "manual").reason, "internal-dnc")
        self.client.opt_out("3035550104", project_id="nobody")
        self.assertEqual(self.client.decide("3035550104", "manual").reason, "internal-dnc")
        self.client.opt_out("3035550102", said="stop calling me")
        self.assertEqual(self.client.decide("3035550102", "manual").reason, "internal-dnc")
        for numbers in ("12345", []):
            with self.assertRaises(TypeError):
                self.client.opt_out(numbers)
        with self.assertRaises(CallgateError) as missing:
            self.client.explain("../../healthz")
        self.assertEqual(missing.exception.status, 404)


class AnAllow(unittest.TestCase):
    def test_is_dialed_once_also_by_many_threads(self):
        allowed = allow()
        results = []

        def dial():
            try:
                results.append(allowed.dial(lambda number: number))
            except DialRefused:
                results.append(None)

        threads = [threading.Thread(target=dial) for _ in range(20)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(sorted(map(str, results)), [NUMBER] + ["None"] * 19)

    def test_is_not_dialed_after_its_time_by_either_clock(self):
        for clock in ("monotonic", "time"):
            allowed = allow()
            later = getattr(time, clock)() + 60
            with mock.patch.object(callgate.time, clock, return_value=later):
                with self.assertRaises(DialRefused):
                    allowed.dial(self.fail)

    def test_cannot_be_made_by_anyone_else(self):
        allowed = allow()
        with self.assertRaises(TypeError):
            Allowed("d1", "permitted", "", "", (), NUMBER, (), {}, None, 60.0, object())
        with self.assertRaises((TypeError, ValueError)):
            dataclasses.replace(allowed, number="2125550199")
        with self.assertRaises(dataclasses.FrozenInstanceError):
            allowed.number = "2125550199"


class Misuse(unittest.TestCase):
    def test_raises(self):
        for url, key in (
            (URL, ""),
            (URL, None),
            (URL, "a\r\nb: c"),
            ("callgate", KEY),
            ("ftp://x", KEY),
            ("http://u:p@x", KEY),
            ("http://x?y=1", KEY),
            ("http://x:port", KEY),
            ("http://x/a b", KEY),
            (None, KEY),
        ):
            with self.assertRaises(TypeError, msg=(url, key)):
                Client(url, key)
        for deadline_ms in (0, float("nan"), "5", 60_001):
            with self.assertRaises(TypeError):
                Client(URL, KEY, deadline_ms=deadline_ms)
        with self.assertRaises(TypeError):
            Client(URL, KEY).decide(2125550106, "ai")
        with self.assertRaises(TypeError):
            Client(URL, KEY).decide(NUMBER, "robot")

    def test_the_key_is_not_printed(self):
        self.assertNotIn(KEY, repr(vars(Client(URL, KEY))))


if __name__ == "__main__":
    unittest.main()
