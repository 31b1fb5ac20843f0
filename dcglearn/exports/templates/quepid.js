// $title.
// Scale of the scorer in Quepid: $scale (0 = worst).
// A result without a rating counts as the worst grade. The ideal ranking is made from all ratings of the query, also
// of documents that are not among the results$filled.
var k = $depth; // @Rank
(function () {
  var gains = [$gains];
  var discounts = [$discounts];
  function gainOf(rating) {
    if (rating === undefined || rating === null || rating === "") { return gains[0]; }
    var gain = gains[Math.max(Number(rating), 0)];
    if (gain === undefined) { throw new Error("rating " + rating + " has no gain: the scale is $scale"); }
    return gain;
  }
  function descending(a, b) { return b - a; }
  function total(values, weights) {
    return weights.reduce(function (sum, weight, i) { return sum + weight * values[i]; }, 0);
  }
  var found = discounts.map(function (_, i) {
    return i < numReturned() ? gainOf(hasDocRating(i) ? docRating(i) : null) : 0;
  });
  function orNothing(gain) { return Math.max(gain, 0); } // the ideal leaves out what is harmful
  var rated = topRatings(1000000).map(gainOf).map(orNothing); // all of them
  var unrated = discounts.slice(rated.length).map(function () { return Math.max(gains[0], 0); });
  var ideal = total(rated.concat(unrated).sort(descending), discounts.slice().sort(descending));
  setScore(ideal > 0 ? total(found, discounts) / ideal : 0);
})();
