"""Active learning: strategies that pick what to ask, and the loop that asks and learns."""

from didact.active.ask import AskSettings, ask, askable_states
from didact.active.compare import StrategyComparison, compare
from didact.active.run import Run, Step
from didact.active.situation import (
    Question,
    Situation,
    optimal_oracle,
    policy_oracle,
    softmax_oracle,
)
from didact.active.strategies import Query, register_strategy, strategies

__all__ = [
    "AskSettings",
    "Query",
    "Question",
    "Run",
    "Situation",
    "Step",
    "StrategyComparison",
    "ask",
    "askable_states",
    "compare",
    "optimal_oracle",
    "policy_oracle",
    "register_strategy",
    "softmax_oracle",
    "strategies",
]
