"""How a plan is shown before anything runs."""

from __future__ import annotations

import pytest

from heronpy.cli.views.plan_view import ContainerRow, InstanceRow, Shown, plan_json, plan_rows, shown_size
from heronpy.kernel.plans.packing import GB, MB
from heronpy.testing.packing import drawn, topology_of

ONE = Shown("1", "1 GB", "1 GB")


def test_rows_list_instances_in_the_order_of_the_topology() -> None:
    assert plan_rows(drawn({1: "BS", 3: "B"}), topology_of()) == (
        ContainerRow(
            1,
            Shown("3", "3 GB", "3 GB"),
            (InstanceRow("spout[0]", "spout", ONE), InstanceRow("bolt[0]", "bolt", ONE)),
        ),
        ContainerRow(3, Shown("2", "2 GB", "2 GB"), (InstanceRow("bolt[1]", "bolt", ONE),)),
    )


def test_json_has_plain_numbers() -> None:
    assert plan_json(drawn({3: "B"}), topology_of()) == {
        "topology": "t",
        "packing": "binpack",
        "epoch": 1,
        "containers": [
            {
                "id": 3,
                "cpu": 2.0,
                "ram": 2 * GB,
                "disk": 2 * GB,
                "instances": [
                    {
                        "label": "bolt[0]",
                        "task": 1,
                        "component": "bolt",
                        "kind": "bolt",
                        "index": 0,
                        "cpu": 1.0,
                        "ram": GB,
                        "disk": GB,
                    }
                ],
            }
        ],
    }


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (GB - 1, "1 GB"),
        (512 * MB, "512 MB"),
        (4 * GB // 3, "1.33 GB"),
        (5000 * 1024 * GB, "5000 TB"),
    ],
)
def test_sizes_as_people_read_them(size: int, text: str) -> None:
    assert shown_size(size) == text
