"""Area under the precision-recall curve on other data than Table 1, all methods at 16, 32 and 64 bits.

Banking77 with near by class, scene15 and CIFAR-10 GIST with near by a radius, three splits each. The table names the
best other method of each dataset and code length: of those compared by Hamming distance, and of the quantisers, which
compare the vectors of queries with codes. The summary holds all methods.
"""

from pathlib import Path

from proxcode.experiments.curves import PROTOCOLS as CURVE_PROTOCOLS
from proxcode.experiments.report import (
    markdown_table,
    parameters_listed,
    read_rows,
    read_splits,
    reasons,
    shown,
    write_splits,
)
from proxcode.experiments.runner import SEEDS, Row, run_cells, write_rows, write_text
from proxcode.experiments.table import (
    CURVE_BITS,
    NOTES,
    OWN,
    QUANTISERS,
    best_of,
    cells_for,
    not_ahead,
    summary,
)

PROTOCOLS = {
    "labels banking77": "Banking77, near by class",
    "radius scene15-gist": "scene15 GIST, near by radius",
    "radius cifar10-gist": "CIFAR-10 GIST, PCA-40, near by radius",
}
TITLE = "# Other data: area under the precision-recall curve\n\n"
QUICK_PROTOCOLS = {"labels digits": "digits, near by class"}
BITS = (16, 32, 64)
# A code length of the quick form of Table 1, whose fits are shared.
QUICK_BITS = (12,)


def run(output: Path, quick: bool = False, verbose: bool = False, jobs: int = 1) -> list[Path]:
    """Measure all methods; write `other_data_splits.csv` and `other_data_left_out.csv`, then the tables."""
    protocols, bits, seeds = (QUICK_PROTOCOLS, QUICK_BITS, SEEDS[:1]) if quick else (PROTOCOLS, BITS, SEEDS)
    cells = []
    for protocol in protocols:
        # Fits at the code length of the precision-recall curves are shared with that experiment.
        cells += cells_for(protocol, (*bits, CURVE_BITS) if protocol in CURVE_PROTOCOLS else bits, seeds)
    rows = run_cells(cells, output, quick=quick, verbose=verbose, jobs=jobs)
    return [*write_splits(output, "other_data", rows, cells), *redraw(output)]


def redraw(output: Path) -> list[Path]:
    """Write `other_data.csv` and `other_data.md` from the measures of all splits."""
    rows, left_out = read_splits(output, "other_data")
    table, texts = [], []
    for protocol, about in {**PROTOCOLS, **QUICK_PROTOCOLS}.items():
        measured = [row for row in rows if row["protocol"].split()[-1] == protocol.split()[-1]]
        bits = tuple(sorted({row["bits"] for row in measured} - {CURVE_BITS}))
        if measured:
            areas = summary(measured, list(dict.fromkeys(row["method"] for row in measured)), bits, {})
            table += [{"data": about, **{key: row[key] for key in row if key != "paper"}} for row in areas]
            texts.append(f"## {about}\n\n{markdown(areas, bits)}{not_ahead(areas, bits)}")
    paths = [output / "other_data.csv", output / "other_data.md"]
    write_rows(paths[0], table)
    listed = parameters_listed(read_rows(output / "other_data_parameters.csv"))
    write_text(paths[1], TITLE + "\n".join(texts) + NOTES + listed + reasons(left_out))
    return paths


def markdown(table: list[Row], bits: tuple[int, ...]) -> str:
    """Format the areas of PPC and of the best other methods of a dataset, with their names."""
    names = dict.fromkeys(row["method"] for row in table)
    kinds = {
        "PPC": ["PPC"],
        "best by Hamming distance": [name for name in names if name not in (*OWN, *QUANTISERS)],
        "best quantiser": [name for name in names if name in QUANTISERS],
    }
    lines = []
    for kind, some in kinds.items():
        best = [best_of(table, n_bits, some) for n_bits in bits]
        named = ["" if row is None else f"{row['method']} {shown(row['auc'], row['spread'])}" for row in best]
        lines.append([kind, *named])
    return markdown_table(["", *(f"{n_bits} bits" for n_bits in bits)], lines)
