"""What is learned: rows become windows and labels, logits become answers and figures."""

from bv_search.tasks.dataset import load_dataset, read_rows
from bv_search.tasks.evaluation import Evaluation, difference
from bv_search.tasks.registry import TASKS, find_task, task_from_json
from bv_search.tasks.row import Answer, Dataset, Role, Row, Split
from bv_search.tasks.task import Kind, Logits, Task
from bv_search.tasks.window import WINDOW_SCHEMA, Tokenizer

__all__ = [
    "TASKS",
    "WINDOW_SCHEMA",
    "Answer",
    "Dataset",
    "Evaluation",
    "Kind",
    "Logits",
    "Role",
    "Row",
    "Split",
    "Task",
    "Tokenizer",
    "difference",
    "find_task",
    "load_dataset",
    "read_rows",
    "task_from_json",
]
