"""NEXMark events are those of Apache Beam, bit for bit. The golden values are from Beam 2.60.0 itself."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from heronpy.connectors import Source
from heronpy.errors import DefinitionError
from heronpy.nexmark import Auction, Bid, GeneratorConfig, NexmarkSource, Person
from heronpy.nexmark.java_random import JavaRandom
from heronpy.testing.contracts.source import BoundedSourceContract, beginning, read


def test_random_numbers_are_javas() -> None:
    random = JavaRandom(42)
    rows = [
        (
            random.integer(),
            random.below(100),
            random.below(64),
            random.below((1 << 30) + 1),
            random.real(),
            random.long(),
        )
        for _ in range(4)
    ]
    assert rows == [
        (-1170105035, 63, 43, 102948884, 0.30871945533265976, 5111195811822994797),
        (-1436456258, 93, 57, 969067502, 0.36878291341130565, 5086654115216342560),
        (1991376913, 70, 50, 326327863, 0.43649097442328655, -4613416830416070574),
        (1660292060, 58, 11, 323298246, 0.5943499108896841, 3869528714570848026),
    ]
    negative = JavaRandom(-7)
    assert (negative.integer(), negative.long(), negative.real()) == (
        1155869324,
        -1817049056290694612,
        0.9458454776032215,
    )


def test_the_first_events_are_beams() -> None:
    config = GeneratorConfig(events=54)
    person, auction, *_, bid = config.generate(0, 5)
    assert person == Person(
        1000,
        "Peter Jones",
        "nhd@xcat.com",
        "7241 7320 9143 4888",
        "Portland",
        "WY",
        1436918400000,
        "WN_HS_bnpkkiwhwana_L^`KZjdgsid`K]MLU[aaOH`ztxbulvlxtkn_ZZ^T\\mqgdjzvlkymsmfrhkfVYSXK_OY[aVYVKa\\X^]RO]"
        "OYguwiduWJNQLLaMLHOTaHY_J[YKWaUOSJN_VHWXZ]`SgbnjqeVVQ\\[[",
    )
    assert isinstance(auction, Auction)
    assert auction[:-1] == (
        1000,
        "wkx mgee",
        "eszpqxtdxrvwmmywkmogoahf",
        28873,
        29448,
        1436918400000,
        1436918400011,
        1000,
        13,
    )
    extra = "fdiysaV^]NLVsbolvyqwgticfdrwdyiyofziYMU\\Z`UaTQO][NX\\RM]WPYTOuwogvszlxjrcNOORM"
    assert bid == Bid(1000, 1001, 32530001, 1436918400000, extra)
    assert config.event(50)[:3] == (1001, "Sarah Smith", "f  y@yumv.com")


@pytest.mark.parametrize(
    ("events", "generators", "rate", "out_of_order", "golden"),
    [
        (5000, 1, 10_000, 1, "6780b53f56bbadde390adc4c1282336fc5807689f6d101f9a54b7997b2c40349"),
        (5000, 3, 10_000, 1, "0d4db5147aa7b8426686bda90599429984013ae68e6a36d81aab9e037b18f2bc"),
        (5000, 2, 777, 7, "3a3e493122158e409b0aeb191cc2b06dae9106f87f4851ff65a501852b87f062"),
        (5000, 2, 1, 1, "bbfba8698aee407a58f0946c39772612c6ccbe92fc2ffe4f0c69b8918ff68637"),
        # auctions so long that their length is no int
        (3000, 1000, 1, 1, "6b65c39efd6042d7d45b2c662021decffb05e6a51ad4a76142d5ee0b30188087"),
    ],
)
def test_every_field_of_every_event_and_its_watermark_are_beams(
    events: int, generators: int, rate: int, out_of_order: int, golden: str
) -> None:
    digest = hashlib.sha256()
    for config in GeneratorConfig(events, generators, rate, out_of_order).split(generators):
        for count, event in enumerate(config.generate()):
            fields = [type(event).__name__[0], *map(str, event), str(config.watermark(count))]
            digest.update(("|".join(fields) + "\n").encode())
    assert digest.hexdigest() == golden


def test_generators_share_the_ids_and_the_time() -> None:
    configs = GeneratorConfig(events=1003, generators=4).split(4)
    assert [(config.first_id, config.events) for config in configs] == [
        (0, 250),
        (250, 250),
        (500, 250),
        (750, 253),
    ]
    people = [event.id for config in configs for event in config.generate() if isinstance(event, Person)]
    assert people == list(range(1000, 1021))
    assert {config.timestamp(100) for config in configs} == {1436918400040}


def test_no_event_is_older_than_the_watermark_before_it() -> None:
    config = GeneratorConfig(events=500, rate=777, out_of_order=10)
    times = [event.at for event in config.generate()]
    assert times != sorted(times)
    assert all(min(times[count:]) >= config.watermark(count) for count in range(500))
    assert sorted(map(config.adjusted, range(500))) == list(range(500))


class TestTheSource(BoundedSourceContract):
    def make(self) -> Source[Any]:
        return NexmarkSource(events=103, generators=3, out_of_order=5)

    def test_times_and_watermarks_are_in_microseconds(self, source: Source[Any]) -> None:
        reader = source.open()
        for chunk in read(source, reader, beginning(source), 10):
            assert chunk.times == [event.at * 1000 for event in chunk.records]
            assert chunk.watermark is not None
            assert chunk.watermark % 1000 == 0


@pytest.mark.parametrize("wrong", [{"generators": 0}, {"rate": 0}, {"events": -1}, {"out_of_order": 0}])
def test_what_cannot_be_generated_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(DefinitionError, match=r"cannot be generated like this: .* \(try: NexmarkSource\("):
        NexmarkSource(**wrong)
