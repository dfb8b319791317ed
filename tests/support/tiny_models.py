"""Tiny embedders and rerankers, generated for tests of the libraries that run them.

Each function writes a model into an empty folder, as its library saves one. Where a library is not
installed the test is skipped.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.decoders import Metaspace as MetaspaceDecoder
from tokenizers.models import Unigram, WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer, Metaspace
from tokenizers.processors import TemplateProcessing

LONGEST = 512
"""Tokens that the models read."""
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("storm", "sea", "boat", "quiet", "evening", "day", "query", "passage", ":")
PIECES = [
    *SPECIAL,
    *WORDS,
    *string.ascii_lowercase,
    *string.digits,
    *(f"##{mark}" for mark in string.ascii_lowercase + string.digits),
]
WIDTH = 32


def library(name: str) -> Any:
    """Return an optional library; skips the test if it isn't installed."""
    return pytest.importorskip(name, reason=f"{name} is not installed (make extras)")


def sentence_transformer(
    folder: Path, *, seed: int = 0, prompts: Mapping[str, str] | None = None, width: int = WIDTH
) -> Path:
    """Write a one-layer BERT with mean pooling, saved by sentence-transformers."""
    library("torch")
    modules = library("sentence_transformers.sentence_transformer.modules")
    bert = _bert(folder / "bert", "BertModel", seed, width)
    library("sentence_transformers").SentenceTransformer(
        modules=[modules.Transformer(str(bert)), modules.Pooling(width, pooling_mode="mean")],
        prompts=dict(prompts or {}),
        local_files_only=True,
    ).save(str(folder / "model"), create_model_card=False)
    return folder / "model"


def cross_encoder(folder: Path, *, seed: int = 0, labels: int = 1) -> Path:
    """Write a one-layer BERT with ``labels`` outputs for a pair of texts."""
    library("torch")
    library("sentence_transformers")
    return _bert(folder, "BertForSequenceClassification", seed, WIDTH, num_labels=labels)


def onnx_embedder(
    folder: Path, *, pooling: str | None = "mean", one_vector: bool = False, seed: int = 0
) -> Path:
    """Write a table of token vectors; with ``one_vector`` the model sums a text's tokens."""
    onnx = library("onnx")
    helper = onnx.helper
    tokenizer_files(folder)
    table = np.random.default_rng(seed).normal(size=(len(PIECES), WIDTH)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens"])]
    shape: list[str | int] = ["texts", "tokens_of_text", WIDTH]
    if one_vector:
        nodes.append(helper.make_node("ReduceSum", ["tokens", "along"], ["vector"], keepdims=0))
        shape = ["texts", WIDTH]
    constants = {"table": table, "along": np.array([1], np.int64)}
    _save_onnx(folder, nodes, ["input_ids"], nodes[-1].output[0], shape, constants)
    if pooling is not None:
        (folder / "1_Pooling").mkdir()
        config = {"embedding_dimension": WIDTH, "pooling_mode": pooling}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    return folder


def onnx_reranker(folder: Path) -> Path:
    """Write a model that scores a pair by its number of common tokens."""
    onnx = library("onnx")
    node = onnx.helper.make_node
    tokenizer_files(folder)
    one_hot = np.eye(len(PIECES), dtype=np.float32)
    one_hot[: len(SPECIAL)] = 0
    constants = {
        "one_hot": one_hot,
        "one": np.ones(1, np.float32),
        "along": np.array([1], np.int64),
        "last": np.array([2], np.int64),
    }
    nodes = [
        node("Gather", ["one_hot", "input_ids"], ["tokens"]),
        node("Cast", ["token_type_ids"], ["second"], to=onnx.TensorProto.FLOAT),
        node("Unsqueeze", ["second", "last"], ["in_text"]),
        node("Sub", ["one", "in_text"], ["in_question"]),
        node("Mul", ["tokens", "in_text"], ["text_tokens"]),
        node("Mul", ["tokens", "in_question"], ["question_tokens"]),
        node("ReduceSum", ["text_tokens", "along"], ["text"], keepdims=0),
        node("ReduceSum", ["question_tokens", "along"], ["question"], keepdims=0),
        node("Mul", ["text", "question"], ["common"]),
        node("ReduceSum", ["common", "along"], ["logits"], keepdims=1),
    ]
    _save_onnx(folder, nodes, ["input_ids", "token_type_ids"], "logits", ["texts", 1], constants)
    return folder


def tokenizer_files(folder: Path) -> None:
    """Write a tokenizer of letters and a few words, in the files that all libraries read."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    tokenizer: Any = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "BertTokenizer",
        "model_max_length": LONGEST,
        **{f"{token.strip('[]').lower()}_token": token for token in SPECIAL},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def _bert(folder: Path, kind: str, seed: int, width: int, **more: object) -> Path:
    torch, transformers = library("torch"), library("transformers")
    tokenizer_files(folder)
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(PIECES),
        hidden_size=width,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=width,
        max_position_embeddings=LONGEST,
        initializer_range=0.3,  # far enough apart that texts differ by more than rounding
        **more,
    )
    getattr(transformers, kind)(config).save_pretrained(folder)
    return folder


def _save_onnx(
    folder: Path,
    nodes: Sequence[Any],
    inputs: Sequence[str],
    output: str,
    shape: Sequence[str | int],
    constants: Mapping[str, NDArray[Any]],
) -> None:
    onnx = library("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        list(nodes),
        "tiny",
        [helper.make_tensor_value_info(name, kinds.INT64, ["texts", "length"]) for name in inputs],
        [helper.make_tensor_value_info(output, kinds.FLOAT, list(shape))],
        [
            onnx.numpy_helper.from_array(values, name)
            for name, values in constants.items()
            if name in used
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))


def token_classifier(folder: Path, *, seed: int = 0) -> Path:
    """Write a random two-layer XLM-RoBERTa that labels each token 0 or 1."""
    torch, transformers = library("torch"), library("transformers")
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    characters = string.ascii_letters + string.digits + string.punctuation
    pieces = ["▁", *(f"▁{start}" for start in (*WORDS, "the", "ship", *characters)), *characters]
    pieces = [(mark, 0.0) for mark in marks] + [(piece, -float(len(pieces))) for piece in pieces]
    tokenizer = Tokenizer(Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer, tokenizer.decoder = Metaspace(), MetaspaceDecoder()
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        unk_token="<unk>", pad_token="<pad>", mask_token="<mask>",
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(seed)
    config = transformers.XLMRobertaConfig(
        vocab_size=len(pieces),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=WIDTH,
        max_position_embeddings=LONGEST + 2,
        num_labels=2,
        initializer_range=0.3,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    transformers.XLMRobertaForTokenClassification(config).eval().save_pretrained(folder)
    return folder
