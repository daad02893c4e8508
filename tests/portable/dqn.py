"""Deep Q-learning on a corridor: walk right to the reward; replay memory, target network, Huber loss."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from numbers_alike import draws, fill, integers

PLACES, GAMMA, BATCH = 6, 0.9, 16


def walk(place, action):
    """(next place, reward, whether the episode ends)."""
    place = max(0, place + (1 if action else -1))
    return place, float(place == PLACES - 1), place == PLACES - 1


def memory(count):
    """What a random walker has seen: places, actions, next places, rewards, ends."""
    seen, place = [], 0
    for v in draws(9, count):
        action = int(v * 2)
        following, reward, end = walk(place, action)
        seen.append((place, action, following, reward, float(end)))
        place = 0 if end else following
    places, actions, following, rewards, ends = (torch.tensor(column) for column in zip(*seen))
    return F.one_hot(places, PLACES).float(), actions, F.one_hot(following, PLACES).float(), rewards, ends


def main(wrap=lambda step: step):
    q = fill(nn.Sequential(nn.Linear(PLACES, 16), nn.ReLU(), nn.Linear(16, 2)))
    target = copy.deepcopy(q).requires_grad_(False)
    optimizer = torch.optim.Adam(q.parameters(), lr=0.02)
    places, actions, following, rewards, ends = memory(200)

    @wrap
    def step(s, a, s2, r, end):
        with torch.no_grad():
            best = target(s2).max(1).values
            wanted = r + GAMMA * best * (1 - end)
        value = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(value, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for i in range(40):
        chosen = integers(100 + i % 8, 200, BATCH)
        step(places[chosen], actions[chosen], following[chosen], rewards[chosen], ends[chosen])
        if i % 5 == 4:
            target.load_state_dict(q.state_dict())
    with torch.no_grad():
        return q(torch.eye(PLACES)[:-1]).max(1).values.sum().item()


if __name__ == "__main__":
    print(main())
