// Quepid's scorer functions for one query, as its documentation and its own scorers use them: results in order, each
// with a rating or without, and every rated document of the query, best first.
var docs = [], bestDocs = [], theScore = null;
function docExistsAt(posn) { return posn < docs.length; }
function hasDocRating(posn) { return docExistsAt(posn) && docs[posn].hasOwnProperty("rating"); }
function docRating(posn) { return docExistsAt(posn) ? docs[posn].rating : undefined; }
function numReturned() { return docs.length; }
function topRatings(count) { return bestDocs.slice(0, count).map(function (doc) { return doc.rating; }); }
function setScore(score) { theScore = score; }
function getScore() { return theScore; }
function scoreAll(code, queries) {
  return queries.map(function (query) {
    docs = query.docs.map(function (rating) { return rating === null ? {} : { rating: rating }; });
    bestDocs = query.rated.map(function (rating) { return { rating: rating }; });
    return (0, eval)(code + "\ngetScore()"); // the same context for all queries
  });
}
