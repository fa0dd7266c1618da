"""
The two camps of a network
==========================

The signed graph cut on its own: a network of allies and enemies.

The network is that of 16 tribes of the New Guinea highlands (K. E. Read, "Cultures of the Central Highlands, New
Guinea", Southwestern Journal of Anthropology, 1954): 29 alliances and 29 enmities. A partition into two camps
frustrates an alliance between the camps and an enmity within one. :func:`~proxcode.frustration` searches for the
partition with the fewest frustrated edges; :func:`~proxcode.signed_cut` maximises b'Wb and takes weights into account.
Up to 20 nodes all partitions are tried, so that both results are proved to be optimal. Random partitions are the
baseline.
"""

import matplotlib.pyplot as plt
import numpy as np

from proxcode import frustration, signed_cut

ALLIES = """
Gavev: Kotun Nagad Gama
Kotun: Nagad Gama
Ove: Alika Gahuk Masil Ukudz
Alika: Ukudz
Nagam: Masil Notoh Seuve
Gahuk: Masil Ukudz Geham Asaro
Masil: Ukudz Geham Asaro Uheto
Ukudz: Geham Asaro
Notoh: Kohik Uheto
Kohik: Uheto
Geham: Asaro
Uheto: Seuve
Nagad: Gama
"""
ENEMIES = """
Gavev: Ove Alika Nagam Gahuk Asaro
Kotun: Ove Nagam Gahuk Notoh Kohik
Nagam: Nagad Gama
Gahuk: Notoh Uheto Gama
Ukudz: Seuve
Notoh: Geham Nagad
Kohik: Geham Nagad
Geham: Uheto Nagad Gama
Asaro: Seuve Nagad Gama
Uheto: Nagad Gama
Seuve: Gama
"""


def edges_of(text, sign):
    """Return edges (first, second, sign) from lines "first: second second ..."."""
    lines = [line.split(": ") for line in text.strip().splitlines()]
    return [(TRIBES.index(first), TRIBES.index(second), sign) for first, others in lines for second in others.split()]


# %%
# The partition with the fewest frustrated edges.
TRIBES = sorted(set((ALLIES + ENEMIES).replace(":", "").split()))
edges = edges_of(ALLIES, +1) + edges_of(ENEMIES, -1)

found = frustration(edges, random_state=0)
for camp in (1, -1):
    members = np.flatnonzero(found.partition == camp * found.partition[0])
    print(f"camp of {len(members)}:", *(TRIBES[tribe] for tribe in members))
i, j, sign = np.array(edges).T
random = np.random.default_rng(0).choice([-1, 1], size=(1000, len(TRIBES)))
n_random = (random[:, i] * random[:, j] != sign).sum(axis=1).mean()
print(f"{found.index} of {len(edges)} edges are frustrated, proved minimal: {found.proved}", end="; ")
print(f"{n_random:.0f} in a random partition")
for first, second in found.edges.tolist():
    relation = "enemies in one camp" if found.partition[first] == found.partition[second] else "allies in two camps"
    print(f"  {TRIBES[first]} and {TRIBES[second]}: {relation}")

# %%
# The camps on two circles: solid lines are alliances, dashed lines enmities, thick lines frustrated edges.
place = np.zeros((len(TRIBES), 2))
for camp, center in ((1, 0), (-1, 3)):
    members = np.flatnonzero(found.partition == camp * found.partition[0])
    turn = np.linspace(0, 2 * np.pi, len(members), endpoint=False)
    place[members] = np.column_stack([center + np.cos(turn) * len(members) / 12, np.sin(turn) * len(members) / 12])
_, ax = plt.subplots(figsize=(8, 4.5))
frustrated = {frozenset(edge) for edge in found.edges.tolist()}
for first, second, relation in edges:
    colour, line = ("tab:blue", "-") if relation > 0 else ("tab:red", "--")
    width = 3 if frozenset((first, second)) in frustrated else 0.8
    ax.plot(*place[[first, second]].T, line, color=colour, linewidth=width, zorder=1)
for name, (x, y) in zip(TRIBES, place, strict=True):
    ax.text(x, y, name, ha="center", va="center", bbox={"boxstyle": "round", "facecolor": "white"})
ax.set_axis_off()
plt.show()

# %%
# With weights: an enmity counts three times as much as an alliance.
W = np.zeros((len(TRIBES), len(TRIBES)))
W[i, j] = W[j, i] = np.where(sign > 0, 1, -3)
cut = signed_cut(W, random_state=0)
is_joined = cut.partition[i] == cut.partition[j]
n_enemies, n_allies = (is_joined & (sign < 0)).sum(), (~is_joined & (sign > 0)).sum()
print(f"enmities weighted three times: b'Wb = {cut.value:.0f}, proved maximal: {cut.proved}", end="; ")
print(f"enmities within a camp: {n_enemies}, alliances between camps: {n_allies}")
