"""Recall from the whole log: passages of turns and a model's statements, joined into timelines.

Beyond the paper. Everything that was said is a candidate, remembered or not. The best one brings in
what it changed from or into. What is linked is returned as one part, in order of time; everything
else is grouped by session and day. All of it shares one token budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial
from itertools import pairwise
from math import inf
from types import MappingProxyType

from theanine.graph import Graph
from theanine.llm.gather import gather
from theanine.methods.base import Context
from theanine.methods.shared.recall import build_query, fit_parts, query_text
from theanine.methods.theanine.config import TheanineConfig
from theanine.methods.theanine.refine import refine
from theanine.retrieval.candidates import Candidate, Content, RankedCandidate, embedded_text
from theanine.retrieval.lexical import content_words
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.rerank import RerankConfig
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import day_label, format_speaker, one_line
from theanine.tokenizer import count_tokens
from theanine.types import (
    LOCAL_MODEL,
    Link,
    Memory,
    Part,
    Recollection,
    Relation,
    Timeline,
    Turn,
    Utterance,
)

CHANGES = 3
"""Best candidates that bring in what they changed from and into."""
CHANGE_COST = 0.5
"""How much lower such a candidate scores than the one that brings it in."""
ECHO_COST = 1e-3
"""How much higher the user's own words score than an echo of them."""
ECHOES = 20
"""Best candidates among which the assistant's echoes of the user are looked for."""
ECHOED = 60
"""Best candidates among which the user's own words are looked for."""
MAX_MISFITS = 20
"""Candidates that may fail to fit the budget before the search for smaller ones ends."""
LOADED = 48
"""Candidates that are read from the store at once."""
CALIBRATED = 5_000
"""Candidates of the largest memories on which relevance was checked; above, the default floor would
leave questions empty that the memory answers, and is not applied."""
MIN_LINE_TOKENS = 5
"""Below this remaining budget no further line fits."""
CUT = "…"
"""Stands for the passages of a turn that are left out."""
_CUT_TOKENS = 3
_RELATIONS = {
    Relation.CHANGED: "this changed",
    Relation.CAUSE: "this led to",
    Relation.REASON: "the reason",
    Relation.HINDERED_BY: "this stood in the way",
    Relation.REACT: "the feeling after that",
    Relation.WANT: "the wish after that",
}
"""How a line says what it has to do with the one before it in a timeline."""


@dataclass(slots=True, eq=False)
class _Line:
    """One line of the recollection: the selected passages of a turn, or one statement.

    Attributes:
        owner: the turn or the memory.
        passages: the selected candidates of that owner.
        score, relevance: the highest of a passage.
        repetitions: other turns that say the same.
        memories: the memories that the line stands for.
    """

    owner: Turn | Memory
    day: str
    passages: list[Candidate] = field(default_factory=list[Candidate])
    score: float = -inf
    relevance: float = 0.0
    repetitions: list[Turn] = field(default_factory=list[Turn])
    memories: list[Memory] = field(default_factory=list[Memory])

    @property
    def text(self) -> str:
        """The line without its day."""
        if isinstance(self.owner, Memory):
            return one_line(self.owner.text)
        if self.passages[0].is_whole and not self.repetitions:
            return f"{format_speaker(self.owner.speaker)}: {one_line(self.owner.full_text)}"
        spans = sorted(passage.span for passage in self.passages)
        words = self.owner.full_text
        pieces = [CUT] if spans[0][0] > 0 else []
        for (start, end), (following, _) in pairwise([*spans, (len(words), 0)]):
            pieces.append(one_line(words[start:end]))
            if words[end:following].strip():
                pieces.append(CUT)
        if self.repetitions:
            last = max(self.repetitions, key=lambda turn: turn.at)
            when = f", last on {day_label(last.at, True)}" if last.dated else ""
            pieces.append(f"(said {len(self.repetitions) + 1} times{when})")
        return f"{format_speaker(self.owner.speaker)}: {' '.join(pieces)}"


@dataclass(frozen=True, slots=True)
class _Group:
    """The lines of one part, in order of time.

    Attributes:
        lines: all that was selected of some days of sessions.
        path: those of them that are linked, by memory, oldest first; empty if none is.
    """

    lines: Sequence[_Line]
    path: Mapping[int, _Line]


