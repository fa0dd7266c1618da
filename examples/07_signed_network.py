"""The signed graph cut on its own: the two camps of a network of allies and enemies.

The network is that of 16 tribes of the New Guinea highlands (K. E. Read, "Cultures of the Central Highlands, New
Guinea", Southwestern Journal of Anthropology, 1954): 29 alliances and 29 enmities. A partition into two camps frustrates
an alliance between the camps and an enmity within one. `frustration` searches for the partition with the fewest
frustrated edges; `signed_cut` maximises b'Wb and takes weights into account. Up to 20 nodes all partitions are tried, so
that both results are proved to be optimal. A random partition is the baseline.
"""

import numpy as np

from proxcode import frustration, signed_cut

TRIBES = "Gavev Kotun Ove Alika Nagam Gahuk Masil Ukudz Notoh Kohik Geham Asaro Uheto Seuve Nagad Gama".split()
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
    number = {tribe: i for i, tribe in enumerate(TRIBES)}
    lines = [line.split(": ") for line in text.strip().splitlines()]
    return [(number[first], number[second], sign) for first, others in lines for second in others.split()]


edges = edges_of(ALLIES, +1) + edges_of(ENEMIES, -1)

found = frustration(edges, random_state=0)
camp = np.asarray(found.partition) == found.partition[0]
print("camp 1:", *(tribe for tribe, inside in zip(TRIBES, camp, strict=True) if inside))
print("camp 2:", *(tribe for tribe, inside in zip(TRIBES, camp, strict=True) if not inside))
random = np.random.default_rng(0).choice([-1, 1], size=(1000, len(TRIBES)))
i, j, sign = np.array(edges).T
frustrated = (random[:, i] * random[:, j] != sign).sum(axis=1).mean()
print(f"{found.index} of {len(edges)} edges are frustrated, proved minimal: {found.proved}", end="; ")
print(f"{frustrated:.0f} in a random partition")
signs = {(first, second): sign for first, second, sign in edges}
for first, second in found.edges.tolist():
    relation = "allies in different camps" if signs[first, second] > 0 else "enemies in one camp"
    print(f"  {TRIBES[first]} and {TRIBES[second]}: {relation}")

# With weights: an alliance counts three times as much as an enmity.
W = np.zeros((len(TRIBES), len(TRIBES)))
W[i, j] = W[j, i] = np.where(sign > 0, 3, -1)
cut = signed_cut(W, random_state=0)
broken = (sign > 0) & (cut.partition[i] != cut.partition[j])
print(f"alliances weighted three times: b'Wb = {cut.value:.0f}, proved: {cut.proved}", end="; ")
print(f"{broken.sum()} alliances between the camps")
