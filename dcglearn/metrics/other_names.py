"""Names that other tools give to metrics, and what these are called here or by ir_measures."""

import re

ALIASES = {
    "ndcg": "nDCG",
    "ndcg_burges": "exponential-log2",
    "err": "ERR",
    "map": "AP",
    "ap": "AP",
    "p": "P",
    "precision": "P",
    "r": "R",
    "recall": "R",
    "rprec": "Rprec",
    "recip_rank": "RR",
    "mrr": "RR",
    "rr": "RR",
    "bpref": "Bpref",
    "success": "Success",
    "hit_rate": "Success",
    "hit": "Success",
    "hits": "Success",
    "hr": "Success",
    "set_p": "SetP",
    "set_recall": "SetR",
    "set_f": "SetF",
    "set_map": "SetAP",
    "iprec_at_recall": "IPrec",
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "infap": "infAP",
}
"""Names of trec_eval, ranx and MTEB, in lower case, and ours or those of ir_measures."""


def usual_name(word: str) -> str:
    """Return our name or ir_measures' for another tool's name; return other words unchanged.

    Examples
    --------
    >>> [usual_name(word) for word in ("ndcg_cut_10", "map_cut.100", "recall_at_5", "recip_rank")]
    ['nDCG@10', 'AP@100', 'R@5', 'RR']
    >>> [usual_name(f"nDCG(dcg='{word}')@10") for word in ("log2", "exp-log2")]
    ['nDCG@10', 'exponential-log2@10']
    """
    # the two of ir_measures, of which a Perl script computes the second
    match = re.fullmatch(r"nDCG\(dcg=(['\"]?)(exp-)?log2\1\)(@\d+)?", word, re.IGNORECASE)
    if match is not None:
        return ("exponential-log2" if match[2] else "nDCG") + (match[3] or "")

    # names with a cut-off
    match = re.fullmatch(r"([a-z_]+?)(?:_cut|_at)?(?:[@_.](\d+(?:\.\d+)?))?", word, re.IGNORECASE)
    if match is None or match[1].lower() not in ALIASES:
        return word
    name = ALIASES[match[1].lower()]
    return f"{name}@{match[2]}" if match[2] else name
