"""Job returns whose configs are read when somebody asks for them.

The two configs of a run are thousands of objects, and hardly any sweeper looks at them. To read those of all runs takes
the launcher longer than everything else that it does at the end, and Python's garbage collector goes through them again
and again.
"""

from __future__ import annotations

import io
from typing import Any

from hydra.core.utils import JobReturn

from duckrow.api.call import dump_value

_CONFIGS = ("cfg", "hydra_cfg")


def _late(name: str) -> Any:
    def get(returned: LateConfigs) -> Any:
        return returned.configs[name]

    def set_(returned: LateConfigs, value: Any) -> None:
        returned.configs[name] = value

    return property(get, set_)


class LateConfigs(JobReturn):
    cfg, hydra_cfg = map(_late, _CONFIGS)

    @property
    def configs(self) -> dict[str, Any]:
        """By the names that Hydra has for them."""
        values = self.__dict__
        if "_packed" in values:
            from duckrow.api.calls.functions import read_value

            values["_configs"] = read_value(io.BytesIO(values.pop("_packed")))
        configs: dict[str, Any] = values.setdefault("_configs", {})
        return configs


def with_late_configs(returned: JobReturn) -> LateConfigs:
    """For a process that sends it to another one."""
    packed, values = io.BytesIO(), dict(vars(returned))
    dump_value({name: values.pop(name) for name in _CONFIGS}, packed)
    made = LateConfigs.__new__(LateConfigs)
    made.__dict__.update(values, _packed=packed.getvalue())
    return made