async def recall_from_log(
    dialogue: Sequence[Utterance], context: Context, config: TheanineConfig
) -> Recollection:
    """Return the best passages and statements that fit the budget, with their timelines."""
    query = query_text(dialogue, config.query_turns)
    log = await context.index.log(context.embedder)
    candidates = log.candidates
    if not query or not len(log):
        return Recollection(query=query)
    built = await build_query(
        query,
        dialogue,
        context,
        "hybrid",
        lambda text: embedded_text(candidates.without_speakers(text), context.embedder),
    )
    current = {turn.id for turn in dialogue if isinstance(turn, Turn)}
    options = context.options
    bounds = context.index if options.times else log
    mask = options.times.mask(candidates.times) if options.times else None
    ranked = [
        found
        for found in candidates.search(built, mask, without_turns=current)
        if not found.memory or bounds.includes(found.memory)
    ]
    if context.reranking is not None:
        ranked = await _reranked(query, ranked, log, context.reranking)
    ranked = await _without_echoes(ranked, log)
    if config.timelines:
        ranked = await _with_changes(ranked, log, bounds)
    best = max((found.relevance for found in ranked), default=None)
    floor = options.min_relevance
    if floor is None:  # "Where is it?" has no word by which to judge
        judged = len(log) <= CALIBRATED and content_words(query)
        floor = config.min_relevance if judged else 0.0
    result = Recollection(query=query, best_relevance=best, min_relevance=floor)
    if best is None or best < floor:
        return result
    if options.min_relevance is not None:
        ranked = [found for found in ranked if found.relevance >= options.min_relevance]
    budget = context.token_budget(config.budget)
    lines = await _select(ranked, log, budget)
    await _add_memories(lines, log, bounds)
    graph = bounds.graph if config.timelines else Graph()
    groups = _arrange(lines, graph, budget)
    calls = [partial(_part, group, graph, dialogue, log, context, config) for group in groups]
    # Tasks cost time and only a model call has something to wait for.
    parts = await gather(calls) if context.chat else [await call() for call in calls]
    parts.sort(key=lambda part: -part.score)
    if context.chat:  # a refined timeline can be longer than its lines
        parts = fit_parts(parts, budget)
    return replace(result, parts=tuple(sorted(parts, key=_part_order)))


async def _reranked(
    query: str, ranked: Sequence[RankedCandidate], log: LogIndex, reranking: RerankConfig
) -> list[RankedCandidate]:
    """Return the candidates in the order of a configured reranker, with its scores."""
    loaded = await log.load(ranked)
    texts = {
        found.position: candidate.text for found, candidate in zip(ranked, loaded, strict=True)
    }
    reordered = await reranking.rerank(
        query, [(found, found.score) for found in ranked], lambda found: texts[found.position]
    )
    return [replace(found, score=score) for found, score in reordered]


async def _without_echoes(
    ranked: Sequence[RankedCandidate], log: LogIndex
) -> list[RankedCandidate]:
    """Put the user's own words before what the assistant made of them later; return all others.

    A passage of the assistant that tells nothing else is left out.
    """
    turns = [
        (candidate, candidate.owner, found)
        for candidate, found in zip(await log.load(ranked[:ECHOED]), ranked, strict=False)
        if isinstance(candidate.owner, Turn)
    ]
    best_ranked = {id(found) for found in ranked[:ECHOES]}
    own = [entry for entry in turns if entry[1].role == "user"]
    best = {found.position: found for found in ranked}
    for echo, turn, found in turns:
        if turn.role != "assistant" or id(found) not in best_ranked:
            continue
        for original, said, said_found in own:
            content = original.content
            if said.id > turn.id or content.asks or not echo.content.tells(content):
                continue
            raised = max(best[said_found.position].score, found.score + ECHO_COST)
            best[said_found.position] = replace(said_found, score=raised)
            if content.tells(echo.content):
                best.pop(found.position, None)
    return sorted(best.values(), key=lambda found: -found.score)


async def _with_changes(
    ranked: Sequence[RankedCandidate], log: LogIndex, bounds: LogIndex | ScopeIndex
) -> list[RankedCandidate]:
    """Raise what the best candidates changed from and into; return all, best first.

    What a change joins belongs together, with the same relevance. Other links only join what is
    found anyway: raising what they lead to cost evidence on every data set.
    """
    changed = [
        (memory, found)
        for found in ranked[:CHANGES]
        for own in (bounds.memories_of_turn(found.turn) if found.turn else [found.memory])
        for memory, link in _linked(own, bounds.graph)
        if link.relation is Relation.CHANGED
    ]
    if not changed:
        return list(ranked)
    best = {found.position: found for found in ranked}
    memories = {memory.id: memory for memory in await log.memories(m for m, _ in changed)}
    for memory, found in changed:
        raised = found.score - CHANGE_COST
        for linked in await log.saying(memories[memory]):
            linked = best.get(linked.position) or replace(linked, score=raised)
            best[linked.position] = replace(
                linked,
                score=max(linked.score, raised),
                relevance=max(linked.relevance, found.relevance),
            )
    return sorted(best.values(), key=lambda found: -found.score)


