"""eunoe: decides before each model call what the model sees of a long chat."""

from eunoe.domain.budget import CompositeBudget, CostBudget, TokenBudget, TokenTargetBudget
from eunoe.domain.certificate import Certificate, NoCertificate
from eunoe.domain.conversation import Conversation
from eunoe.domain.cost import RequestCost, WayCost
from eunoe.domain.errors import (
    BackendError,
    BudgetError,
    ChatFileError,
    ConversationError,
    EunoeError,
    SettingsError,
)
from eunoe.domain.event import RequestEvent
from eunoe.domain.placement import Placement
from eunoe.domain.ports import Embedder, EntityExtractor, Labeller, Observer, StanceJudge
from eunoe.domain.profile import PROFILES, ProviderProfile
from eunoe.domain.report import (
    Cut,
    Decision,
    Fate,
    Report,
)
from eunoe.domain.settings import Settings
from eunoe.domain.violation import Violation
from eunoe.pipeline.accounts.forecasting import enter_requests
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe.pipeline.linting import lint
from eunoe.pipeline.orchestrator import ContextOrchestrator
from eunoe.pipeline.result import OrchestratorResult
from eunoe.pipeline.strategies import PrefixTracker, Strategies
from eunoe.stages.accounting.ledger import Ledger
from eunoe.stages.accounting.price import ModelPrice
from eunoe.stages.accounting.price_table import ModelPricingTable

__version__ = "0.1.0"

__all__ = [
    "PROFILES",
    "BackendError",
    "BudgetError",
    "Certificate",
    "ChatFileError",
    "CompositeBudget",
    "ContextOrchestrator",
    "Conversation",
    "ConversationError",
    "CostBudget",
    "Cut",
    "Decision",
    "Embedder",
    "EntityExtractor",
    "EunoeError",
    "Fate",
    "Labeller",
    "Ledger",
    "ModelPrice",
    "ModelPricingTable",
    "NoCertificate",
    "Observer",
    "OrchestratorResult",
    "PipelineMemory",
    "Placement",
    "PrefixTracker",
    "ProviderProfile",
    "Report",
    "RequestCost",
    "RequestEvent",
    "Settings",
    "SettingsError",
    "StanceJudge",
    "Strategies",
    "TokenBudget",
    "TokenTargetBudget",
    "Violation",
    "WayCost",
    "enter_requests",
    "lint",
]
