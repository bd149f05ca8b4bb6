"""The references of all families, a module each; further arguments for parity; and the intended differences."""

import importlib
import pkgutil

NAMES = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith(("test_", "common"))]
FAMILIES = [importlib.import_module(f"{__name__}.{name}") for name in NAMES]
REFERENCES, MORE, INTENDED = {}, {}, {}
for family in FAMILIES:
    REFERENCES.update(family.REFERENCES)
    MORE.update(getattr(family, "MORE", {}))
    INTENDED.update(getattr(family, "INTENDED", {}))
