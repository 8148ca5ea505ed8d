"""Languages and networks as fields of a plan: given by their sizes, or by a name."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Discriminator, WrapSerializer, WrapValidator

from ntpcompanion.mlm.data.language_plans import HMMPlan, PCFGPlan
from ntpcompanion.mlm.data.named_plans import LANGUAGE_PLANS, MODEL_PLANS, named
from ntpcompanion.networks.network_plan import ModelPlan


def _or_by_name(
    field: str, plans: Mapping[str, object]
) -> Callable[[Any, Callable[[Any], object]], object]:
    def read(value: Any, handler: Callable[[Any], object]) -> object:
        return named(field, value, plans) if isinstance(value, str) else handler(value)

    return read


# fields that the plans did not always have, with the values that stand for what was before
ADDED = {"transition": 1.0, "emission": 1.0, "pairs": None, "words_each": None}


def _without_added(plan: object, handler: Callable[[object], dict[str, Any]]) -> dict[str, Any]:
    """The fields of a plan, added ones only where they say something: so a record that was made
    before them still equals what the present code finds.
    """
    written = handler(plan)
    return {name: value for name, value in written.items() if (name, value) not in ADDED.items()}


# one of the two random families, told apart by the field `family`
OneLanguage = Annotated[HMMPlan | PCFGPlan, Discriminator("family"), WrapSerializer(_without_added)]
# the same, or a key of LANGUAGE_PLANS
NamedLanguage = Annotated[OneLanguage, WrapValidator(_or_by_name("language", LANGUAGE_PLANS))]
# the shape of a network, or a key of MODEL_PLANS
NamedModel = Annotated[ModelPlan, WrapValidator(_or_by_name("model", MODEL_PLANS))]
