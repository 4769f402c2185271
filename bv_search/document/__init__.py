"""The border: how what others wrote becomes values of this project, whole and within limits, or is refused.

plain.py      the bytes of a file, and of nothing else that has a name
json_text.py  JSON, without what its grammar leaves open
yaml_text.py  YAML, within limits that are looked at before anything is built
decode.py     values → frozen dataclasses, by their types and ranges
"""

from bv_search.document.decode import Count, Mismatch, Number, Positive, Range, Share, Text, decode, one_of
from bv_search.document.json_text import load_json
from bv_search.document.limits import Unreadable
from bv_search.document.plain import check_plain, read_plain
from bv_search.document.yaml_text import load_yaml

__all__ = [
    "Count",
    "Mismatch",
    "Number",
    "Positive",
    "Range",
    "Share",
    "Text",
    "Unreadable",
    "check_plain",
    "decode",
    "load_json",
    "load_yaml",
    "one_of",
    "read_plain",
]
