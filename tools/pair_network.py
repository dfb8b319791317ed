"""A network that reads pairs of texts, and how its weights are fitted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel


class PairNetwork(torch.nn.Module):
    """The first layers of an encoder, with the mean of all tokens and some outputs."""

    def __init__(self, base: Path, *, layers: int, outputs: int) -> None:
        super().__init__()
        self.bert: Any = AutoModel.from_pretrained(base)
        self.bert.encoder.layer = self.bert.encoder.layer[:layers]
        self.head = torch.nn.Linear(self.bert.config.hidden_size, outputs)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        """Return the logits of pairs, ``(n, outputs)``."""
        hidden = self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        weights = attention_mask[:, :, None].float()
        return self.head((hidden * weights).sum(1) / weights.sum(1))


def plan_steps(
    weights: Iterable[torch.nn.Parameter], rate: float, total: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """Return an optimizer, and a schedule by which its rate rises for 60 steps and then falls."""
    optimizer = torch.optim.AdamW(weights, lr=rate, weight_decay=0.01)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 60, max(1 - step / total, 0.02))
    )
