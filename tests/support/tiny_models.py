"""Models of a few thousand random weights, saved as transformers saves them: they know nothing, but they run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_TEMPLATE = (
    "{% for message in messages %}<s>{{ message['role'] }}: "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<s>assistant: {% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + _TEMPLATE

_CONTEXT = 512
_SIZE = 28
_PATCH = 14


def _bytes_tokenizer(specials: list[str]) -> Any:
    """A tokenizer with a token for each byte, and special ones."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*alphabet, "<unk>"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(specials)
    return tokenizer


def _chat_tokenizer(template: str | None = _TEMPLATE) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=_bytes_tokenizer(["<pad>", "<s>", "</s>", "<image>"]),
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        chat_template=template,
        extra_special_tokens={"image_token": "<image>"},
    )


def _text_config(tokenizer: Any) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=_CONTEXT,
        initializer_range=0.5,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )


def save_text_chat(folder: Path, template: str | None = _TEMPLATE) -> Path:
    """A chat model for text only."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    tokenizer = _chat_tokenizer(template)
    LlamaForCausalLM(_text_config(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_seeing_chat(folder: Path, template: str = _TEMPLATE) -> Path:
    """A chat model that takes images and text."""
    import torch
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    torch.manual_seed(0)
    tokenizer = _chat_tokenizer(template)
    vision = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=_SIZE,
        patch_size=_PATCH,
        projection_dim=32,
        initializer_range=0.5,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=_text_config(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=(_SIZE // _PATCH) ** 2,
        vision_feature_layer=-1,
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    size = {"height": _SIZE, "width": _SIZE}
    images = CLIPImageProcessor(size={"shortest_edge": _SIZE}, crop_size=size)
    LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=_PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token="<image>",
        chat_template=template,
    ).save_pretrained(folder)
    return folder


def save_whisper(folder: Path) -> Path:
    """A Whisper model of two languages."""
    import torch
    from transformers import (
        GenerationConfig,
        PreTrainedTokenizerFast,
        WhisperConfig,
        WhisperFeatureExtractor,
        WhisperForConditionalGeneration,
    )

    torch.manual_seed(2)  # one whose words come within the sound
    named = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>", "<|transcribe|>"]
    named += ["<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    times = [f"<|{number * 0.02:.2f}|>" for number in range(1501)]
    tokenizer = _bytes_tokenizer(named)
    tokenizer.add_tokens(times)
    ids = {token: tokenizer.token_to_id(token) for token in named}
    end = "<|endoftext|>"
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=end, eos_token=end, pad_token=end)
    fast.save_pretrained(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"tokenizer_class": "WhisperTokenizer"}))
    WhisperFeatureExtractor(feature_size=80).save_pretrained(folder)
    config = WhisperConfig(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_target_positions=48,
        init_std=0.5,
        decoder_start_token_id=ids["<|startoftranscript|>"],
        bos_token_id=ids[end],
        eos_token_id=ids[end],
        pad_token_id=ids[end],
        suppress_tokens=[],
        begin_suppress_tokens=[],
    )
    model = WhisperForConditionalGeneration(config)
    model.generation_config = GenerationConfig(
        is_multilingual=True,
        lang_to_id={token: ids[token] for token in ("<|en|>", "<|de|>")},
        task_to_id={"transcribe": ids["<|transcribe|>"], "translate": ids["<|translate|>"]},
        no_timestamps_token_id=ids["<|notimestamps|>"],
        prev_sot_token_id=ids["<|startofprev|>"],
        decoder_start_token_id=ids["<|startoftranscript|>"],
        bos_token_id=ids[end],
        eos_token_id=ids[end],
        pad_token_id=ids[end],
        max_initial_timestamp_index=50,
        max_length=48,
    )
    model.save_pretrained(folder)
    return folder


def save_embedder(folder: Path) -> Path:
    """A sentence-transformers model of 32 dimensions."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    parts = folder.with_name(f"{folder.name}-parts")
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=_bytes_tokenizer(["<pad>", "<s>", "</s>"]), **special)
    tokenizer.save_pretrained(parts)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=_CONTEXT,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(parts)
    SentenceTransformer(str(parts), device="cpu").save(str(folder))  # the mean over the tokens
    return folder
