"""The synchronous API. Written by tools/write_stub.py: `make docs` after any change."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from os import PathLike
from typing import Any, Literal, Self, overload

from anyio.from_thread import BlockingPortal

from theanine.client.background import Remembering
from theanine.client.client import AsyncClient
from theanine.client.explaining import Explanation
from theanine.client.options import Moment, RememberWhen
from theanine.client.redaction import Redact
from theanine.client.searching import SearchHits
from theanine.client.session import WINDOW, AddReport, Words
from theanine.client.streaming import AsyncReplyStream
from theanine.client.user import ImportReport
from theanine.client.worker import CONCURRENCY, GRACE, POLL
from theanine.clock import Clock
from theanine.embeddings.base import Embedder, Reranker
from theanine.filters import Where
from theanine.llm.base import ChatModel, ReplyPrompt
from theanine.llm.limits import Limits
from theanine.llm.prompt_folder import PromptFolder
from theanine.llm.settings import ModelSettings
from theanine.methods.base import Method, Reply
from theanine.profile import Profile
from theanine.remembering.rebuild import RebuildEstimate, RebuildReport
from theanine.remembering.report import LEASE, Progress, RememberReport
from theanine.retrieval.ranking import RankingConfig
from theanine.store.base import Store
from theanine.store.values import CostLine, ForgetReport, Pending, UserSettings
from theanine.types import (
    History,
    Link,
    Mark,
    Memory,
    Message,
    MessageFormat,
    Metadata,
    Recollection,
    Scope,
    Session,
    Timeline,
    Turn,
    Utterance,
)

class _Sync:
    """Base class: ``inner`` is the async object, ``portal`` its event loop."""

    inner: Any

    @property
    def portal(self) -> BlockingPortal: ...
    def __repr__(self) -> str: ...
    def __dir__(self) -> list[str]: ...

class _Operations(_Sync):
    def remember(
        self, *, elsewhere: bool = False, progress: Progress | None = None
    ) -> list[RememberReport]:
        """Remember every session that has ended and is pending; one report each.

        Sessions with a key that have paused are ended first, and those left open by a dead process:
        one of another machine or container counts as dead two minutes after it has last said that
        it lives. With ``elsewhere``, all that other machines left open are ended at once: use it
        only when none of them is still talking. A session that fails stays pending; its report
        says why."""

    def start_remembering(
        self, then: Callable[[RememberReport], object] | None = None
    ) -> Remembering:
        """Remember in the background what :meth:`remember` would; await the result, or don't.

        ``then`` is called after each session, in the client's event loop, with its report."""

    def estimate(
        self, *, again: bool = False, instead: bool = False, fresh: bool = False
    ) -> RebuildEstimate:
        """Estimate calls, tokens, cost and time of :meth:`rebuild`, without calling a model.

        Raises NotFound for an unknown user, and SettingsError for ``fresh`` without a model."""

    def rebuild(
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

        Raises NotFound for an unknown user, and SettingsError for ``fresh`` without a model."""

    def expire(self) -> list[ForgetReport]:
        """Forget the turns and memories that are older than their retention; one report a user.

        :meth:`remember` does so too, though up to an hour later."""

    def pending(self, *, cancelled: bool = False) -> list[Pending]:
        """Return the sessions that have ended and are not remembered yet, with their state.

        With ``cancelled``, also those that nobody is to remember."""

    def retry_remembering(self, session: int | None = None) -> int:
        """Have workers try sessions at once that failed, were set aside or cancelled.

        Their tries are counted from 0 again. One session of a user, which is also taken from a
        process that is remembering it, or all. Returns how many wait now. Raises NotFound, and
        BadInput for a session that is open or remembered, or that is named without its user."""

    def costs(self) -> list[CostLine]:
        """Return the model calls made so far: tokens, cost and time by session, step and model."""

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield everything as JSON-ready records, from which ``client.restore`` loses nothing.

        A user with a damaged value raises DamagedData. In an export of all users, everything of the
        others is there by then, and the last record names who was left out."""

class _Handle(_Sync):
    def __init__(self, inner: Any, client: Client) -> None: ...
    @property
    def portal(self) -> BlockingPortal:
        """The client's event loop. Raises StoreError once the client is closed."""

class ReplyStream(Iterator[str]):
    """The text of a reply, piece by piece: iterate with ``for``.

    The reply begins with the first piece. If it is not read to its end, what was received is logged
    and marked as broken off.
    """

    def __init__(self, inner: AsyncReplyStream, client: Client) -> None: ...
    @property
    def reply(self) -> Reply | None:
        """The whole reply, with its recollection and tool calls, once it has ended.

        None before, and for one that was broken off."""

    def close(self) -> None:
        """Break the reply off if it has not ended."""

    def __next__(self) -> str: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

class LiveSession(_Handle):
    """A session with a user; see :class:`AsyncLiveSession`."""

    @property
    def id(self) -> int | None:
        """The session's id; None before the first turn and after its end."""

    @property
    def key(self) -> str | None:
        """The application's key; None for a session of this object's own."""

    @property
    def window(self) -> int | None:
        """Least number of the newest turns that a chat model sees; None is all."""

    def hear(
        self,
        words: Words,
        *,
        speaker: str | None = None,
        id: str | None = None,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> Turn:
        """Log what the user, or another ``speaker``, says. It is on disk when this returns.

        A reply that is being streamed is broken off.

        Args:
            words: a text, or parts of a message's content.
            speaker: whose words they are.
            id: the application's id of the message. If it is known with these words under the
                session's key, nothing is logged, and the turn that has it is returned: a request
                may be repeated. Other words under a known id are an edit, logged as a turn whose
                key is the id, ``~`` and a hash of them.
            at: when it was said; the default is now. It is not compared with the clock, so that a
                conversation that is replayed or simulated keeps its times.
            metadata: the application's own data about the turn.
            expires: when it ends: from then on it is not shown any more, and soon erased with what
                was made from it. A day ends with its last moment, in the user's time zone.
            verify_by: when it is to be verified: from then on recollections and profiles say so,
                and lists with ``due`` have it.

        Raises BadInput for empty words, for an id whose turn was forgotten, and for an ``expires``
        that is not after ``at``."""

    def say(
        self,
        words: Words,
        *,
        recalled: Recollection | Sequence[int] | None = None,
        id: str | None = None,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> Turn:
        """Log what the assistant says, however its words were made.

        ``recalled`` is what was in the model's prompt, or the ids of its memories; by default, the
        last :meth:`recall` since the last turn. What only repeats it is not remembered again. All
        others as in :meth:`hear`."""

    def add(
        self,
        messages: str | Message | Sequence[Message | Utterance],
        *,
        recalled: Recollection | Sequence[int] | None = None,
        resent: bool = True,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> AddReport:
        """Log messages as the APIs of OpenAI and Anthropic have them; see ``user.add``.

        ``recalled`` is what the assistant's new messages were written with, as in :meth:`say`."""

    def turns(self) -> list[Turn]:
        """Return the session's turns so far, by whatever process they were logged.

        Empty before the first turn, after the end, and after a pause."""

    def messages(
        self, format: MessageFormat = "openai", *, last: int | None = None
    ) -> list[Message]:
        """Return the newest turns under the session's key as messages for a chat model.

        They may be of earlier sessions: a pause or an end decides what is remembered when, not
        what the model sees. A call of a tool and its result come together or not at all. The newest
        system prompt comes first if it is older than all of them.

        Args:
            format: ``openai`` (chat completions), ``responses`` (OpenAI's) or ``anthropic``, which
                has no messages of the system: :meth:`system` returns its prompt. A part that a
                format doesn't know is put in words.
            last: exactly how many turns, in place of ``window``; give the same number to
                :meth:`recall`.

        Raises SettingsError for a number below 1."""

    def system(self) -> str:
        """Return the newest system prompt that was logged under the session's key, or ``""``."""

    def recall(
        self,
        *,
        last: int | None = None,
        budget: int | None = ...,
        limit: int | None = ...,
        min_relevance: float | None = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        as_of: Moment | None = ...,
        where: Where | None = ...,
        profile: bool = ...,
        deadline: float | None = ...,
    ) -> Recollection:
        """Return what matters for the dialogue so far; options as in ``user.recall``.

        It leaves out the turns that :meth:`messages` shows, with the same ``last``, and finds all
        others, those of the open session too. For one's own loop:
        ``[*session.messages(), *recollection.messages()]`` is for one's own model."""

    @overload
    def reply(
        self,
        *,
        stream: Literal[True],
        at: datetime | None = None,
        budget: int | None = ...,
        limit: int | None = ...,
        min_relevance: float | None = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        as_of: Moment | None = ...,
        where: Where | None = ...,
        profile: bool = ...,
        deadline: float | None = ...,
        system: str = ...,
        persona: str = ...,
        temperature: float | None = ...,
        max_tokens: int | None = ...,
        stop: str | Sequence[str] = ...,
        tools: Sequence[Mapping[str, Any]] = ...,
        prompt: ReplyPrompt | None = ...,
    ) -> ReplyStream:
        """Recall, let the model write the assistant's next turn, and log it.

        If something is forgotten meanwhile, the reply is generated again.

        Args:
            stream: return the text as it arrives, to be read with ``async for``, instead of the
                whole reply. It is logged when it ends; one that is not read to its end is logged as
                far as it was received, and marked as broken off.
            at: the time of the turn; None is the present.
            options: those of ``user.recall``, and how the model is asked, if there is one:

                - ``system``: instructions, at the beginning of the system message;
                - ``persona``: who the assistant is and how it speaks;
                - ``temperature``, ``max_tokens``, ``stop``: settings of the request;
                - ``tools``: functions that the model may ask for, in the form of OpenAI's or
                  Anthropic's API. ``Reply.tool_calls`` has the calls; they are logged as turns of
                  the tool, and :meth:`add` takes the results;
                - ``prompt``: ``chat``, or ``transcript`` for the dialogue in one message.

        Raises:
            ModelError: the model failed; the session goes on.
            SettingsError: an option is out of range, or the method's prompt can't follow it.
            Stale: something was forgotten during each of ``MAX_REPLIES`` attempts, or while the
                reply was streamed; then it is not logged."""

    @overload
    def reply(
        self,
        *,
        stream: Literal[False] = False,
        at: datetime | None = None,
        budget: int | None = ...,
        limit: int | None = ...,
        min_relevance: float | None = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        as_of: Moment | None = ...,
        where: Where | None = ...,
        profile: bool = ...,
        deadline: float | None = ...,
        system: str = ...,
        persona: str = ...,
        temperature: float | None = ...,
        max_tokens: int | None = ...,
        stop: str | Sequence[str] = ...,
        tools: Sequence[Mapping[str, Any]] = ...,
        prompt: ReplyPrompt | None = ...,
    ) -> Reply:
        """Recall, let the model write the assistant's next turn, and log it.

        If something is forgotten meanwhile, the reply is generated again.

        Args:
            stream: return the text as it arrives, to be read with ``async for``, instead of the
                whole reply. It is logged when it ends; one that is not read to its end is logged as
                far as it was received, and marked as broken off.
            at: the time of the turn; None is the present.
            options: those of ``user.recall``, and how the model is asked, if there is one:

                - ``system``: instructions, at the beginning of the system message;
                - ``persona``: who the assistant is and how it speaks;
                - ``temperature``, ``max_tokens``, ``stop``: settings of the request;
                - ``tools``: functions that the model may ask for, in the form of OpenAI's or
                  Anthropic's API. ``Reply.tool_calls`` has the calls; they are logged as turns of
                  the tool, and :meth:`add` takes the results;
                - ``prompt``: ``chat``, or ``transcript`` for the dialogue in one message.

        Raises:
            ModelError: the model failed; the session goes on.
            SettingsError: an option is out of range, or the method's prompt can't follow it.
            Stale: something was forgotten during each of ``MAX_REPLIES`` attempts, or while the
                reply was streamed; then it is not logged."""

    def end(
        self, *, remember: bool | RememberWhen | None = None, at: datetime | None = None
    ) -> list[RememberReport]:
        """End the session, and remember it.

        Args:
            remember: ``now``, in the ``background`` or ``later``, by ``theanine remember`` or
                ``client.remember()``; the default is the client's ``remembering``. True is now,
                False is later.
            at: when it ended; the default is its last turn's time.

        Returns the reports of what was remembered now. Raises RememberingFailed if that fails; the
        turns are safe in the log, and the next ``client.remember()`` tries again."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: Any) -> None: ...

class Worker(_Handle):
    """Remembers what waits in the store, until it is stopped; see :class:`AsyncWorker`."""

    def run(self, *, once: bool = False) -> None:
        """Work until :meth:`stop` or, with ``once``, until nothing is due. It runs one time.

        When it is cancelled, it releases its leases; the next worker goes on, and pays for no reply
        of a model twice. What fails is in the reports, and tried again later. Raises
        EmbedderMismatch if another embedder made the store's vectors."""

    def stop(self) -> None:
        """Have :meth:`run` return: sessions in progress are finished within the grace, or released.

        May be called in any thread, and in a signal handler."""

    def responds(self, within: float = 5.0) -> bool:
        """Return whether the worker answers within some seconds, or has not begun."""

    @property
    def problem(self) -> str:
        """Why nothing is remembered now; empty if all is well."""

class UserMemory(_Handle, _Operations):
    """What is stored for one user (of one agent and tenant), and all that can be done with it.

    A user who has no data yet is an empty memory: lists and recollections are empty.
    """

    @property
    def scope(self) -> Scope:
        """The user, agent and tenant."""

    @property
    def name(self) -> str:
        """The name with which this user's words are logged."""

    def session(
        self,
        key: str | None = None,
        *,
        speaker: str = "",
        window: int | None = WINDOW,
        metadata: Metadata | None = None,
    ) -> LiveSession:
        """Return a session with the user; see :meth:`AsyncUserMemory.session`."""

    def add(
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
            RememberingFailed: the session was logged, but not remembered yet."""

    def recall(
        self,
        dialogue: str | Sequence[Utterance | Message],
        *,
        budget: int | None = ...,
        limit: int | None = ...,
        min_relevance: float | None = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        as_of: Moment | None = ...,
        where: Where | None = ...,
        profile: bool = ...,
        deadline: float | None = ...,
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
            SettingsError: an option is out of range, or the method has no relevance to compare."""

    def search(
        self,
        query: str,
        *,
        limit: int = ...,
        exact: bool = ...,
        speaker: str | None = ...,
        session: int | None = ...,
        oldest_first: bool = ...,
        min_relevance: float | None = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        as_of: Moment | None = ...,
        where: Where | None = ...,
    ) -> SearchHits:
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

        Raises as :meth:`recall` does."""

    def explain(
        self,
        dialogue: str | Sequence[Utterance | Message] | Turn,
        *,
        method: str | None = None,
        budget: int | None = ...,
        limit: int | None = ...,
        min_relevance: float | None = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        as_of: Moment | None = ...,
        where: Where | None = ...,
        profile: bool = ...,
        deadline: float | None = ...,
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

        Raises as :meth:`recall` does, and BadInput for a turn that nothing precedes."""

    def reply(
        self,
        dialogue: str | Sequence[Utterance | Message],
        *,
        speaker: str = "",
        budget: int | None = ...,
        limit: int | None = ...,
        min_relevance: float | None = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        as_of: Moment | None = ...,
        where: Where | None = ...,
        profile: bool = ...,
        deadline: float | None = ...,
        system: str = ...,
        persona: str = ...,
        temperature: float | None = ...,
        max_tokens: int | None = ...,
        stop: str | Sequence[str] = ...,
        tools: Sequence[Mapping[str, Any]] = ...,
        prompt: ReplyPrompt | None = ...,
    ) -> Reply:
        """Recall and return the next turn of the assistant, called ``speaker``. Logs nothing.

        Takes the options of :meth:`AsyncLiveSession.reply`, and raises as it does. With
        ``prompt="transcript"``, the reply may be in the place of anyone in the dialogue."""

    def log(self, history: History) -> ImportReport:
        """Log a history's sessions, each completely or not at all, for :meth:`remember`.

        Sessions are committed in groups; an error leaves out its group and what follows.

        Sessions and turns whose keys are in the log are left alone."""

    def sessions(
        self,
        *,
        thread: str | None = None,
        limit: int | None = ...,
        after: int | None = ...,
        newest_first: bool = ...,
        search: str = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        where: Where | None = ...,
        due: bool = ...,
    ) -> list[Session]:
        """Return the sessions in time order, all or one thread's; pages by id.

        Pages are lists with ``limit`` or ``after``.
        ``search`` finds sessions whose title and turns together have all the words, ``where``
        those that match themselves or by one of their turns."""

    def turns(
        self,
        *,
        session: int | None = None,
        thread: str | None = None,
        ids: Sequence[int] | None = None,
        with_content: bool = False,
        limit: int | None = ...,
        after: int | None = ...,
        newest_first: bool = ...,
        search: str = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        where: Where | None = ...,
        due: bool = ...,
    ) -> list[Turn]:
        """Return turns: all, those of one session or thread, or those of ``ids``.

        A thread is all sessions of a key: ``user.session(key)``. With ``with_content``, turns of
        messages with several parts have these, images included, in ``Turn.content``."""

    def memories(
        self,
        *,
        pinned: bool | None = None,
        limit: int | None = ...,
        after: int | None = ...,
        newest_first: bool = ...,
        search: str = ...,
        since: Moment | None = ...,
        until: Moment | None = ...,
        where: Where | None = ...,
        due: bool = ...,
    ) -> list[Memory]:
        """Return memories: all, or only those that are ``pinned``, or not."""

    def marks(self) -> list[Mark]:
        """Return the marks of memories that are not in effect, in the order of their ids."""

    def links(self) -> list[Link]:
        """Return the links between memories."""

    def timelines(self, memory: int | None = None) -> list[Timeline]:
        """Return what is remembered of each matter, oldest first, as a timeline with a title.

        The timeline with the newest memory comes first. A memory is in at most one; what nothing
        else belongs to, and what only repeats another memory, is in none. With ``memory``, only the
        timeline of that one, which may be alone in it. Raises NotFound for an unknown memory."""

    def profile(self, *, as_of: Moment | None = None, with_model: bool = False) -> Profile:
        """Return what is known of the user, in the user's own words; no model is asked.

        What holds now by area, with its turn, since when, what it was before and how sure it is;
        what changed lately; and the people, places and things that come up. It is made from the
        log as it is now: what was corrected or forgotten counts at once. With ``as_of``, it is what
        was known then.

        With ``with_model``, the client's language model writes the lines, in one call, each with
        the turns that support it: short sentences instead of the user's words
        (``ProfileLine.made_by``). The same words of the same user are asked about once; then the
        reply is replayed.

        Raises SettingsError for a time that can't be read, and for ``with_model`` without a model;
        ModelError if the model fails, and Stale if something was forgotten meanwhile."""

    def cancel_remembering(self, session: int) -> bool:
        """Never remember a session that has ended; False if it was cancelled before.

        It stays in the log, where it is recalled from. A process that is remembering it commits
        nothing, and stops within half a minute. :meth:`retry_remembering` undoes it. Raises
        NotFound, and BadInput for a session that is open or remembered."""

    def warm_up(self) -> None:
        """Load what a recall needs; without it, the first recall does.

        After an import this makes the vectors of what was said, which takes the encoder some 4 ms
        for a turn. Recalls of more than 1,000 such turns don't wait for that: until it is done, in
        the background, they search by the words."""

    def get(self, memory: int) -> Memory:
        """Return the memory with this id. Raises NotFound."""

    def history(self, memory: int) -> list[Memory]:
        """Return what the memory was before and what it became, with itself, oldest first.

        These are the memories that changes and corrections join with it, directly or not. Raises
        NotFound."""

    def correct(
        self,
        memory: int,
        text: str,
        *,
        expires: Moment | None = None,
        verify_by: Moment | None = None,
    ) -> Memory:
        """Replace what a memory says, and return the new one. Nothing is lost of the old one.

        The correction is logged as a turn of the user, in a session of its own. The old memory
        stays, marked as corrected and linked as changed: recall returns the new one, and where it
        quotes the old words, with a note that they were corrected. The new one expires when the old
        one would have, and is verified, unless ``expires`` and ``verify_by`` say otherwise, as of
        :meth:`AsyncLiveSession.hear`: to confirm what a memory says, correct it by its own text.

        Raises NotFound, and BadInput for an empty text or a memory that was corrected before."""

    def pin(self, memory: int) -> bool:
        """Have a memory in every recollection, as far as its budget goes; False if it was pinned.

        Bounds and filters of a recall hold for it too. Raises NotFound, and BadInput for a memory
        that was corrected."""

    def unpin(self, memory: int) -> bool:
        """Take the pin off a memory; False if it was not pinned. Raises NotFound."""

    def settings(self) -> UserSettings:
        """Return what is set for this user."""

    def set_time_zone(self, name: str | None) -> None:
        """Set the user's time zone by its IANA name, such as ``Europe/Zagreb``; None unsets it.

        Dates in recollections, days in options such as ``since``, and words like "yesterday" in
        questions are then read in it. Raises SettingsError for an unknown name."""

    def set_retention(self, retention: timedelta | None) -> None:
        """Set how long this user's turns and memories are kept; None leaves it to the store.

        What is older is forgotten by the next ``remember`` or ``expire``. Raises SettingsError for
        less than a minute."""

    def forget(
        self,
        *,
        session: int | None = None,
        thread: str | None = None,
        turn: int | Sequence[int] | None = None,
        memory: int | None = None,
        keep_turns: bool = False,
    ) -> ForgetReport:
        """Erase one thing from every file of the store: a session, thread, turn or memory.

        All that was made from it goes as well. A thread is all sessions of that key; ``turn`` can
        name several turns, which go in one step; those that are gone are passed over. A memory goes
        with the turns that support it and no other memory; with ``keep_turns`` they stay, and can
        be found and remembered again.
        :meth:`forget_all` erases the user.

        Raises NotFound if none of it is there, and BadInput unless exactly one thing is named."""

    def forget_all(self) -> ForgetReport:
        """Erase the user, with everything that was said, made and set, from every file.

        Raises NotFound for a user who has no data."""

class Client(_Operations):
    """A client of one store, with one memory method. Made by :func:`theanine.open`."""

    def __init__(self, inner: AsyncClient) -> None: ...
    @property
    def portal(self) -> BlockingPortal:
        """The event loop. Raises StoreError once the client is closed, and after a fork."""

    @property
    def is_open(self) -> bool:
        """Whether the client has not been closed."""

    @property
    def location(self) -> str:
        """The location of the store."""

    @property
    def method_name(self) -> str:
        """The method's id."""

    @property
    def model_name(self) -> str:
        """The model, or `local`."""

    @property
    def memory_model_name(self) -> str:
        """The model that remembers, or `local`."""

    @property
    def embedder_name(self) -> str:
        """The embedder."""

    @property
    def reranker_name(self) -> str:
        """Empty for none."""

    def user(
        self,
        user: str,
        *,
        name: str = "",
        agent: str = "default",
        tenant: str = "default",
        shared: Sequence[str] = (),
    ) -> UserMemory:
        """Return the handle of one user.

        Args:
            user: the person, by name or by the application's own id.
            name: the name with which this user's words are logged, and then shown to a model; the
                default is ``user``. Pass it where ``user`` is an id: each line of a recollection
                begins with it.
            agent: the agent that talks with the person; agents share nothing by themselves.
            tenant: the customer whose data is isolated from all others'.
            shared: agents whose memory of this user is recalled from, too. Each part of a
                recollection then names its ``scope``. Nothing is written there, nor listed.

        Raises BadInput for a name that can't be stored."""

    def worker(
        self,
        *,
        poll: float = POLL,
        concurrency: int = CONCURRENCY,
        lease: float = LEASE.total_seconds(),
        grace: float = GRACE,
        progress: Progress | None = None,
    ) -> Worker:
        """Return a worker that remembers what waits, of all users; see :meth:`AsyncClient.worker`.

        ``progress`` is called in another thread."""

    def retention(self, *, tenant: str | None = None) -> timedelta | None:
        """Return how long turns are kept for users without a setting of their own.

        That of a tenant, or of the store, which holds for tenants without one."""

    def set_retention(self, retention: timedelta | None, *, tenant: str | None = None) -> None:
        """Set how long turns and memories are kept, for users without a setting of their own.

        Those of a ``tenant``, or of tenants without a setting. What is older is forgotten by the
        next ``remember`` or ``expire``. None keeps what no wider setting expires. Raises
        SettingsError for less than a minute."""

    def users(self) -> list[Scope]:
        """Return all scopes that hold data."""

    def check(self) -> str:
        """Return what is damaged in the store, in the database's words; empty when sound."""

    def restore(self, records: Iterable[Mapping[str, Any]], *, partial: bool = False) -> int:
        """Restore exports, and return how many records were new.

        The store gets the state of an export if that is newer than its own, and stays if it is
        older: in whatever order a store's exports come, the latest counts, and what was forgotten
        does not come back.

        ``records`` are read as they are needed, in another thread. All are restored, or none.
        Raises BadInput, naming the record, for one that is malformed; for a user of whom the store
        has anything but an earlier or a later state of the same data; and unless ``partial`` for a
        part of an export. Warns of an export by a theanine before 0.2,
        which does not tell whether it is whole, and of users who were left out. Raises
        SettingsError for records whose default method isn't installed."""

    def stored_embedder(self) -> str:
        """Return the name of the embedder whose vectors are stored; empty before the first."""

    def reembed(self, progress: Callable[[int], None] | None = None) -> int:
        """Replace all vectors by this client's embedder's and return how many were made.

        Resumable. ``progress`` is called with how many are left. Then the logs are indexed by the
        new vectors, so that no recall waits for them."""

    def close(self) -> None:
        """Close the store and the event loop. A second call does nothing."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

def open(
    location: str | PathLike[str] | Store = ...,
    *,
    method: str | Method | None = ...,
    model: str | ChatModel = ...,
    embedder: str | Embedder = ...,
    reranker: str | Reranker | None = ...,
    base_url: str | None = ...,
    model_settings: ModelSettings | Mapping[str, Any] | None = ...,
    memory_model: str | ChatModel | None = ...,
    memory_base_url: str | None = ...,
    memory_settings: ModelSettings | Mapping[str, Any] | None = ...,
    limits: Limits | None = ...,
    prompts: str | PathLike[str] | PromptFolder | None = ...,
    config: object = ...,
    ranking: RankingConfig | None = ...,
    reranked: int = ...,
    seed: int = ...,
    clock: Clock = ...,
    pause: timedelta | None = ...,
    remembering: RememberWhen = ...,
    on_remembered: Callable[[RememberReport], object] | None = ...,
    redact: Redact | str | Sequence[str] | None = ...,
) -> Client:
    """Open a store and return its client; use it as a context manager or ``close()`` it.

    Args:
        location: a file, created if missing, in a folder that exists.
        method: the memory method, one of ``theanine.methods.registry.names()``. None is the
            store's default: the first that remembered there, or the one that a rebuild made the
            default; ``theanine`` for a new store.
        model: a chat model such as ``openai:gpt-4o-mini``; ``local`` needs none.
        embedder: an embedder such as ``openai:text-embedding-3-small``; ``local`` is bundled.
        reranker: a cross-encoder such as ``cross-encoder:PATH``, which reorders the best memories
            by reading each with the question; None for no reranking.
        base_url: the URL of an OpenAI-compatible server for the model.
        model_settings: how the model writes, a :class:`ModelSettings` or a mapping such as
            ``{"temperature": 0.7, "max_tokens": 400}``.
        memory_model: the chat model that remembers sessions, where ``model`` should only recall
            and reply; None is ``model``.
        memory_base_url: the URL of its server; None is ``base_url``.
        memory_settings: how it writes; None is ``model_settings``, without their ``max_tokens``, if
            it is the same model at the same server, or else the defaults.
        limits: retries, time-outs and budgets of the model.
        prompts: a folder of prompts in place of the method's own, such as a paper's: files named
            by step and version, ``refine.v2.md``, or by step, method and version.
        config: the method's settings: its config object, such as ``TheanineConfig``, or a mapping.
        ranking: weights of the kinds of evidence in ``hybrid`` retrieval.
        reranked: how many of the best memories the reranker reads.
        seed: seed of the method's random choices; the same seed gives the same recollection.
        clock: returns the present time.
        pause: a session with a key is over when nothing was said for so long; None for never.
        remembering: when a session that ends is remembered: ``now``, before the call that ends it
            returns; in the ``background`` of this client; or ``later``, by ``theanine remember`` or
            ``client.remember()``.
        redact: replaces secrets and personal data in what is said and imported, before any of it is
            stored or sent to a model: a function of a text, or names of kinds: ``secrets``,
            ``emails``, ``ibans``, ``cards`` and ``phones`` (these need the extra ``redact``).
        on_remembered: called with the report of each session that was remembered in the background.

    Raises SettingsError for an unknown name and MissingExtra for an extra that isn't installed;
    when the store is opened, NotFound for a folder that doesn't exist and NotAStore for a file that
    isn't a store."""
