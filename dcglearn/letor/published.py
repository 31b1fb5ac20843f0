"""Published results on LETOR 3.0's OHSUMED, five-fold test means, to compare one's own with."""

_TABLE = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")
_WU = (*(f"NDCG@{k}" for k in range(1, 6)), *(f"P@{k}" for k in range(1, 6)), "MAP")

PUBLISHED: dict[str, dict[str, float]] = {
    method: dict(zip(measures, values, strict=True))
    for method, measures, values in (
        ("ApproxNDCG", _TABLE, (0.5771, 0.5037, 0.4794, 0.4620)),
        (
            "REG-SHF-SDCG",
            _WU,
            (0.5517, 0.5110, 0.4802, 0.4716, 0.4634, 0.6333, 0.6152, 0.5893, 0.5716, 0.5574, 0.4506),
        ),
        ("SHF-SDCG", _WU, (0.5409, 0.5022, 0.4743, 0.4701, 0.4598, 0.6333, 0.6141, 0.5922, 0.5790, 0.5593, 0.4503)),
        ("AdaRank.NDCG", _TABLE, (0.5330, 0.4790, 0.4673, 0.4496)),
        ("ListNet", _TABLE, (0.5326, 0.4732, 0.4432, 0.4410)),
        ("SoftRank", _TABLE, (0.5229, 0.4732, 0.4580, 0.4539)),
        ("SDCG", _WU, (0.5012, 0.4750, 0.4714, 0.4533, 0.4420, 0.6152, 0.5816, 0.5802, 0.5461, 0.5313, 0.4501)),
        ("RankSVM", _TABLE, (0.4958, 0.4207, 0.4164, 0.4140)),
    )
}
"""By method and measure: Qin, Liu and Li 2010 (table of NDCG); Wu et al. 2009; RankSVM is LETOR's, not converged."""
