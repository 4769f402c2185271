import subprocess
import sys
from pathlib import Path

from bv_search.demo.tokenizer import build_tokenizer

PRINT = (
    "import sys; from pathlib import Path; from bv_search.demo.tokenizer import build_tokenizer; "
    "print(build_tokenizer(Path(sys.argv[1]), vocabulary=500, positions=512).get_vocab())"
)


def test_it_knows_what_it_was_trained_on(generated_data: Path) -> None:
    tokenizer = build_tokenizer(generated_data, vocabulary=500, positions=512)
    ids = tokenizer("What is the hobby of Yrsa?", "Yrsa collects rare coins.")["input_ids"]
    assert tokenizer.unk_token_id not in ids
    assert tokenizer.decode(ids) == "[CLS] what is the hobby of yrsa? [SEP] yrsa collects rare coins. [SEP]"


def test_it_counts_characters_as_span_tasks_need_them(generated_data: Path) -> None:
    tokenizer = build_tokenizer(generated_data, vocabulary=500, positions=512)
    passage = "Yrsa collects rare coins."
    encoded = tokenizer("Who?", passage, return_offsets_mapping=True)
    start = encoded.char_to_token(0, passage.index("rare"), sequence_index=1)
    assert passage[encoded["offset_mapping"][start][0] :].startswith("rare")


def test_another_process_finds_the_same_pieces(generated_data: Path) -> None:
    first, second = (
        subprocess.run(
            [sys.executable, "-c", PRINT, str(generated_data)], capture_output=True, check=True, text=True
        ).stdout
        for _ in range(2)
    )
    here = build_tokenizer(generated_data, vocabulary=500, positions=512).get_vocab()
    assert sorted(eval(first).items()) == sorted(eval(second).items()) == sorted(here.items())
