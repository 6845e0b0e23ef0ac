"""One request to a model, through its window to the provider and back."""

from __future__ import annotations

import asyncio
from time import perf_counter

import msgspec
from starlette.types import Receive, Scope, Send

from sash.errors import SashError
from sash.server.proxy.courier import Answer, Errand
from sash.server.proxy.expanding import MOST_ROUNDS, continued, read_answer, withdrawn
from sash.server.proxy.frames import Frames
from sash.server.proxy.headers import Raw, back, onward, owners_key
from sash.server.proxy.incoming import Gone, Incoming, incoming, read_body
from sash.server.proxy.keeping import Kept, conversation_of, named_for
from sash.server.proxy.outlet import STREAM_HEADERS, Outlet, until_gone
from sash.server.proxy.overflow import overflow_in
from sash.server.proxy.plan import Plan, counted_as
from sash.server.proxy.planning import Planning, Use
from sash.server.proxy.proxy import Passed, Proxy
from sash.server.proxy.refusals import Refusal, refusal_of
from sash.server.proxy.usage import UsageReader, error_in
from sash.server.proxy.withheld import Withheld

MOST_ERROR_BYTES = 1_000_000
MOST_ANSWER_BYTES = 64_000_000
_PREAMBLE = (b"response.created", b"response.in_progress", b"response.queued")


class Exchange:
    """A route to a model: an ASGI application."""

    def __init__(self, proxy: Proxy, wire: str, tenant: str = "", *, use: Use = "answer") -> None:
        self._proxy, self._wire, self._tenant, self._use = proxy, wire, tenant, use

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        outlet = Outlet(send)
        try:
            asked = await read_body(incoming(scope), receive, self._proxy.setup.body_bytes)
            planning = Planning(self._proxy, self._wire, self._tenant, asked, self._use)
            run = Run(self._proxy, self._wire, asked, planning, outlet, counts=self._use == "count")
            try:
                await until_gone(receive, run.answer())
            finally:
                await run.settle()
        except Gone:
            return
        except Refusal as refusal:
            await outlet.refuse(refusal, self._wire, [])
        finally:
            outlet.close()


