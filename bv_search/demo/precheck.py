"""Errors in the options, found in a second and not after a minute of work."""

from bv_search.errors import OutputError, UserError
from bv_search.files import check_makeable
from bv_search.tune.config import TuneConfig
from bv_search.tune.study import check_names, load_space


def check_request(config: TuneConfig) -> None:
    check_names(config)
    load_space(config)
    check_makeable(config.runs)
    if config.data is not None:
        raise UserError(
            "--data without --store",
            found=config.data,
            do="make a store of your data first: bv-search finetune, then bv-search extract",
        )
    if config.name is not None and (place := config.runs / config.name).exists():
        raise OutputError(
            "already exists",
            where=place,
            expected="a new run folder",
            do=f"choose another --name, or continue it with --resume {config.name}",
        )