def _linked(memory: int, graph: Graph) -> Iterator[tuple[int, Link]]:
    """Yield the memories that one is linked with, and the links."""
    for older in graph.older.get(memory, ()):
        yield older, graph.links[older, memory]
    for newer in graph.newer.get(memory, ()):
        yield newer, graph.links[memory, newer]


async def _select(
    ranked: Sequence[RankedCandidate], log: LogIndex, budget: int | None
) -> list[_Line]:
    """Select candidates, best first, whose lines and days fit the budget.

    A statement whose sources are selected is skipped, and so is what repeats a selected line: that
    line says how often.
    """
    lines: dict[Turn | Memory, _Line] = {}
    contents: list[tuple[Content, _Line]] = []
    days: set[tuple[int, str]] = set()
    quoted: set[int] = set()
    remaining = budget if budget is not None else inf
    misfits = 0
    loaded: list[Candidate] = []
    for place, found in enumerate(ranked):
        if remaining < MIN_LINE_TOKENS or misfits == MAX_MISFITS:
            break
        if place == len(loaded):
            loaded += await log.load(ranked[place : place + LOADED])
        candidate = loaded[place]
        owner = candidate.owner
        if (
            isinstance(owner, Memory)
            and owner.source_turns
            and quoted.issuperset(owner.source_turns)
        ):
            continue
        line = lines.get(owner) or _Line(owner, day_label(owner.at, owner.dated))
        content = candidate.content
        if isinstance(owner, Turn) and (repeated := _repeated(content, line, contents)):
            if owner not in repeated.repetitions:
                repeated.repetitions.append(owner)
            continue
        day = (owner.session, line.day)
        cost = candidate.tokens + (_CUT_TOKENS if line.passages else 0)
        if day not in days:
            cost += _heading_tokens(line.day)
        if cost > remaining:
            misfits += 1
            continue
        remaining -= cost
        days.add(day)
        line.passages.append(candidate)
        line.score = max(line.score, found.score)
        line.relevance = max(line.relevance, found.relevance)
        lines[owner] = line
        contents.append((content, line))
        if isinstance(owner, Turn):
            quoted.add(owner.id)
    return list(lines.values())


async def _add_memories(
    lines: Sequence[_Line], log: LogIndex, bounds: LogIndex | ScopeIndex
) -> None:
    """Add the memories that the lines stand for."""
    numbers = {
        line: [line.owner.id]
        if isinstance(line.owner, Memory)
        else bounds.memories_of_turn(line.owner.id)
        for line in lines
    }
    wanted = (number for of_line in numbers.values() for number in of_line)
    memories = {memory.id: memory for memory in await log.memories(wanted)}
    for line, of_line in numbers.items():
        line.memories = [memories[number] for number in of_line]


def _repeated(
    content: Content, line: _Line, contents: Sequence[tuple[Content, _Line]]
) -> _Line | None:
    """Return another line that a passage only repeats, if there is one."""
    return next(
        (other for told, other in contents if other is not line and content.repeats(told)), None
    )


def _arrange(lines: Sequence[_Line], graph: Graph, budget: int | None) -> list[_Group]:
    """Return the lines by part, within the budget.

    The lines of one session and day stay together under one heading; what is linked joins them.
    Headings and relations can exceed the budget: then timelines without a change are given up, the
    lowest scores first, and only then lines.
    """
    kept = sorted(lines, key=lambda line: -line.score)
    tokens = {line: _line_tokens(line) for line in kept}
    paths = _paths(kept, graph)
    paths.sort(key=lambda path: Relation.CHANGED not in _relations(path, graph).values())
    while True:
        days: dict[tuple[int, str], list[_Line]] = {}
        for line in sorted(kept, key=_order):
            days.setdefault((line.owner.session, line.day), []).append(line)
        excess = sum(tokens[line] for line in kept)
        excess += sum(_heading_tokens(day) for _, day in days)
        groups: list[_Group] = []
        for path in paths:
            keys = dict.fromkeys((line.owner.session, line.day) for line in path.values())
            if days.keys() >= keys.keys():  # else a better timeline has taken one of its days
                joined = [line for key in keys for line in days.pop(key)]
                groups.append(_Group(sorted(joined, key=_order), path))
                excess += sum(map(_relation_tokens, _relations(path, graph).values()))
        groups += [_Group(group, {}) for group in days.values()]
        if budget is None or excess <= budget:
            return groups
        if paths:
            paths.pop()
        else:
            kept.pop()


