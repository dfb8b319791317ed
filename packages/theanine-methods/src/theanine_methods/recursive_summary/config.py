"""Settings of recursive summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import ReplyConfig, check_minimums
from theanine.retrieval.scope_index import RetrievalMode

MAX_DEMONSTRATIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveSummaryConfig(ReplyConfig):
    """Length of the summary, and what is recalled with it.

    Attributes:
        sentences: maximum sentences of the summary.
        rewrite: after each session, let the model write the whole summary again, as the paper does;
            what it leaves out is gone from the summary. Otherwise a sentence stays until the model
            names it as outdated or includes it in a new one.
        selected: number of the summary's sentences that the model selects before a reply, as
            RSum-LLM does in Theanine's first version; without a model, the best by retrieval. 0
            recalls all, as the paper does.
        demonstrations: number of worked examples shown to the model before a reply, at most as many
            as there are: three, or those of ``examples``.
        examples: file of worked examples to show instead of the bundled ones, such as
            ``theanine bench examples`` draws from a run.
        utterances: number of past utterances recalled with the summary (the paper's "local
            memory"); with 0 none are stored. Sessions remembered with 0 have none.
        local_unit: what one of these is: a single ``utterance``, or an ``exchange``, as in the
            paper's published script.
        retrieval: how these are ranked: ``lexical`` by BM25, ``dense`` by cosine, ``hybrid`` by all
            evidence of :class:`theanine.retrieval.ranking.RankingConfig`, ``okapi`` by the BM25 of
            LangChain.
        query_turns: number of latest turns of the dialogue that form the query; None takes all.
        budget: maximum tokens of the recollection (bundled tokenizer), best sentences first; None
            sets no limit.
    """

    sentences: int = 20
    rewrite: bool = False
    selected: int = 0
    demonstrations: int = 0
    examples: str = ""
    utterances: int = 0
    local_unit: Literal["utterance", "exchange"] = "utterance"
    retrieval: RetrievalMode = "hybrid"
    query_turns: int | None = 6
    budget: int | None = None

    def __post_init__(self) -> None:
        ReplyConfig.__post_init__(self)
        check_minimums(self, sentences=1, selected=0, demonstrations=0, utterances=0)
        check_minimums(self, query_turns=1, budget=0)
        if self.demonstrations > MAX_DEMONSTRATIONS and not self.examples:
            raise SettingsError(
                f"demonstrations must be 0 to {MAX_DEMONSTRATIONS}, not {self.demonstrations}; "
                "more come from a file of examples"
            )
        if self.examples and not self.demonstrations:
            raise SettingsError("examples are shown with demonstrations=2 or another number")

    @classmethod
    def paper(cls) -> RecursiveSummaryConfig:
        """Return the paper's values: 20 sentences, rewritten; BM25 for local memory (section 6.4).

        Its query and unit are those of the published script, ``utils/rag.py`` of
        github.com/qingyue2014/Rsum: the last turn, and exchanges.
        """
        return cls(
            reply_prompt="transcript",
            rewrite=True,
            local_unit="exchange",
            retrieval="okapi",
            query_turns=1,
        )
