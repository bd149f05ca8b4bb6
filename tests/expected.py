"""The references of all families, further arguments for parity, and the intended differences."""

import expected_colour
import expected_fields
import expected_filters
import expected_geometry
import expected_weather
import references

FAMILIES = (expected_geometry, expected_colour, expected_fields, expected_filters, expected_weather)
REFERENCES = {**references.REFERENCES}
MORE, INTENDED = {}, {}
for family in FAMILIES:
    REFERENCES.update(family.REFERENCES)
    MORE.update(family.MORE)
    INTENDED.update(family.INTENDED)
