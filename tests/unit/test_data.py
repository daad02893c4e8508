"""Datasets and DataLoader."""
import pytest

import pyborch as torch
from pyborch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, default_convert, get_worker_info, random_split


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.set_default_device("cpu")


class Squares(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {"x": float(i), "y": torch.tensor([i, i * i])}


def test_batches_keep_order_shapes_and_dtypes():
    batches = list(DataLoader(Squares(), batch_size=4))
    assert [b["x"].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert batches[0]["x"].dtype is torch.float64 and batches[0]["y"].tolist()[3] == [3, 9]
    assert len(DataLoader(Squares(), batch_size=4, drop_last=True)) == 2


def test_a_seeded_shuffle_is_the_same_twice_and_complete():
    def order(seed):
        loader = DataLoader(Squares(), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(seed))
        return [int(v) for b in loader for v in b["x"].tolist()]
    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == list(range(10))


def test_parts_of_datasets():
    data = TensorDataset(torch.arange(6), torch.arange(6) * 2)
    assert [v.item() for v in data[2]] == [2, 4]
    assert len(ConcatDataset([data, data])) == 12 and ConcatDataset([data, data])[7][0].item() == 1
    assert Subset(data, [5, 0])[0][1].item() == 10
    assert sorted(len(p) for p in random_split(data, [4, 2])) == [2, 4]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(data, [4, 3])


def test_convert_makes_tensors_of_arrays_only():
    import numpy
    found = default_convert([1, "a", numpy.ones(2), {"x": numpy.float32(3)}, numpy.array(["b"])])
    assert found[:2] == [1, "a"] and found[2].tolist() == [1, 1] and found[3]["x"].item() == 3 and found[4][0] == "b"
    assert get_worker_info() is None
