import torch

from bv_search.finetune.gathering import Gathering, Met


def met(first: int, lengths: list[int]) -> Met:
    """Each token's one feature is the number of its window."""
    numbers = torch.arange(first, first + len(lengths)).repeat_interleave(torch.tensor(lengths))
    return Met(
        hidden_LTH=numbers.float()[None, :, None],
        lengths_N=torch.tensor(lengths),
        labels_ND=torch.arange(first, first + len(lengths)).float()[:, None],
    )


def numbers(portions: list[Met]) -> list[list[float]]:
    return [portion.labels_ND[:, 0].tolist() for portion in portions]


def test_windows_come_out_in_whole_portions_and_in_order() -> None:
    gathering = Gathering(4)
    assert gathering.add(met(0, [2, 1, 3])) == []
    first = gathering.add(met(3, [1, 2, 2]))
    assert numbers(first) == [[0, 1, 2, 3]]
    assert numbers(gathering.add(met(6, [1] * 7))) == [[4, 5, 6, 7], [8, 9, 10, 11]]
    tokens = first[0].labels_ND[:, 0].repeat_interleave(first[0].lengths_N)
    assert torch.equal(first[0].hidden_LTH[0, :, 0], tokens)


def test_what_waits_is_kept() -> None:
    one, other = Gathering(4), Gathering(4)
    one.add(met(0, [2, 1, 3]))
    other.restore(one.state())
    assert numbers(one.add(met(3, [1]))) == numbers(other.add(met(3, [1]))) == [[0, 1, 2, 3]]
    assert one.state() == {}
    other.restore(one.state())
    assert other.add(met(0, [1] * 3)) == []


def test_what_comes_out_may_be_changed() -> None:
    """Heads standardise in place."""
    shared = met(0, [2, 1])
    for gathering in (Gathering(2), Gathering(2)):
        (portion,) = gathering.add(shared)
        portion.hidden_LTH.add_(1.0)
    assert torch.equal(shared.hidden_LTH[0, :, 0], torch.tensor([0.0, 0.0, 1.0]))
