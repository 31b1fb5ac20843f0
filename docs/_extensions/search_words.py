"""Words that people search for and a page does not say: entries of the site's index and search."""

from sphinx import addnodes

WORDS = {
    "tutorials/dcg_by_lunch": "getting started; quickstart; learn a dcg; pairwise preferences; "
    "side by side judgements; how many judgements; few judgements; active learning",
    "tutorials/machine_judges": "llm judge; llm as judge; llm as a judge; llm-as-a-judge; "
    "gpt judge; llm verdicts; llm relevance judgements; umbrela",
    "logs": "google forms; microsoft forms; surveymonkey; my grades are stars; star ratings; "
    "excel; spreadsheet; csv; import data",
    "recipes": "survey; likert; votes; dpo; logprobs; ranks; clicks; click log; "
    "interleaving; ubi; label studio; argilla; langsmith; polars; rag; rag evaluation; "
    "retrieval augmented generation",
    "judging": "judge in the browser; annotation tool; crowdsourcing; rating page; "
    "send a page to raters",
    "scale": "dask; large logs; files larger than memory",
    "audit": "audit my metric; is my metric right; metric validation",
    "which_judge": "thumbs; which judge can i trust; compare llm judges; which llm judge",
    "two_runs": "side by side verdicts; spreadsheet of verdicts; sign test",
    "evaluation": "significance test; compare two runs; qrels; unjudged documents; pytrec_eval",
    "is_my_ndcg_right": "my own values differ; why is my ndcg different; ndcg above 1; ideal dcg; "
    "idcg; ndcg by hand; ndcg formula; ndcg in python; ndcg of arrays; ndcg_score; tied scores; "
    "ties",
    "metrics": "mrr; mean reciprocal rank; map; mean average precision; average precision; err; "
    "rbp; precision at k",
    "gate": "ci gate; github actions; regression test of a ranker; deploy; may b ship",
    "exports": "export; ir_measures; pyterrier; lenskit; elasticsearch; opensearch; quepid; sql; "
    "export to lightgbm; hybrid search",
    "rankers": "lambdamart; lambdarank; gradient boosting; train on my metric; learning to rank; "
    "custom loss",
    "in_your_stack": "sklearn; gridsearchcv; metadata routing; qid; make_scorer; set_output; "
    "sklearn pipeline; groupkfold; lightgbm; label_gain; lgbmranker; xgbranker; eval_metric; "
    "feval; pytorch; torch; differentiable ndcg; neural ranker",
    "losses": "approxndcg; smooth ndcg; listwise loss",
    "learner": "cohen kappa; cohen's kappa; fleiss kappa; krippendorff alpha; "
    "inter-rater agreement; inter-annotator agreement; position bias; bad raters",
    "people": "calibration; brier score; how many people prefer; share of people",
    "bands": "confidence intervals; credible intervals; uncertainty",
    "what_a_log_can_tell": "noise ceiling; identifiable",
    "claims": "sample size; power analysis; own simulation; reproduce",
    "does_it_help": "public logs; readers; better than ndcg",
    "coherence": "do metrics disagree; metric disagreement; leaderboard; does the metric matter; "
    "does my conclusion depend on the metric",
}
"""Words by page, separated by semicolons."""


def _add(app, doctree):
    words = WORDS.get(app.env.docname)
    if words:
        entries = [("single", word, "", "main", None) for word in words.split("; ")]
        doctree.insert(0, addnodes.index(entries=entries))


def setup(app):
    """Add the entries when a page has been read."""
    app.connect("doctree-read", _add)
    return {"parallel_read_safe": True}
