"""The handle of one user: what ``client.user("ana")`` returns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack, cast

from theanine.client.arguments import check_arguments
from theanine.client.background import Remembering
from theanine.client.engine import Engine
from theanine.client.options import (
    SEARCH_LIMIT,
    Moment,
    RecallArguments,
    SearchArguments,
    check_search,
    search_bounds,
)
from theanine.client.other_names import name_ours
from theanine.client.own_ends import with_ends
from theanine.client.records import RecordOperations
from theanine.client.redaction import redact_transcript, redact_utterances
from theanine.client.reply_options import ReplyArguments, reply_options
from theanine.client.session import WINDOW, AddReport, AsyncLiveSession, assistant_name, speakers
from theanine.errors import BadInput
from theanine.messages import read_messages
from theanine.messages.transcript import split_transcript
from theanine.remembering.report import Progress, RememberReport
from theanine.store.validate import check_name, check_scope, repair_utterance
from theanine.store.values import CostLine, ForgetReport, Logged, Pending
from theanine.types import (
    History,
    Message,
    Metadata,
    Recollection,
    Scope,
    Transcript,
    Turn,
    Utterance,
)

if TYPE_CHECKING:
    from theanine.client.explaining import Explanation
    from theanine.client.searching import SearchHits
    from theanine.methods.base import Reply
    from theanine.remembering.rebuild import RebuildEstimate, RebuildReport

TURNS_LOGGED_AT_ONCE = 1_000
"""Turns of a history after which its sessions so far are committed; other writers wait until then.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of logging a history.

    Attributes:
        user: the user who owns it now.
        sessions_new, sessions_known: sessions that were new to the log, and that were in it.
        turns_new: turns that were logged.
        memories_imported: imported memories that were stored.
        forgotten: turns and imported memories left out because they were forgotten before.
    """

    user: str
    sessions_new: int
    sessions_known: int
    turns_new: int
    memories_imported: int
    forgotten: int = 0


@check_arguments
class ScopedOperations:
    """Operations on one user's data or, called on the client, on all users'."""

    def __init__(self, engine: Engine, scope: Scope | None) -> None:
        self._engine, self._scope = engine, scope

    async def remember(
        self, *, elsewhere: bool = False, progress: Progress | None = None
    ) -> list[RememberReport]:
        """Remember every session that has ended and is pending; one report each.

        Sessions with a key that have paused are ended first, and those left open by a dead process:
        one of another machine or container counts as dead two minutes after it has last said that
        it lives. With ``elsewhere``, all that other machines left open are ended at once: use it
        only when none of them is still talking. A session that fails stays pending; its report
        says why.
        """
        return await self._engine.remember(self._scope, elsewhere=elsewhere, progress=progress)

    def start_remembering(
        self, then: Callable[[RememberReport], object] | None = None
    ) -> Remembering:
        """Remember in the background what :meth:`remember` would; await the result, or don't.

        ``then`` is called after each session, in the client's event loop, with its report.
        """
        return self._engine.start_remembering(self._scope, then)

    async def estimate(
        self, *, again: bool = False, instead: bool = False, fresh: bool = False
    ) -> RebuildEstimate:
        """Estimate calls, tokens, cost and time of :meth:`rebuild`, without calling a model.

        Raises NotFound for an unknown user, and SettingsError for ``fresh`` without a model.
        """
        if self._scope:
            await self._engine.require(self._scope)
        rebuilder = self._engine.rebuilder(again=again, fresh=fresh)
        return await rebuilder.estimate(self._scope, instead=instead)

    async def rebuild(
        self,
        *,
        again: bool = False,
        instead: bool = False,
        fresh: bool = False,
        progress: Progress | None = None,
    ) -> RebuildReport:
        """Remember the whole log by this client's method; resumable.

        Args:
            again: replace what the method has remembered before, such as with other settings.
            instead: drop what other methods have remembered, once everything is remembered.
            fresh: like ``again``, but ask the model again instead of replaying the replies in the
                journal, such as after a bad one. All calls are paid again.
            progress: called after each session.

        Raises NotFound for an unknown user, and SettingsError for ``fresh`` without a model.
        """
        if self._scope:
            await self._engine.require(self._scope)
        left_out = await self._engine.end_abandoned_sessions(self._scope)
        rebuilder = self._engine.rebuilder(again=again, fresh=fresh)
        report = await rebuilder.rebuild(self._scope, instead=instead, progress=progress)
        return replace(report, left_out=(*left_out, *report.left_out))

    async def expire(self) -> list[ForgetReport]:
        """Forget the turns and memories that are older than their retention; one report a user.

        :meth:`remember` does so too, though up to an hour later.
        """
        return await self._engine.expire(self._scope)

    async def pending(self, *, cancelled: bool = False) -> list[Pending]:
        """Return the sessions that have ended and are not remembered yet, with their state.

        With ``cancelled``, also those that nobody is to remember.
        """
        store, method = self._engine.store, self._engine.stored_method
        return await store.pending(method, self._scope, cancelled=cancelled)

    async def retry_remembering(self, session: int | None = None) -> int:
        """Have workers try sessions at once that failed, were set aside or cancelled.

        Their tries are counted from 0 again. One session of a user, which is also taken from a
        process that is remembering it, or all. Returns how many wait now. Raises NotFound, and
        BadInput for a session that is open or remembered, or that is named without its user.
        """
        store, method = self._engine.store, self._engine.stored_method
        if session is not None:
            if self._scope is None:
                raise BadInput("sessions are numbered by user: name the user, too")
            return await store.retry_sessions(self._scope, method, session)
        pending = await store.pending(method, self._scope, cancelled=True)
        scopes = dict.fromkeys(each.scope for each in pending)
        return sum([await store.retry_sessions(scope, method) for scope in scopes])

    async def costs(self) -> list[CostLine]:
        """Return the model calls made so far: tokens, cost and time by session, step and model."""
        return await self._engine.store.costs(self._scope)

    def export(self) -> AsyncIterator[dict[str, Any]]:
        """Yield everything as JSON-ready records, from which ``client.restore`` loses nothing.

        A user with a damaged value raises DamagedData. In an export of all users, everything of the
        others is there by then, and the last record names who was left out.
        """
        return self._engine.store.export(self._scope)


@name_ours(of_client=False)
@check_arguments
class AsyncUserMemory(ScopedOperations, RecordOperations):
    """What is stored for one user (of one agent and tenant), and all that can be done with it.

    A user who has no data yet is an empty memory: lists and recollections are empty.
    """

    def __init__(
        self, engine: Engine, scope: Scope, shared: Sequence[Scope] = (), name: str = ""
    ) -> None:
        for each in (scope, *shared):
            check_scope(each)
        if name:
            check_name(name, "the user's name", "")
        super().__init__(engine, scope)
        self.scope, self.shared = scope, tuple(shared)
        self.name = name or scope.user

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.scope}>"

    # the path: turn → log → session ends → remember; query → recall → reply

    def session(
        self,
        key: str | None = None,
        *,
        speaker: str = "",
        window: int | None = WINDOW,
        metadata: Metadata | None = None,
    ) -> AsyncLiveSession:
        """Return a session with the user.

        Args:
            key: names a thread, such as a conversation in the application. It is continued wherever
                it was left: by this or any other process, in any number of requests at once.
            speaker: whose turns :meth:`AsyncLiveSession.hear` logs; the default is the user.
            window: how many of the thread's newest turns a chat model sees at least, in
                ``messages`` and in replies; up to half as many more, so that prompts begin alike
                for some turns. None is all. ``recall`` finds what is older.
            metadata: the application's own data about every turn that this object logs, also of
                replies; that of a call goes before it.

        Raises BadInput for an empty key, SettingsError for a window below 1.
        """
        speaker = speaker or self.name
        return AsyncLiveSession(
            self._engine, self.scope, speaker, key, self.shared, window, metadata
        )

    async def add(
        self,
        messages: str | Message | Sequence[Message | Utterance],
        *,
        session: str | None = None,
        resent: bool = True,
        speaker: str = "",
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> AddReport:
        """Log what was said: the user's words, a message, or a list of messages.

        Messages are those of OpenAI (chat completions and responses) and Anthropic, also with
        several parts, images, calls of tools and their results: the log has them as they are,
        memory sees them in words. Only what the user and the assistant say is remembered.

        Args:
            messages: in the order in which they were said.
            session: the key of the session that they continue; without one, they are a session of
                their own that ends at once, and is remembered when the options say so. A message
                whose ``id`` is known under the key, with the same words, is left out; with other
                words, it was edited, and is logged under an id of its own. Without ids, a list
                that begins with the session's first message, or with two or more of its last ones,
                adds what follows: applications may send the whole history again. A single text or
                message without an ``id`` is always new. What was left out is in the report.
            resent: whether a list may begin with messages that were added before. Pass False where
                you only send what is new: then all without an ``id`` is logged, also what was said
                in the same words before.
            speaker: the user's name in this conversation; a message's ``name`` goes before it.
            at: when it was said; the default is now. What was said in the same words at another
                time was said again.
            metadata: the application's own data about the messages.
            expires, verify_by: when what they say ends, and when it is to be verified, as of
                :meth:`AsyncLiveSession.hear`.

        Raises:
            BadInput: a message can't be read or stored; it is named. Of a NUL and of half of a
                character, U+FFFD is logged instead.
            RememberingFailed: the session was logged, but not remembered yet.
        """
        live = AsyncLiveSession(self._engine, self.scope, speaker or self.name, session)
        metadata = with_ends(metadata, expires, verify_by)
        if session is None:
            return await live.add_alone(messages, at=at, metadata=metadata)
        return await live.add(messages, resent=resent, at=at, metadata=metadata)

    async def recall(
        self, dialogue: str | Sequence[Utterance | Message], **options: Unpack[RecallArguments]
    ) -> Recollection:
        """Return what matters for a question or a dialogue; empty if nothing is relevant.

        Args:
            dialogue: a question by the user, or utterances or messages as :meth:`add` takes them,
                the latest last.
            options: what may be returned:

                - ``budget``: maximum tokens of the text, counted by the bundled tokenizer;
                - ``limit``: maximum number of parts, the best ones, besides the profile;
                - ``min_relevance``: least relevance, 0 to 1; the default is the method's;
                - ``since``, ``until``: only what was said at or after, and at or before; a day,
                  also as ``"2024-05-01"`` or ``"3 weeks ago"``, is read in the user's time zone
                  or, if none is set, in UTC;
                - ``as_of``: what was known then: nothing said later, and no change made later;
                - ``where``: only turns and memories with such metadata, such as
                  ``{"channel": "web"}``; see :mod:`theanine.filters`;
                - ``profile``: whether what is known of the user comes first, relevant or not: the
                  form of :meth:`profile` for a prompt, at most 300 tokens and half of the budget;
                - ``deadline``: seconds within which it returns, by doing less if need be: without
                  a model and the reranker, or from the newest turns alone. Then the notes of the
                  recollection say so. Less than 0.1 counts as 0.1.

        Raises:
            BadInput: the question is empty.
            ModelError: the embedder failed, or a model that the method can't do without.
            SettingsError: an option is out of range, or the method has no relevance to compare.
        """
        return await self._engine.recalling.recall(
            self._dialogue(dialogue),
            self.scope,
            await self._engine.recall_options(self.scope, options),
            self.shared,
        )

    async def search(self, query: str, **options: Unpack[SearchArguments]) -> SearchHits:
        """Return the turns and memories that match a question or words best, with their scores.

        A list for people and programs, each hit by itself; :meth:`recall` returns what a model
        needs, with what belongs to it. Of other agents whose memory is shared, nothing is found.

        Args:
            query: a question, or words in any order; also what means the same is found.
            options: ``limit``, the maximum number of hits, 10 by default; and ``min_relevance``,
                ``since``, ``until``, ``as_of`` and ``where`` as of :meth:`recall`. With ``exact``,
                all turns that have each of the words, in any case and order, are found instead,
                also where it is a part of a longer word; the newest first, or ``oldest_first``.
                Then ``speaker`` and ``session`` leave the turns of one speaker or session.

        Raises as :meth:`recall` does.
        """
        check_search(options)
        dialogue, limit = self._dialogue(query), options.get("limit", SEARCH_LIMIT)
        bounds = await self._engine.recall_options(self.scope, search_bounds(options))
        if not options.get("exact"):
            return await self._engine.recalling.search(dialogue, self.scope, bounds, limit)
        from theanine.retrieval.word_index import WordSearch

        wanted = WordSearch(
            words=query,
            speaker=options.get("speaker"),
            session=options.get("session"),
            oldest_first=bool(options.get("oldest_first")),
            bounds=bounds.bounds,
        )
        return await self._engine.recalling.search_words(self.scope, wanted, limit)

    async def explain(
        self,
        dialogue: str | Sequence[Utterance | Message] | Turn,
        *,
        method: str | None = None,
        **options: Unpack[RecallArguments],
    ) -> Explanation:
        """Recall as :meth:`recall` does, and return why: candidates, scores, what was left out.

        It costs what a recall costs, a little more time, and changes nothing. Of other agents whose
        memory is shared, nothing is explained.

        Args:
            dialogue: as of :meth:`recall`; or a turn of the log, such as a past reply of the
                assistant, to see what was recalled for it: as of the turn before it, unless there
                is another ``as_of``. Words are weighted as in the whole log of today, so scores
                can differ a little from those of then.
            method: the name of another method, with its default settings, whose memories are
                searched instead.
            options: those of :meth:`recall`.

        Raises as :meth:`recall` does, and BadInput for a turn that nothing precedes.
        """
        recalled: tuple[int, ...] = ()
        if isinstance(dialogue, Turn):
            turns = await self.turns(session=dialogue.session)
            before = [turn for turn in turns if turn.id < dialogue.id][-WINDOW:]
            if not before:
                raise BadInput(f"turn {dialogue.id} begins its session: nothing was asked before")
            recalled = dialogue.recalled
            dialogue = before
            if options.get("as_of") is None:
                options["as_of"] = before[-1].at
        explanation = await self._engine.recalling.explain(
            self._dialogue(dialogue),
            self.scope,
            await self._engine.recall_options(self.scope, options),
            method,
        )
        return replace(explanation, recalled=recalled)

    async def reply(
        self,
        dialogue: str | Sequence[Utterance | Message],
        *,
        speaker: str = "",
        **options: Unpack[ReplyArguments],
    ) -> Reply:
        """Recall and return the next turn of the assistant, called ``speaker``. Logs nothing.

        Takes the options of :meth:`AsyncLiveSession.reply`, and raises as it does. With
        ``prompt="transcript"``, the reply may be in the place of anyone in the dialogue.
        """
        recall, replying = reply_options(False, **options)
        reply, _ = await self._engine.recalling.reply(
            self._dialogue(dialogue),
            self.scope,
            speaker or assistant_name(self.scope),
            await self._engine.recall_options(self.scope, recall),
            replying,
            self.shared,
        )
        return reply

    async def log(self, history: History) -> ImportReport:
        """Log a history's sessions, each completely or not at all, for :meth:`remember`.

        Sessions are committed in groups; an error leaves out its group and what follows.

        Sessions and turns whose keys are in the log are left alone.
        """
        store, method, logged = self._engine.store, self._engine.stored_method, list[Logged]()
        for batch in _batches(history.transcripts):
            batch = [
                redact_transcript(
                    await self._engine.read_ends_of_transcript(self.scope, each),
                    self._engine.redact,
                )
                for each in batch
            ]
            logged += await store.log_transcripts(self.scope, batch, method)
        return ImportReport(
            user=self.scope.user,
            sessions_new=sum(result.new for result in logged),
            sessions_known=sum(not result.new for result in logged),
            turns_new=sum(result.new_turns for result in logged),
            memories_imported=sum(result.new_memories for result in logged),
            forgotten=sum(result.forgotten for result in logged),
        )

    def _dialogue(self, dialogue: str | Sequence[Utterance | Message]) -> Sequence[Utterance]:
        """Return the dialogue as utterances; a question is one by the user.

        A dialogue may be empty: some methods recall something before anything is said.
        """
        if isinstance(dialogue, str):
            if not dialogue.strip():
                raise BadInput("the question is empty")
            dialogue = [Utterance(text=dialogue, speaker=self.name, at=self._engine.clock())]
        if not isinstance(cast("object", dialogue), Sequence) or isinstance(dialogue, bytes):
            raise BadInput(
                "the dialogue must be a question or a list of utterances or messages, not "
                f"{type(dialogue).__name__}"
            )
        names = speakers(self.scope, self.name)
        utterances = read_messages(dialogue, names, self._engine.clock())
        if len(utterances) == 1:
            utterances = self._turns_of(utterances[0])
        return [*map(repair_utterance, redact_utterances(utterances, self._engine.redact))]

    def _turns_of(self, utterance: Utterance) -> list[Utterance]:
        """Return the turns of a dialogue that is written into one text, or the text."""
        users = {self.scope.user, self.name, utterance.speaker}
        turns = split_transcript(utterance.text, users)
        agents = {"assistant", "ai", "bot", assistant_name(self.scope).casefold()}
        return [
            replace(
                utterance,
                text=text,
                speaker=speaker,
                role="assistant" if speaker.casefold() in agents else "user",
            )
            for speaker, text in turns
        ] or [utterance]

    # maintenance

    async def cancel_remembering(self, session: int) -> bool:
        """Never remember a session that has ended; False if it was cancelled before.

        It stays in the log, where it is recalled from. A process that is remembering it commits
        nothing, and stops within half a minute. :meth:`retry_remembering` undoes it. Raises
        NotFound, and BadInput for a session that is open or remembered.
        """
        store, method = self._engine.store, self._engine.stored_method
        return await store.cancel_session(self.scope, method, session)

    async def warm_up(self) -> None:
        """Load what a recall needs; without it, the first recall does.

        After an import this makes the vectors of what was said, which takes the encoder some 4 ms
        for a turn. Recalls of more than 1,000 such turns don't wait for that: until it is done, in
        the background, they search by the words.
        """
        await self._engine.warm_up(self.scope)


def _batches(transcripts: Iterable[Transcript]) -> Iterator[list[Transcript]]:
    """Yield transcripts in groups of about ``TURNS_LOGGED_AT_ONCE`` turns."""
    batch, turns = list[Transcript](), 0
    for transcript in transcripts:
        batch.append(transcript)
        turns += len(transcript.turns)
        if turns >= TURNS_LOGGED_AT_ONCE:
            yield batch
            batch, turns = [], 0
    if batch:
        yield batch
