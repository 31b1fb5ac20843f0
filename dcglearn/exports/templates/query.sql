-- $title.
-- Change the first two parts to your tables:
--   runs:  one row for each ranked document: run, query_id, doc_id, score (the higher, the better)
--   qrels: one row for each judged document: query_id, doc_id, grade (0 to $highest; below 0 counts as 0)
-- Each document once for a query. Documents of equal scores are ranked in descending order of doc_id. A document
-- without a judgement counts as the worst grade. The ideal ranking is made from the judgements$filled.
-- A judged query that a run lacks has the value 0; a grade above $highest makes the values of its query NULL.
WITH ranking AS (
  SELECT run, query_id, doc_id, CAST(score AS REAL) AS score FROM runs
),
judgement AS (
  SELECT query_id, doc_id, CASE WHEN grade < 0 THEN 0 ELSE grade END AS grade FROM qrels
),
position_weight AS (  -- the discount of each rank, and the same in descending order, for the ideal ranking
$discounts
),
graded AS (
  SELECT query_id, doc_id,
    CASE grade $gains END AS gain
  FROM judgement
),
topic AS (
  SELECT query_id, COUNT(*) AS n_judged, COUNT(gain) AS n_known FROM graded GROUP BY query_id
),
pool AS (
  SELECT query_id, gain FROM graded$unjudged
),
best AS (
  SELECT query_id, gain, ROW_NUMBER() OVER (PARTITION BY query_id ORDER BY gain DESC) AS pos FROM pool
),
ideal AS (
  SELECT best.query_id, SUM(position_weight.ideal * CASE WHEN best.gain > 0 THEN best.gain ELSE $zero END) AS ideal
  FROM best JOIN position_weight ON position_weight.pos = best.pos GROUP BY best.query_id
),
ranked AS (
  SELECT run, query_id, doc_id,
    ROW_NUMBER() OVER (PARTITION BY run, query_id ORDER BY score DESC, doc_id DESC) AS pos FROM ranking
),
found AS (
  SELECT ranked.run, ranked.query_id, SUM(position_weight.discount * COALESCE(graded.gain, $worst)) AS dcg
  FROM ranked
  JOIN position_weight ON position_weight.pos = ranked.pos
  LEFT JOIN graded ON graded.query_id = ranked.query_id AND graded.doc_id = ranked.doc_id
  GROUP BY ranked.run, ranked.query_id
)
SELECT
  one.run,
  topic.query_id,
  CASE WHEN topic.n_known = topic.n_judged THEN COALESCE(found.dcg, $zero) END AS dcg,
  CASE WHEN topic.n_known < topic.n_judged THEN NULL
    WHEN ideal.ideal > 0 THEN COALESCE(found.dcg, $zero) / ideal.ideal ELSE $zero END AS ndcg
FROM (SELECT DISTINCT run FROM ranking) AS one
CROSS JOIN topic
JOIN ideal ON ideal.query_id = topic.query_id
LEFT JOIN found ON found.run = one.run AND found.query_id = topic.query_id
ORDER BY one.run, topic.query_id
-- The mean of each run: SELECT run, AVG(ndcg) FROM (the query above) AS one GROUP BY run.
-- REAL has 32 bits here, as in trec_eval: scores that agree in them are equal. doc_id must be text.
-- Tested on DuckDB and SQLite, and as sqlglot reads it in Spark's dialect. What other systems need, from their manuals:
--   BigQuery has no REAL: write score instead of CAST(score AS REAL).
--   BigQuery, Snowflake and SQLite compare 64 bits: scores that differ past the seventh digit are not equal there.
--   PostgreSQL compares names by language: write doc_id COLLATE "C" DESC.
