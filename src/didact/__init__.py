"""The fewest demonstrations that teach a reward, with a proof that they do.

Names are loaded when they are first used, so that `import didact` and `didact --help` are quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_ROOM_OF = {
    "MDP": "didact.mdp",
    "Comparison": "didact.mdp",
    "Demonstration": "didact.mdp",
    "Family": "didact.mdp",
    "Preference": "didact.mdp",
    "RankedTrajectories": "didact.mdp",
    "Recording": "didact.mdp",
    "Stop": "didact.mdp",
    "Task": "didact.mdp",
    "Transitions": "didact.mdp",
    "load_family": "didact.mdp",
    "load_recording": "didact.mdp",
    "load_task": "didact.mdp",
    "from_environment": "didact.worlds",
    "from_gymnasium": "didact.worlds",
    "from_minigrid": "didact.worlds",
    "gridworld": "didact.worlds",
    "load_agent": "didact.worlds",
    "make": "didact.worlds",
    "register_world": "didact.worlds",
    "Evaluation": "didact.planning",
    "Plan": "didact.planning",
    "reachable_pairs": "didact.planning",
    "reachable_states": "didact.planning",
    "rollout": "didact.planning",
    "solve": "didact.planning",
    "successor_features": "didact.planning",
    "Cone": "didact.bec",
    "EquivalenceClass": "didact.bec",
    "Observed": "didact.bec",
    "ObserveSettings": "didact.bec",
    "ObserveWorkers": "didact.bec",
    "angular_similarity": "didact.bec",
    "demonstration_class": "didact.bec",
    "describe": "didact.bec",
    "equivalence_class": "didact.bec",
    "evaluate": "didact.bec",
    "load_observed": "didact.bec",
    "ng_russell": "didact.bec",
    "observe": "didact.bec",
    "prove": "didact.bec",
    "reward_terms": "didact.bec",
    "Attack": "didact.teaching",
    "Difficulty": "didact.teaching",
    "Frontier": "didact.teaching",
    "Identification": "didact.teaching",
    "Lesson": "didact.teaching",
    "Selection": "didact.teaching",
    "Transfer": "didact.teaching",
    "Verdict": "didact.teaching",
    "attack": "didact.teaching",
    "certify": "didact.teaching",
    "check": "didact.teaching",
    "frontier": "didact.teaching",
    "identify": "didact.teaching",
    "load_lesson": "didact.teaching",
    "rank": "didact.teaching",
    "select": "didact.teaching",
    "register_teacher": "didact.teaching",
    "teach": "didact.teaching",
    "teach_mixed": "didact.teaching",
    "teach_robust": "didact.teaching",
    "teach_within": "didact.teaching",
    "transfer": "didact.teaching",
    "information_gap": "didact.learners.chains.information_gap",
    "Informativeness": "didact.learners.chains.informativeness",
    "demonstrate": "didact.learners.chains.demonstrators",
    "informativeness": "didact.learners.chains.informativeness",
    "learn": "didact.learners",
    "Belief": "didact.learners",
    "load_belief": "didact.learners",
    "register_learner": "didact.learners",
    "ask": "didact.active",
    "AskSettings": "didact.active",
    "register_strategy": "didact.active",
    "Audit": "didact.auditing",
    "Exam": "didact.auditing",
    "audit": "didact.auditing",
    "exam": "didact.auditing",
    "load_exam": "didact.auditing",
    "StudyRun": "didact.studies",
    "register_study": "didact.studies",
    "run_study": "didact.studies",
    "DidactError": "didact.errors",
    "InvalidInput": "didact.errors",
}

__all__ = sorted(_ROOM_OF)

if TYPE_CHECKING:
    from didact.active import AskSettings as AskSettings
    from didact.active import ask as ask
    from didact.active import register_strategy as register_strategy
    from didact.auditing import Audit as Audit
    from didact.auditing import Exam as Exam
    from didact.auditing import audit as audit
    from didact.auditing import exam as exam
    from didact.auditing import load_exam as load_exam
    from didact.bec import Cone as Cone
    from didact.bec import EquivalenceClass as EquivalenceClass
    from didact.bec import Observed as Observed
    from didact.bec import ObserveSettings as ObserveSettings
    from didact.bec import ObserveWorkers as ObserveWorkers
    from didact.bec import angular_similarity as angular_similarity
    from didact.bec import demonstration_class as demonstration_class
    from didact.bec import describe as describe
    from didact.bec import equivalence_class as equivalence_class
    from didact.bec import evaluate as evaluate
    from didact.bec import load_observed as load_observed
    from didact.bec import ng_russell as ng_russell
    from didact.bec import observe as observe
    from didact.bec import prove as prove
    from didact.bec import reward_terms as reward_terms
    from didact.errors import DidactError as DidactError
    from didact.errors import InvalidInput as InvalidInput
    from didact.learners import Belief as Belief
    from didact.learners import learn as learn
    from didact.learners import load_belief as load_belief
    from didact.learners import register_learner as register_learner
    from didact.learners.chains.demonstrators import demonstrate as demonstrate
    from didact.learners.chains.information_gap import information_gap as information_gap
    from didact.learners.chains.informativeness import Informativeness as Informativeness
    from didact.learners.chains.informativeness import informativeness as informativeness
    from didact.mdp import MDP as MDP
    from didact.mdp import Comparison as Comparison
    from didact.mdp import Demonstration as Demonstration
    from didact.mdp import Family as Family
    from didact.mdp import Preference as Preference
    from didact.mdp import RankedTrajectories as RankedTrajectories
    from didact.mdp import Recording as Recording
    from didact.mdp import Stop as Stop
    from didact.mdp import Task as Task
    from didact.mdp import Transitions as Transitions
    from didact.mdp import load_family as load_family
    from didact.mdp import load_recording as load_recording
    from didact.mdp import load_task as load_task
    from didact.planning import Evaluation as Evaluation
    from didact.planning import Plan as Plan
    from didact.planning import reachable_pairs as reachable_pairs
    from didact.planning import reachable_states as reachable_states
    from didact.planning import rollout as rollout
    from didact.planning import solve as solve
    from didact.planning import successor_features as successor_features
    from didact.studies import StudyRun as StudyRun
    from didact.studies import register_study as register_study
    from didact.studies import run_study as run_study
    from didact.teaching import Attack as Attack
    from didact.teaching import Difficulty as Difficulty
    from didact.teaching import Frontier as Frontier
    from didact.teaching import Identification as Identification
    from didact.teaching import Lesson as Lesson
    from didact.teaching import Selection as Selection
    from didact.teaching import Transfer as Transfer
    from didact.teaching import Verdict as Verdict
    from didact.teaching import attack as attack
    from didact.teaching import certify as certify
    from didact.teaching import check as check
    from didact.teaching import frontier as frontier
    from didact.teaching import identify as identify
    from didact.teaching import load_lesson as load_lesson
    from didact.teaching import rank as rank
    from didact.teaching import register_teacher as register_teacher
    from didact.teaching import select as select
    from didact.teaching import teach as teach
    from didact.teaching import teach_mixed as teach_mixed
    from didact.teaching import teach_robust as teach_robust
    from didact.teaching import teach_within as teach_within
    from didact.teaching import transfer as transfer
    from didact.worlds import from_environment as from_environment
    from didact.worlds import from_gymnasium as from_gymnasium
    from didact.worlds import from_minigrid as from_minigrid
    from didact.worlds import gridworld as gridworld
    from didact.worlds import load_agent as load_agent
    from didact.worlds import make as make
    from didact.worlds import register_world as register_world


_MODULES = ("errors", "learners", "paper", "plots", "studies", "worlds")
"""Modules with public names of their own; they are attributes after `import didact`."""


def __getattr__(name: str) -> Any:
    room = _ROOM_OF.get(name)
    if name in _MODULES:
        return import_module(f"didact.{name}")
    if room is None:
        raise AttributeError(f"module 'didact' has no attribute {name!r}")
    value = getattr(import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    own = [name for name in globals() if name.startswith("__") and name.endswith("__")]
    return sorted([*own, *__all__, *_MODULES])
