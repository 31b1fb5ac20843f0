"""``learn`` and ``audit`` tell the same of one log."""

import json


def test_one_log_has_the_same_bands_and_sentences_in_both(dcglearn, tmp_path):
    log = tmp_path / "log.jsonl"
    dcglearn("simulate", "--pairs", 200, "--lists", "free", "-o", log)
    learned = json.loads(dcglearn("learn", log, "--bands", 200, "--json")[1])
    audited = json.loads(dcglearn("audit", log, "--json")[1])

    assert audited["curves"]["bands"]["table"] == learned["bands"]["table"]
    assert learned["sentences"]["how sure"] == learned["bands"]["sentence"]
    assert learned["bands"]["sentence"] in audited["curves"]["notes"]
