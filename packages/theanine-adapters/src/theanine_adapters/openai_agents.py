"""OpenAI Agents SDK: a session in a user's memory, and recall before each turn.

::

    session = TheanineSession("chat-1", client.user("ana"))
    config = RunConfig(call_model_input_filter=session.recall)
    await Runner.run(agent, "Shall we book that cruise?", session=session, run_config=config)
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Unpack, cast

from theanine.client.options import RecallArguments
from theanine.errors import NotFound
from theanine_adapters.conversation import Conversation, append_text
from theanine_adapters.handles import UserHandle, call, needs_extra
from theanine_adapters.words import item_message

with needs_extra("openai-agents"):
    from agents.memory import SessionSettings
    from agents.run_config import CallModelData, ModelInputData


class TheanineSession:
    """A ``Session`` of the OpenAI Agents SDK whose items are turns of a user's memory.

    Items come back exactly as they were added, whatever they are; what the user and the assistant
    say in them is remembered, the rest is only kept. ``pop_item``, with which the SDK takes back
    what a failed run has added, erases the item, and ``clear_session`` the whole session, from the
    files of the store. Where the client redacts, items come back redacted.

    :meth:`recall` is for ``RunConfig.call_model_input_filter``: it puts what matters of other
    sessions, and of turns that the model is not shown, after the user's newest words in the
    request; the session never has it. Memory is asked once for one message of the user, however
    many calls of tools follow.

    Args:
        session_id: key of the session.
        user: the handle of the user, of either kind of client.
        session_settings: the SDK's settings, such as ``SessionSettings(limit=50)``.
        strict: raise what goes wrong with a recall; otherwise it is logged as an error, and the run
            goes on without it. A session that can't be read or written always raises.
        options: options of each recall, as in ``user.recall``.
    """

    def __init__(
        self,
        session_id: str,
        user: UserHandle,
        *,
        session_settings: SessionSettings | None = None,
        strict: bool = False,
        **options: Unpack[RecallArguments],
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._user = user
        self._conversation = Conversation(user, session_id, options, strict)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the newest ``limit`` items, or all, in their order."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        newest: dict[str, Any] = {} if limit is None else {"limit": limit, "newest_first": True}
        turns = await call(self._user.turns, thread=self.session_id, with_content=True, **newest)
        turns.sort(key=lambda turn: turn.id)
        return [deepcopy(turn.content[0]["value"]) for turn in turns]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Log items, in one step. Raises BadInput for one that JSON can't hold."""
        if items:
            await self._conversation.add([item_message(item) for item in items], call)

    async def pop_item(self) -> Any | None:
        """Erase the newest item, and return it; None if there is none."""
        last = await call(
            self._user.turns,
            thread=self.session_id,
            with_content=True,
            newest_first=True,
            limit=1,
        )
        if not last:
            return None
        await call(self._user.forget, turn=last[0].id)
        return deepcopy(last[0].content[0]["value"])

    async def clear_session(self) -> None:
        """Erase all items."""
        try:
            await call(self._user.forget, thread=self.session_id)
        except NotFound:  # nothing was added
            return

    async def recall(self, data: CallModelData[Any]) -> ModelInputData:
        """Add what matters to the newest words of the user, in this request alone."""
        model_input = data.model_data
        items = [*model_input.input]
        said = [position for position, item in enumerate(items) if _is_users(item)]
        if not said:
            return model_input
        newest = cast("Mapping[str, Any]", items[said[-1]])
        asked = (len(said), str(newest["content"]))
        block = await self._conversation.recall(asked, len(items), call)
        if not block:
            return model_input
        content = append_text(newest["content"], block, "input_text")
        items[said[-1]] = cast("Any", {**newest, "content": content})
        return ModelInputData(input=items, instructions=model_input.instructions)


def _is_users(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("role") == "user" and "content" in item