class Run:
    """What is known of one exchange while it lasts."""

    def __init__(
        self, proxy: Proxy, wire: str, asked: Incoming, planning: Planning, outlet: Outlet, *, counts: bool = False
    ) -> None:
        self._proxy, self._wire, self._asked, self._outlet = proxy, wire, asked, outlet
        self._planning = planning
        self._counts = counts
        """Whether it is asked how large a request would be; where the upstream cannot say, we do."""
        self._waited = 0.0
        self._plan: Plan | None = None
        self._retried = False
        self._status, self._spent, self._reader = 0, 0.0, UsageReader()
        self._rounds = 0
        self._keeping: asyncio.Future[Kept | None] | None = None
        self._placed: asyncio.Event | None = None
        """Set once it is known where the conversation is kept, or that it cannot be."""
        self._kept_in = ""

    async def answer(self) -> None:
        """Fit it, send it, and pass the answer on."""
        try:
            self._plan = await self._planning.plan()
            self._keep(self._asked, self._plan)
            self._status = await self._exchange(self._asked, self._plan, self._reader)
        except Refusal as refusal:
            await self._refuse(refusal)
        except SashError as error:
            await self._refuse(refusal_of(error, self._wire))

    async def _refuse(self, refusal: Refusal) -> None:
        self._status = refusal.status
        await self._outlet.refuse(refusal, self._wire, self._said())

    async def settle(self) -> None:
        """What is left to do when the answer is out, or the client gone: nobody waits for it."""
        plan, usage = self._plan, self._reader.usage
        await self._learn(plan, self._reader)
        if self._proxy.summaries is not None and plan is not None and plan.fitted is not None and not self._counts:
            fitted = plan.fitted
            await asyncio.to_thread(
                self._proxy.summaries.consider, self._planning.who, fitted.fold, fitted.listed, self._wire
            )
        await self._keep_usage(self._reader)
        self._proxy.passed(
            Passed(
                wire=self._wire,
                status=self._status,
                overhead_seconds=self._spent,
                usage=usage,
                model="" if plan is None else plan.sketch.name,
                frame="" if plan is None else plan.label,
                changed=plan is not None and plan.changed,
                retried=self._retried,
            )
        )

    def _keep(self, asked: Incoming, plan: Plan) -> None:
        """Store what is new, while the provider thinks."""
        keeper = self._proxy.keeper
        name = conversation_of(asked, plan.sketch) if keeper is not None and plan.fitted is not None else ""
        if keeper is not None and name and not self._counts:
            tenant, caller = self._planning.who
            loop, placed = asyncio.get_running_loop(), asyncio.Event()
            base = named_for(name, caller)

            def tell(thread: str) -> None:
                self._kept_in = thread
                loop.call_soon_threadsafe(placed.set)

            def keep() -> Kept | None:
                try:
                    return keeper.keep(tenant, base, asked.plain, self._wire, plan.sketch.name, placed=tell)
                finally:
                    loop.call_soon_threadsafe(placed.set)

            self._placed = placed
            self._keeping = asyncio.ensure_future(asyncio.to_thread(keep))

    async def _keep_usage(self, reader: UsageReader) -> None:
        kept = None if self._keeping is None else await self._keeping
        if kept is not None and self._proxy.keeper is not None and reader.usage.context:
            await asyncio.to_thread(
                self._proxy.keeper.record_usage, self._planning.who[0], kept, reader.told, self._wire
            )

    async def _exchange(self, asked: Incoming, plan: Plan, reader: UsageReader) -> int:
        """Send it, and pass on what comes back; the status that the client saw."""
        if plan.sketch.streams:
            self._outlet.stay_alive(self._proxy.setup.keepalive_seconds, self._said)
        answer = await self._ask(asked, plan)
        try:
            if answer.status >= 300:
                again = await self._pass_error(answer, plan)
            elif self._may_expand(plan):
                again = await self._expand(answer, plan, reader)
            elif answer.media_type == "text/event-stream":
                again = await self._pass_stream(answer, plan, reader)
            else:
                again = await self._pass_body(answer, plan, reader)
        finally:
            await answer.close()
        if again is not None:
            self._retried = self._retried or again.fitted is not plan.fitted
            self._plan = again
            return await self._exchange(asked, again, reader)
        return answer.status

    async def _ask(self, asked: Incoming, plan: Plan) -> Answer:
        headers = onward(asked.headers, decoded=plan.body is not asked.body)
        headers.append((b"accept-encoding", b"identity"))
        upstream = self._planning.upstream(plan.sketch.name)
        if upstream == self._proxy.addresses.choose(upstream.kind):
            headers += owners_key(asked.headers, headers, upstream.kind)
        errand = Errand(
            upstream=upstream,
            method=asked.method,
            path=asked.path,
            query=asked.query,
            headers=headers,
            body=plan.body,
        )
        begun = perf_counter()
        try:
            return await self._proxy.courier.ask(errand)
        finally:
            self._waited += perf_counter() - begun

    async def _pass_error(self, answer: Answer, plan: Plan) -> Plan | None:
        body, whole = await answer.read(MOST_ERROR_BYTES)
        if whole and (again := await self._smaller(plan, answer.status, body)) is not None:
            return again
        if self._counts and plan.fitted is not None and answer.status in (404, 405, 501):
            counted = msgspec.json.encode(counted_as(plan.fitted.tokens.value, self._wire))
            length = (b"content-length", str(len(counted)).encode())
            await self._outlet.start(200, [(b"content-type", b"application/json"), length, *self._said()])
            await self._outlet.end(counted)
            return None
        if self._outlet.started:
            # The client has heard a sign of life, so that the status has gone: it is told as the stream's last event.
            words = body[:2_000].decode("utf-8", "replace")
            raise Refusal(answer.status, f"{answer.upstream.origin} answered {answer.status}: {words}")
        await self._head(answer, len(body) if whole else None)
        if whole:
            await self._outlet.end(body)
        else:
            await self._outlet.write(body)
            async for chunk in answer.plain():
                await self._outlet.write(chunk)
            await self._outlet.end()
        return None

    def _offers(self, plan: Plan) -> bool:
        """Whether a model may answer that it calls our tool."""
        return self._planning.offers and plan.fitted is not None and not self._counts

    def _may_expand(self, plan: Plan) -> bool:
        """Whether a call of our tool is answered: a stream is not held for it while nothing is shortened."""
        if not self._offers(plan) or plan.fitted is None or self._rounds == MOST_ROUNDS:
            return False
        return bool(plan.fitted.report.shortened) or not plan.sketch.streams

    async def _expand(self, answer: Answer, plan: Plan, reader: UsageReader) -> Plan | None:
        """Hold an answer until it is known whose it is: one that asks to read back goes on from what it reads."""
        begun = perf_counter()
        body, whole = await answer.read(MOST_ANSWER_BYTES)
        self._waited += perf_counter() - begun
        streamed = answer.media_type == "text/event-stream"
        said = read_answer(body, self._wire, streamed=streamed) if whole else None
        if said is not None and said.expands and plan.fitted is not None:
            self._rounds += 1
            body = continued(plan.body, self._wire, said, plan.fitted)
            if self._rounds == MOST_ROUNDS:
                body = withdrawn(body, self._wire)
            return msgspec.structs.replace(plan, body=body, changed=True)
        if not whole:
            raise Refusal(502, f"{answer.upstream.origin} answered with more than {MOST_ANSWER_BYTES:,} bytes")
        if not body.strip():
            raise Refusal(502, f"{answer.upstream.origin} answered {answer.status} with nothing")
        withheld = Withheld(self._wire)
        if streamed:
            frames = Frames(len(body) + 1)
            whole_frames = [frame for frame, _ in frames.feed(body)]
            _refuse_cut_off(frames, answer)
            whole_frames.append(frames.rest())
            for frame in whole_frames:
                reader.see_frame(frame)
            body = b"".join(map(withheld.frame, whole_frames))
        else:
            reader.see_body(body)
            body = withheld.body(body)
        if not self._outlet.started:
            await self._head(answer, None if streamed else len(body))
        await self._outlet.end(body)
        return None

    async def _pass_body(self, answer: Answer, plan: Plan, reader: UsageReader) -> Plan | None:
        """An answer that comes at once. It is judged before it is passed: an empty success would be believed."""
        origin, media = answer.upstream.origin, answer.media_type
        if media and media != "application/json" and not media.endswith("+json"):
            raise Refusal(502, f"{origin} answered with {media[:80]!r} where a model's answer was expected")
        if plan.sketch.streams:
            raise Refusal(502, f"{origin} was asked for a stream and answered with none; ask it without `stream`")
        begun = perf_counter()
        body, whole = await answer.read(MOST_ANSWER_BYTES)
        self._waited += perf_counter() - begun
        if not whole:
            raise Refusal(502, f"{origin} answered with more than {MOST_ANSWER_BYTES:,} bytes")
        if body.lstrip()[:1] != b"{":
            raise Refusal(502, f"{origin} answered {answer.status} with {'no JSON' if body.strip() else 'nothing'}")
        reader.see_body(body)
        if self._offers(plan) and not (body := Withheld(self._wire).body(body)):
            raise Refusal(502, f"the model at {origin} asks to read back, again and again, and says nothing")
        await self._head(answer, len(body))
        await self._outlet.end(body)
        return None

    async def _pass_stream(self, answer: Answer, plan: Plan, reader: UsageReader) -> Plan | None:
        """A stream, frame by frame. Until its first word it may still turn out to be an overflow."""
        outlet = self._outlet
        withheld = Withheld(self._wire) if self._offers(plan) else None
        frames = Frames() if withheld is None else Frames(MOST_ANSWER_BYTES)
        held: list[bytes] = []
        begun = perf_counter()
        async for chunk in answer.plain():
            self._waited += perf_counter() - begun
            judged = outlet.started
            for piece, whole in frames.feed(chunk):
                if whole:
                    reader.see_frame(piece)
                    if not judged:
                        error = error_in(piece)
                        if error is not None and (again := await self._smaller(plan, 400, error)) is not None:
                            return again
                        judged = error is not None or not any(name in piece[:200] for name in _PREAMBLE)
                else:
                    judged = True
                held.append(piece if withheld is None or not whole else withheld.frame(piece))
            if held and judged:
                if not outlet.started:
                    await self._head(answer, None)
                outlet.between_frames = frames.between
                await outlet.write(b"".join(held))
                held.clear()
            begun = perf_counter()
        _refuse_cut_off(frames, answer)
        last = frames.rest()
        rest = b"".join(held) + (last if withheld is None else withheld.frame(last))
        if not outlet.started:
            if not rest.strip():
                raise Refusal(502, f"{answer.upstream.origin} answered {answer.status} with an empty stream")
            await self._head(answer, None)
        reader.see_frame(rest)
        await outlet.end(rest)
        return None

    async def _smaller(self, plan: Plan, status: int, error: bytes) -> Plan | None:
        """A smaller request, where the provider says that this one was too large: once, and never the same again."""
        if self._retried or plan.fitted is None or self._outlet.started:
            return None
        told = overflow_in(status, error)
        if told is None:
            return None
        learned, who, place = self._proxy.learned, self._planning.who, self._planning.place(plan.sketch.name)
        window = plan.fitted.report.window
        lesson = learned.overflow(who, place, told, estimate=plan.estimate, window=window)
        await asyncio.to_thread(learned.keep, who, place)
        try:
            again = await self._planning.fitted(plan.sketch, lesson)
        except SashError:
            # What may not be left out is too large: the provider's own words say it as well as ours.
            return None
        return again if again.body != plan.body else None

    async def _learn(self, plan: Plan | None, reader: UsageReader) -> None:
        report = None if plan is None else plan.report(reader.usage.context)
        if plan is None or report is None or report.context is None:
            return
        learned, who, place = self._proxy.learned, self._planning.who, self._planning.place(plan.sketch.name)
        if learned.usage(who, place, report):
            await asyncio.to_thread(learned.keep, who, place)

    async def _head(self, answer: Answer, length: int | None) -> None:
        headers = [pair for pair in back(answer.headers) if pair[0] != b"content-encoding"]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        if answer.media_type == "" and answer.status < 300:
            headers = [*headers, STREAM_HEADERS[0]] if length is None else headers
        if self._placed is not None:
            # Where it is kept is known long before it is stored: nobody waits for a disk here.
            await self._placed.wait()
            headers.append((b"x-sash-thread", self._kept_in.encode() or b"unavailable"))
        await self._outlet.start(answer.status, [*headers, *self._said()])

    def _said(self) -> list[Raw]:
        """What an answer says of us."""
        self._spent = self._overhead()
        told = [] if self._plan is None else self._plan.headers()
        return [*told, (b"x-sash-overhead-ms", f"{self._spent * 1000:.2f}".encode())]

    def _overhead(self) -> float:
        """Seconds that we took ourselves: all but the waiting for the provider."""
        return max(0.0, perf_counter() - self._asked.at - self._waited)


def _refuse_cut_off(frames: Frames, answer: Answer) -> None:
    """A connection that is closed where nobody said how long the answer is looks like its end."""
    if frames.cut_off:
        told = f"{answer.upstream.origin} broke off its answer in the middle of an event"
        raise Refusal(502, told, code="upstream_broke_off")