def _line_tokens(line: _Line) -> int:
    """Return the tokens of a line after a line break."""
    whole = len(line.passages) == 1 and not line.repetitions
    if whole and line.passages[0].is_whole:
        return line.passages[0].tokens
    return count_tokens(f"\n{line.text}")


@lru_cache(maxsize=len(Relation) + 1)
def _relation_tokens(relation: Relation | None) -> int:
    return count_tokens(f"({_RELATIONS[relation]}) ") if relation and relation in _RELATIONS else 0


@lru_cache(maxsize=10_000)
def _heading_tokens(day: str) -> int:
    return count_tokens(f"\n-- {day}")


def _order(line: _Line) -> tuple[datetime, int, int]:
    return (line.owner.at, line.owner.session, line.owner.id)


def _part_order(part: Part) -> tuple[datetime, int]:
    """Sort key of parts: the time of what they begin with."""
    first = [(turn.at, turn.id) for turn in part.source_turns[:1]]
    return min(first + [memory.order for memory in part.memories[:1]])


def _paths(lines: Sequence[_Line], graph: Graph) -> list[dict[int, _Line]]:
    """Return paths of linked memories with their lines, oldest first; no line is in two paths.

    Paths start at the best line and grow to both sides, each time by the best linked line.
    """
    by_memory = {memory.id: line for line in lines for memory in line.memories}
    free = set(lines)
    paths: list[dict[int, _Line]] = []
    for line in sorted(lines, key=lambda line: -line.score):
        for memory in line.memories if line in free else ():
            path = [memory.id]
            taken = {line}
            for end in (0, -1):
                while linked := [
                    other
                    for other, link in _linked(path[end], graph)
                    if (link.older == other) is (end == 0)
                    and link.relation is not Relation.SAME_TOPIC
                    and by_memory.get(other) in free - taken
                ]:
                    best = max(linked, key=lambda other: by_memory[other].score)
                    path.insert(len(path) if end else 0, best)
                    taken.add(by_memory[best])
            if len(path) > 1:
                free -= taken
                paths.append({memory: by_memory[memory] for memory in path})
                break
    return paths


async def _part(
    group: _Group,
    graph: Graph,
    dialogue: Sequence[Utterance],
    log: LogIndex,
    context: Context,
    config: TheanineConfig,
) -> Part:
    """Return a group of lines as a part; a model, if there is one, refines what is linked."""
    lines, path = group.lines, group.path
    memories = {memory.id: memory for line in lines for memory in line.memories}
    chat = context.chat if path and config.refine else None
    timeline = None
    if path:
        timeline = Timeline(
            memories=tuple(memories[memory] for memory in path),
            links=tuple(graph.links[pair] for pair in pairwise(path)),
            retrieved=max(path, key=lambda memory: path[memory].score),
        )
    if chat and timeline:
        linked = set(path.values())
        others = _format([line for line in lines if line not in linked])
        refined = await refine(timeline, dialogue, chat, whole=config.whole)
        text = "\n".join(filter(None, [refined, others]))
    else:
        text = _format(lines, _relations(path, graph))
    on_path = {memory: memories[memory] for memory in path}
    return Part(
        text=text,
        memories=tuple((on_path | memories).values()),
        source_turns=await _source_turns(lines, log),
        timeline=timeline,
        score=max(line.score for line in lines),
        relevance=max(line.relevance for line in lines),
        made_by=chat.model if chat else LOCAL_MODEL,
    )


def _relations(path: Mapping[int, _Line], graph: Graph) -> dict[_Line, Relation | None]:
    """Return the relation of each line of a path to the one before it, but for the first."""
    return {path[newer]: graph.links[older, newer].relation for older, newer in pairwise(path)}


def _format(
    lines: Sequence[_Line], relations: Mapping[_Line, Relation | None] = MappingProxyType({})
) -> str:
    """Return lines in their order; each change of day adds a heading."""
    result: list[str] = []
    day = ""
    for line in lines:
        if line.day != day:
            result.append(f"-- {line.day}")
            day = line.day
        relation = relations.get(line)
        cause = f"({_RELATIONS[relation]}) " if relation and relation in _RELATIONS else ""
        result.append(cause + line.text)
    return "\n".join(result)


async def _source_turns(lines: Sequence[_Line], log: LogIndex) -> tuple[Turn, ...]:
    turns = {line.owner.id: line.owner for line in lines if isinstance(line.owner, Turn)}
    turns |= {turn.id: turn for line in lines for turn in line.repetitions}
    of_statements = {
        turn for line in lines if isinstance(line.owner, Memory) for turn in line.owner.source_turns
    }
    turns |= {turn.id: turn for turn in await log.turns(of_statements - set(turns))}
    return tuple(sorted(turns.values(), key=lambda turn: (turn.at, turn.id)))
