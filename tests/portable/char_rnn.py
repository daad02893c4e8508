"""A character model with an LSTM that learns a rhyme, and writes on after it."""
import torch
import torch.nn as nn
from numbers_alike import fill

TEXT = "the rain in spain stays mainly in the plain; in the main the plain is plain. "


class CharRNN(nn.Module):
    def __init__(self, vocabulary, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, 12)
        self.rnn = nn.LSTM(12, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, x, state=None):
        out, state = self.rnn(self.embed(x), state)
        return self.head(out), state


def main(wrap=lambda step: step):
    letters = sorted(set(TEXT))
    index = {c: i for i, c in enumerate(letters)}
    data = torch.tensor([index[c] for c in TEXT])
    model = fill(CharRNN(len(letters)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    loss_fn = nn.CrossEntropyLoss()

    @wrap
    def step(x, y):
        optimizer.zero_grad()
        logits, _ = model(x)
        loss = loss_fn(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss.detach()

    length = 12
    starts = [4 * i for i in range(16)]
    x = torch.stack([data[s:s + length] for s in starts])
    y = torch.stack([data[s + 1:s + length + 1] for s in starts])
    for _ in range(12):
        loss = step(x, y)
    with torch.no_grad():
        token, state, written = x[:1, :1], None, []
        for _ in range(5):
            logits, state = model(token, state)
            token = logits[:, -1].argmax(-1, keepdim=True)
            written.append(letters[token.item()])
    assert len(written) == 5
    return loss.item()


if __name__ == "__main__":
    print(main())
