"""A Sphinx extension: `{conformance-grid}` shows docs/measured/conformance.json as tables of operations and libraries.

Each group of operations has a table, with the libraries as columns, so that all operations of the group are seen at once.
A cell has a small square for each dtype, which links to the finding if the operation deviates. conformance.js sorts and searches.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from mdit_py_plugins.anchors.index import slugify
from sphinx.util.docutils import SphinxDirective

from meta_tests.measure.conformance import CONFORMANCE_JSON
from meta_tests.measure.conformance_table import Entry, count_broken, find_findings
from meta_tests.support.provenance import Provenance, read_record

GROUPS = {
    "Elementwise": "relu sigmoid silu gelu",
    "Softmax and norms": "softmax log_softmax logsumexp layer_norm rms_norm add_rms_norm",
    "Layers": "embedding linear feed_forward glu swiglu gated_activation moe_router mixture_of_experts",
    "Positions and masks": "rope rope_frequencies alibi_slopes alibi_bias causal_mask sliding_window_mask",
    "Attention": "scaled_dot_product_attention grouped_query_attention local_attention multihead_self_attention"
    " attention_with_weights attention_with_lse merge_attention_states kv_cache_append attention_with_kv_cache paged_attention"
    " variable_length_attention sparse_attention latent_attention latent_attention_absorbed indexer_scores"
    " select_keys",
    "Models": "transformer_block transformer_lm parameter_count",
    "Training": "cross_entropy linear_cross_entropy soft_target_cross_entropy gradient_clipping adamw_step adamw_steps"
    " cosine_schedule newton_schulz muon_step",
    "From logits to a token": "penalize_logits sampling_probabilities sample sample_with_noise verify_draft",
    "Losses of policies": "token_log_probs group_advantages policy_loss dpo_loss divergence",
    "Numbers in few bits": "quantize dynamic_quantize dequantize scaled_matmul unpack_int4 swizzle_scales",
    "States": "causal_conv1d l2_norm linear_attention linear_attention_gate gated_rms_norm mamba2_scan",
}
DTYPES = ("float64", "float32", "bfloat16", "float16")  # the places in a cell
WORDS = {"f": "conforms, class fused", "m": "conforms, class mixed", "e": "conforms, class eager", "x": "exact"}
RANKS = {"!": 0, "?": 1, "m": 3, "e": 2, "f": 4, "x": 4, "": 5}  # by which a click on an operation sorts: deviations first


def describe_cell(cell: Entry) -> tuple[str, str]:
    """Return the state of a cell in one character, and in words."""
    if not cell:
        return "", "not implemented"
    if cell["broken"]:
        return "!", f"deviates: {', '.join(cell['broken'])}"
    state = "x" if cell["class"] == "exact" else (cell["class"] or "?")[0]
    share = f"; largest share of the allowed error {cell['worst']:.2f}" if cell.get("worst") is not None else ""
    return state, f"{WORDS.get(state, 'the laws that could be tried hold')}{share}"


def find_link(backend: str, operation: str, dtype: str, cell: Entry) -> str:
    """Return the address of the finding that explains a deviation, "" if there is none."""
    found = find_findings(backend.partition(" (")[0], operation, set(cell.get("broken", ())), dtype) if cell else []
    page, _, title = found[0].partition(": ") if found else ("", "", "")
    return f"{page}.html#{slugify(title.replace('`', ''))}" if found else ""


def write_squares(backend: str, operation: str, cells: Entry) -> tuple[str, int]:
    """Return the squares of a cell of the table as HTML, and the rank of the worst of them.

    The squares of the four dtypes have fixed places. What has no dtype of its own, such as a mask, is one square.
    """
    squares, ranks = [], []
    for dtype in DTYPES if set(cells) <= set(DTYPES) else cells:
        state, words = describe_cell(cells.get(dtype, {}))
        if not state:
            squares.append("<i></i>")
            continue
        ranks.append(RANKS[state])
        label = html.escape(f"{backend}, {operation}, {dtype}: {words}")
        text = f'class="dtype {STATES[state]}" title="{label}" aria-label="{label}"'
        link, sign = find_link(backend, operation, dtype, cells[dtype]), SIGNS.get(state, "")
        squares.append(f'<a href="{html.escape(link)}" {text}>{sign}</a>' if link else f'<span {text} role="img">{sign}</span>')
    return "".join(squares) if ranks else "", min(ranks, default=RANKS[""])


SIGNS = {"!": "×", "?": "?", "m": "m", "e": "e"}  # colour is not the only difference
STATES = {"!": "deviates", "?": "unclaimed", "f": "fused", "m": "mixed", "e": "eager", "x": "exact"}


def describe_run(entry: Entry, provenance: Provenance | None) -> str:
    """Return how a backend was run: the effort, the number of examples, the date, and the commit of the suite."""
    shapes = f", {entry['shapes']} shapes" if entry.get("shapes") else ""
    date = f", {entry['date']}" if entry.get("date") else ""
    commit = f", at {provenance.commit}" if provenance else ""
    return f"{entry['effort']} effort{shapes}, {entry['examples']} examples{date}{commit}"


def list_groups(operations: list[str]) -> dict[str, list[str]]:
    """Return the groups of the operations, each with its title. An operation of no group is among the others."""
    grouped = {title: [name for name in members.split() if name in operations] for title, members in GROUPS.items()}
    others = [name for name in operations if not any(name in members for members in grouped.values())]
    return {title: members for title, members in {**grouped, "Others": others}.items() if members}


def write_grid(entries: dict[str, Entry]) -> Iterator[str]:
    """Yield the lines of the tables as HTML: a table for each group of operations, and one of the libraries."""
    present = {name: entry for name, entry in sorted(entries.items()) if "cells" in entry}
    operations = list(dict.fromkeys(operation for entry in present.values() for operation in entry["cells"]))
    yield '<p><label>Search a library or an operation: <input type="search" id="conformance-search"></label></p>'
    for title, members in list_groups(operations).items():
        yield from write_group(title, members, present)
    yield from write_libraries(present)


def write_group(title: str, operations: list[str], entries: dict[str, Entry]) -> Iterator[str]:
    """Yield the table of some operations, whose columns are the libraries that have one of them."""
    having = {
        name: entry for name, entry in entries.items() if any(any(entry["cells"].get(op, {}).values()) for op in operations)
    }
    yield f'<div class="conformance"><table><thead><tr><th scope="col">{title}</th>'
    yield "".join(f'<th scope="col" data-library="{name}"><span>{name}</span></th>' for name in having)
    yield "</tr></thead><tbody>"
    for operation in operations:
        head = f'<th scope="row" data-operation="{operation}"><button type="button">{let_break(operation)}</button></th>'
        yield f"<tr>{head}{''.join(write_cell(name, operation, entry) for name, entry in having.items())}</tr>"
    yield "</tbody></table></div>"


def let_break(name: str) -> str:
    return name.replace("_", "_<wbr>")


def write_cell(name: str, operation: str, entry: Entry) -> str:
    squares, rank = write_squares(name, operation, entry["cells"].get(operation, {}))
    return f'<td data-library="{name}" data-sort="{rank}"><div>{squares}</div></td>'


def write_libraries(entries: dict[str, Entry]) -> Iterator[str]:
    """Yield the table of the libraries: the version that was run, how, and in how many operations and dtypes it deviates."""
    record = read_record()
    heads = "".join(f'<th scope="col"><button type="button">{title}</button></th>' for title in ("library", "failures"))
    yield f'<div class="conformance"><table id="conformance"><thead><tr>{heads}'
    yield '<th scope="col">version</th><th scope="col">run</th></tr></thead><tbody>'
    for name, entry in entries.items():
        run = describe_run(entry, record.get(f"{CONFORMANCE_JSON.name} {name}"))
        count = count_broken(entry)
        yield f'<tr data-library="{name}"><th scope="row" data-sort="{name}">{name}</th><td data-sort="{-count}">{count}</td>'
        yield f"<td>{html.escape(entry['version'])}</td><td><small>{run}</small></td></tr>"
    yield "</tbody></table></div>"


class ConformanceGrid(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(CONFORMANCE_JSON))
        entries = json.loads(CONFORMANCE_JSON.read_text(encoding="utf-8"))
        return [nodes.raw("", "\n".join(write_grid(entries)), format="html")]


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("conformance-grid", ConformanceGrid)
    app.add_js_file("conformance.js", loading_method="defer")
    return {"parallel_read_safe": True}
