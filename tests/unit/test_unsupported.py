"""Names that are not here: NotImplementedError says why and what is nearest, and hasattr() stays False."""
import pytest

import pyborch as torch
import pyborch.linalg
import pyborch.nn
import pyborch.optim


@pytest.mark.parametrize("owner, name, text", [
    (torch, "cuda", "torch.cuda is not supported: another vendor's device; there are cpu and webgpu; nearest: torch.device('webgpu')"),
    (torch, "sigmoidd", "torch.sigmoidd is not supported; nearest: torch.sigmoid"),
    (torch, "quantize_per_tensor", "torch.quantize_per_tensor is not supported: quantized engines; nearest: torch.ao.quantization"),
    (torch.optim, "SparseAdam", "torch.optim.SparseAdam is not supported: sparse storage; nearest: a dense tensor"),
    (torch.nn, "DataParallel", "torch.nn.DataParallel is not supported: processes: a tab has one"),
    (torch.nn.functional, "rellu", "torch.nn.functional.rellu is not supported; nearest: torch.nn.functional.relu"),
    (torch.linalg, "invv", "torch.linalg.invv is not supported; nearest: torch.linalg.inv"),
    (torch.tensor([1.0], device="cpu"), "to_sparse_csr", "torch.Tensor.to_sparse_csr is not supported: sparse storage; nearest: a dense tensor"),
])
def test_unsupported_names_say_so(owner, name, text):
    assert not hasattr(owner, name)
    with pytest.raises(NotImplementedError) as caught:
        getattr(owner, name)
    assert isinstance(caught.value, AttributeError)
    assert str(caught.value).startswith(text)
