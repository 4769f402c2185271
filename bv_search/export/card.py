"""The model card: README.md, with the front matter that the Hugging Face Hub reads."""

from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import EvalResult, ModelCardData
from jinja2 import Environment, PackageLoader, StrictUndefined

from bv_search.encoder.encoder import Encoder
from bv_search.encoder.stage import epochs
from bv_search.export.figures import Figures
from bv_search.files import write_text
from bv_search.model.combine import Method
from bv_search.model.model import Model
from bv_search.tasks.task import Kind

CARD = "README.md"
PIPELINES = {
    Kind.SPAN: "question-answering",
    Kind.CLASSIFICATION: "text-classification",
    Kind.REGRESSION: "text-classification",
}
METRICS = {"matthews": "matthews_correlation", "pearson": "pearsonr", "spearman": "spearmanr"}
"""What the Hub calls those figures that have another name here."""
OUTPUTS = {
    Kind.SPAN: "`logits` (windows, tokens, 2): of each token as start and as end, −∞ on padding.",
    Kind.CLASSIFICATION: "`logits` (rows, classes), of {labels}.",
    Kind.REGRESSION: "`logits` (rows, 1): the value.",
}


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What there is to say of an exported model."""

    name: str
    model: Model
    encoder: Encoder
    figures: Figures
    bundled: bool
    onnx: str | None  # how well the ONNX file agrees, where there is one

    def write(self, folder: Path) -> None:
        environment = Environment(  # noqa: S701  Markdown
            loader=PackageLoader("bv_search.export"), undefined=StrictUndefined, keep_trailing_newline=True
        )
        environment.filters |= {"score": _score, "interval": _interval, "count": _count}
        labels = ", ".join(f"`{label}`" for label in self.model.task.labels)
        text = environment.get_template("card.md").render(
            **vars(self),
            front=self._front().to_yaml().strip(),
            what=self._what(),
            row=self._row(),
            alone=len(self.model.members) == 1,
            outputs=OUTPUTS[self.model.task.kind].format(labels=labels),
            encoder_name=self._encoder_name(),
        )
        write_text(folder / CARD, text)

    def _front(self) -> ModelCardData:
        layout, pipeline = self.model.task.layout, PIPELINES[self.model.task.kind]
        results = [
            EvalResult(
                task_type=pipeline,
                dataset_type=layout.hub or self.model.task.name,
                dataset_name=self.model.task.name,
                dataset_config=layout.config,
                metric_type=METRICS.get(metric, metric),
                metric_name=metric,
                metric_value=round(value, 4),
            )
            for metric, value in self.figures.own.metrics.items()
        ]
        return ModelCardData(
            library_name="bv_search",
            pipeline_tag=pipeline,
            tags=["hidden-states", "probing", *(["onnx"] if self.onnx else [])],
            base_model=self.model.encoder.id if self.model.encoder.revision else None,  # if it is the Hub's
            datasets=[layout.hub] if layout.hub else None,
            metrics=[METRICS.get(metric, metric) for metric in self.figures.own.metrics],
            model_name=self.name,
            eval_results=results,
        )

    def _what(self) -> str:
        model, figures = self.model, self.figures
        head = f" (`{figures.head}`)" if figures.head else ""
        share = ""
        if figures.encoder_parameters:
            share = f", {100 * model.parameters / figures.encoder_parameters:.3g} % of the encoder's"
        return (
            f"For the task `{model.task.name}`: {figures.own.title}{head} on the hidden states of "
            f"{self._encoder_name()}. {self._members()} {model.parameters:,} parameters{share}."
        )

    def _members(self) -> str:
        members = self.model.members
        if len(members) > 1:
            mean = {Method.MAX: "maximum", Method.MEAN: "mean"}.get(self.model.method, "weighted mean")
            return f"It is the {mean} of {len(members)} members, and has"
        copies = len(members[0].heads)
        return f"It is {copies} copies that answer by their mean, with" if copies > 1 else "It has"

    def _encoder_name(self) -> str:
        """Without the way to it on this machine."""
        found, stage = self.model.encoder, self.encoder.stage
        name = f"`{found.id if found.revision else Path(found.id).name}`"
        return f"{name}, fine-tuned for {epochs(stage.fraction)}" if stage and stage.fraction else name

    def _row(self) -> str:
        """Texts as a row of the task has them, by the names of its columns."""
        texts = ", ".join(f'"a {name}"' for name in self.model.task.layout.columns[-1].texts)
        return f"({texts})" if "," in texts else texts


def _score(value: float) -> str:
    return f"{value:.4f}"


def _interval(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.4f} to {pair[1]:.4f}"


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
