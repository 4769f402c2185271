"""What fine-tuning tells on its way."""

from dataclasses import dataclass

from bv_search.finetune.stage_folder import SavedStage


@dataclass(frozen=True, kw_only=True)
class Progressed:
    """Progress; `stays` when it is a line of its own."""

    text: str
    stays: bool


Event = Progressed | SavedStage
