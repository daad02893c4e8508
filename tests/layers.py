"""Layers with reproducible weights: output, gradient sums, state_dict keys and printed form must be PyTorch's."""
import random

CASES = [
    ("nn.Linear(3, 4)", "x(2, 3)"), ("nn.Bilinear(3, 2, 4)", "x(5, 3), x(5, 2)"), ("nn.Conv1d(2, 3, 3, stride=2, padding=1)", "x(2, 2, 7)"),
    ("nn.Conv2d(2, 4, 3, padding='same', groups=2)", "x(1, 2, 5, 5)"), ("nn.ConvTranspose2d(2, 3, 3, 2, 1, 1)", "x(1, 2, 3, 3)"),
    ("nn.BatchNorm2d(3)", "x(2, 3, 4, 4)"), ("nn.BatchNorm1d(3).eval()", "x(4, 3)"), ("nn.LayerNorm(5)", "x(3, 5)"), ("nn.GroupNorm(2, 4)", "x(2, 4, 3)"),
    ("nn.RMSNorm(4)", "x(2, 4)"), ("nn.InstanceNorm2d(2, affine=True)", "x(2, 2, 3, 3)"), ("nn.Embedding(5, 3)", "i(4)"), ("nn.PReLU(3)", "x(2, 3)"),
    ("nn.MaxPool2d(2, padding=1)", "x(1, 2, 5, 5)"), ("nn.AvgPool2d(3, 2)", "x(1, 2, 7, 7)"), ("nn.AdaptiveAvgPool2d((2, 3))", "x(1, 2, 5, 7)"),
    ("nn.Sequential(nn.Linear(3, 5), nn.GELU(), nn.Dropout(0.5), nn.Linear(5, 2)).eval()", "x(4, 3)"), ("nn.MultiheadAttention(8, 2, batch_first=True)", "x(2, 3, 8), x(2, 5, 8), x(2, 5, 8)"),
    ("nn.MultiheadAttention(8, 4)", "x(3, 2, 8), x(3, 2, 8), x(3, 2, 8), None, True, x(3, 3)"),
    ("nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)", "x(2, 3, 8)"), ("nn.TransformerEncoderLayer(8, 2, 16, 0.0, 'gelu', norm_first=True)", "x(3, 2, 8)"),
    ("nn.LSTM(3, 4, 2, bidirectional=True)", "x(5, 2, 3)"), ("nn.LSTM(3, 4, proj_size=2, batch_first=True)", "x(2, 5, 3), (x(1, 2, 2), x(1, 2, 4))"),
    ("nn.GRU(3, 4, 2, batch_first=True, bias=False)", "x(2, 5, 3), x(2, 2, 4)"), ("nn.RNN(3, 4, 1, 'relu', bidirectional=True)", "x(5, 3)"),
    ("nn.GRU(3, 4, bidirectional=True)", "nn.utils.rnn.pack_sequence([x(2, 3), x(4, 3), x(1, 3)], enforce_sorted=False)"),
    ("nn.LSTM(3, 4, bidirectional=True)", "nn.utils.rnn.pack_sequence([x(4, 3), x(4, 3), x(2, 3)])"),
    ("nn.LSTMCell(3, 4)", "x(2, 3)"), ("nn.GRUCell(3, 4)", "x(2, 3), x(2, 4)"), ("nn.RNNCell(3, 4, nonlinearity='relu')", "x(3)"),
    ("nn.Flatten()", "x(2, 3, 4)"), ("nn.ZeroPad2d(1)", "x(1, 1, 2, 2)"), ("nn.PixelShuffle(2)", "x(1, 4, 2, 2)"), ("nn.Softmax(dim=1)", "x(2, 3)"),
    ("nn.CrossEntropyLoss(label_smoothing=0.1)", "x(4, 5), i(4)"), ("nn.SmoothL1Loss(beta=0.3)", "x(3, 2), x(3, 2)"), ("nn.BCEWithLogitsLoss()", "x(3, 2), x(3, 2).sigmoid().detach()")]


def outcome(torch, case):
    """[printed form, state_dict keys, output, gradients' sums]."""
    draw = random.Random(case[0])

    def numbers(*shape):
        count = 1
        for n in shape:
            count *= n
        return torch.tensor([round(draw.uniform(-1, 1) * 1024) / 1024 for _ in range(count)]).reshape(shape)
    scope = {"torch": torch, "nn": torch.nn, "x": lambda *s: numbers(*s).requires_grad_(), "i": lambda n: torch.tensor([draw.randrange(5) for _ in range(n)])}
    layer = eval(case[0], scope)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(numbers(*p.shape))
    inputs = eval(f"[{case[1]}]", scope)
    y = layer(*inputs)
    while isinstance(y, tuple):
        y = y[0]
    (y * y).sum().backward()
    grads = [t.grad.abs().sum().item() for t in [*inputs, *layer.parameters()] if hasattr(t, "grad") and t.grad is not None]
    return [repr(layer), list(layer.state_dict()), list(y.shape), y.detach().reshape(-1).tolist(), grads]
