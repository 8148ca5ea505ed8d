"""Languages and networks as fields of a plan: given by their sizes, or by a name."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, WrapValidator

from ntpcompanion.mlm.data.language_plans import HMMPlan, PCFGPlan
from ntpcompanion.mlm.data.named_plans import LANGUAGE_PLANS, MODEL_PLANS, named
from ntpcompanion.networks.network_plan import ModelPlan

# those with a name, by the field of a plan that takes it
PLANS: Mapping[str, Mapping[str, object]] = {"language": LANGUAGE_PLANS, "model": MODEL_PLANS}
# by family, the fields that version 1 of its plans did not have, with the values that it meant
SINCE_VERSION_2: Mapping[str, Mapping[str, object]] = {
    "hmm": {"transition": 1.0, "emission": 1.0},
    "pcfg": {"pairs": None, "words_each": None},
}


def migrated(stored: Any) -> Any:
    """A stored language of version 1, as in the results of mlm_hmm and mlm_pcfg, with the fields of
    version 2. What is of version 2, or not a stored language, is returned as it is.
    """
    if isinstance(stored, dict):
        for family, added in SINCE_VERSION_2.items():
            if stored.get("family") == family:
                return {**added, **stored}
    return stored


def _or_by_name(value: Any, handler: Callable[..., object], info: Any) -> object:
    if isinstance(value, str):
        return named(info.field_name, value, PLANS[info.field_name])
    return handler(value)


# one of the two random families, distinguished by the field `family`
OneLanguage = Annotated[HMMPlan | PCFGPlan, Discriminator("family"), BeforeValidator(migrated)]
# the same, or a key of LANGUAGE_PLANS
NamedLanguage = Annotated[OneLanguage, WrapValidator(_or_by_name)]
# the shape of a network, or a key of MODEL_PLANS
NamedModel = Annotated[ModelPlan, WrapValidator(_or_by_name)]
