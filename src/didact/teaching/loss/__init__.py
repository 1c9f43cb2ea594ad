"""Good-enough lessons: the cheapest demonstrations after which no learner loses more than a bound.

F is the polytope of successor features from the start, M(w) the points of F that are best for w,
and l(mu) = w*.(mu* - mu) the loss. What a lesson D may still cost is the largest, over the rewards
that fit it, of the least l(mu) over M(w): over the closed cone C(D) for learners that take
half-spaces, over H(D) = {w : every pair shown is optimal under w's own values} for learners that
plan.
"""
